"""Logging, signals and the end with the parent, for every process of the service."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import re
import resource
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

import structlog
import uvloop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TextIO

PARENT: Final = "ARENA_PARENT_PID"
"""Environment: the process that this one shall not outlive."""

_PR_SET_PDEATHSIG: Final = 1
_SAME: Final = 1.0
"""Seconds in which further signals mean the same: a parent's threads each send one as they end."""


def process_name(kind: str) -> str:
    """Return a name that no other process has, for people: ``worker:HOST:PID``."""
    host = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname() or "localhost")
    return f"{kind}:{host[:40]}:{os.getpid()}"


class _Stderr:
    """The stream of the log; what it cannot take, as on a full disk, is lost and harms nothing."""

    def write(self, text: str) -> int:
        """Write a line."""
        with suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is still held back."""
        with suppress(OSError):
            sys.stderr.flush()


def set_up_log() -> None:
    """Log to stderr: for people on a terminal, one JSON object a line otherwise."""
    on_terminal = sys.stderr.isatty()
    exceptions: list[Any] = [] if on_terminal else [structlog.processors.format_exc_info]
    renderer: Any = (
        structlog.dev.ConsoleRenderer() if on_terminal else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *exceptions,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        # A line in one piece: processes of one arena share a stream.
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Stderr())),
    )


def end_with_parent() -> None:
    """Get SIGTERM when the parent named by ``ARENA_PARENT_PID`` ends; end if it has already."""
    if PARENT not in os.environ:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")
    if is_orphan():
        os.kill(os.getpid(), signal.SIGTERM)


def is_orphan() -> bool:
    """Return whether the parent that this process shall not outlive has ended."""
    parent = os.environ.get(PARENT)
    return parent is not None and os.getppid() != int(parent)


def run_until_told(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run a service process; SIGTERM or SIGINT sets main's event, a second one cancels it.

    Its files are its user's alone, whatever the umask was, and it may open as many as the hard
    limit allows.
    """
    os.umask(0o077)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # What callers send wrong is no line of ours; calls that fail are logged by the API.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")

    async def run() -> None:
        stopping = asyncio.Event()
        task = asyncio.ensure_future(main(stopping))

        loop = asyncio.get_running_loop()
        told = 0.0

        def stop() -> None:
            nonlocal told
            if not stopping.is_set():
                told = loop.time()
                stopping.set()
            elif loop.time() - told > _SAME:
                task.cancel()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        end_with_parent()
        await task

    try:
        uvloop.run(run())
    except asyncio.CancelledError:
        sys.exit(1)
