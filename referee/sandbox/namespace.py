"""Kill a bot by its pid namespace, which ends when its first process does.

bubblewrap's outer process ends before the namespace is empty, so both are waited for. The kernel
lets the first process end last: when it has, no process of the bot is left.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from referee.sandbox import procfs

if TYPE_CHECKING:
    from collections.abc import Callable

_INFO_BYTES = 4096


class PidNamespace:
    """Track the first process of a pid namespace, once bubblewrap has told its id.

    Attributes:
        first_pid: its process id outside; None while it is not known, or when there never was one.
    """

    def __init__(self, info: int, *, outer: int, first_known: Callable[[int], None]) -> None:
        """Begin to read from bubblewrap's ``--info-fd``, which is closed here.

        Args:
            info: our end of that pipe.
            outer: the process that we started.
            first_known: called once, with the id of the first process.
        """
        self.first_pid: int | None = None
        self._outer = outer
        self._first_known = first_known
        self._info = info
        self._received = b""
        self._handle = -1
        self._loop = asyncio.get_running_loop()
        self._empty = asyncio.Event()
        self._loop.add_reader(info, self._read)

    def terminate(self) -> None:
        """Send SIGTERM to the bot's processes, but not to bubblewrap's own.

        The bot's are in a session of their own, with the first process of the innermost namespace,
        which ignores the signal.
        """
        if self._handle >= 0 and self.first_pid is not None:
            for member in procfs.in_other_sessions(procfs.family(self.first_pid), self._outer):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(member, signal.SIGTERM)

    def kill(self) -> None:
        """End the namespace, or bubblewrap where it has not made one yet."""
        if self._handle >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        elif self.first_pid is None:
            self._kill_during_setup()

    async def wait_until_empty(self) -> None:
        """Wait until no process is left in it; the outer process has ended already."""
        self._read()
        self._stop_reading()
        if self._handle >= 0:
            # The kernel signalled the first process when the outer one ended.
            self.kill()
            await self._empty.wait()

    def _read(self) -> None:
        if self._info < 0:
            return
        try:
            data = os.read(self._info, _INFO_BYTES)
        except BlockingIOError:
            return
        self._received += data
        with suppress(ValueError):
            first = int(json.loads(self._received)["child-pid"])
            self._stop_reading()
            self._track(first)
            return
        if not data or len(self._received) > _INFO_BYTES:
            self._stop_reading()

    def _stop_reading(self) -> None:
        if self._info >= 0:
            self._loop.remove_reader(self._info)
            os.close(self._info)
            self._info = -1

    def _track(self, first: int) -> None:
        try:
            handle = os.pidfd_open(first)
        except ProcessLookupError:
            return
        # The id may be another process's by now.
        if procfs.parent(first) != self._outer and not _is_first(first):
            os.close(handle)
            return
        self.first_pid = first
        self._handle = handle
        self._loop.add_reader(handle, self._ended)
        self._first_known(first)

    def _ended(self) -> None:
        self._loop.remove_reader(self._handle)
        os.close(self._handle)
        self._handle = -1
        self._empty.set()

    def _kill_during_setup(self) -> None:
        """Kill bubblewrap's processes that are still setting up, the outer one last.

        bubblewrap's own child waits for its parent for ever when that is killed too early.
        """
        with suppress(ProcessLookupError):
            os.kill(self._outer, signal.SIGSTOP)
        for member in reversed(procfs.family(self._outer)):
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)


def _is_first(pid: int) -> bool:
    """Return whether a process is the first one of a pid namespace below ours."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    numbers = next((line for line in status.splitlines() if line.startswith("NSpid:")), "").split()
    return len(numbers) > 2 and numbers[-1] == "1"
