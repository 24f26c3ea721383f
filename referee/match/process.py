"""One bot process: its start, its output, and its certain end.

The process leads a session of its own; whatever it leaves behind is ended with it, found by the
session or by the token in its environment. The exit code says how a bot ended, not the stream.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from referee.match.output import OutputPipe

if TYPE_CHECKING:
    from collections.abc import Callable

    from referee.match.sandbox import BotCommand, Sandbox

GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL."""

_SCANS = 5
"""How often stragglers are looked for: one may have forked during the search."""


@dataclass(frozen=True, slots=True)
class ExitReport:
    """How a bot process ended.

    Attributes:
        code: exit code; negative for a signal.
        stopped: whether we ended it.
        peak_memory: largest resident set, in bytes.
        cpu_seconds: user and system time of the process and the children it waited for.
    """

    code: int
    stopped: bool
    peak_memory: int
    cpu_seconds: float

    def __str__(self) -> str:
        if self.code >= 0:
            return f"exit code {self.code}"
        try:
            name = signal.Signals(-self.code).name
        except ValueError:
            name = f"signal {-self.code}"
        return f"killed by {name}"


class BotProcess:
    """A running bot.

    Attributes:
        report: how the process ended; None while it runs.
        stdout: what it printed there.
        stderr: what it printed there.
    """

    def __init__(
        self, command: BotCommand, sandbox: Sandbox, *, exited: Callable[[BotProcess], None]
    ) -> None:
        """Start the process, on the running loop's own thread.

        Args:
            command: what to start.
            sandbox: what it becomes.
            exited: called once, when the process has ended.

        Raises:
            InvalidBotError: the command names no program.
        """
        launch = sandbox.launch(command)
        self.report: ExitReport | None = None
        self._token = command.token
        self._exited = exited
        self._stopping = False
        self._gone = False
        self._ended = asyncio.Event()
        with ExitStack() as on_failure:
            for descriptor in launch.inherited:
                on_failure.callback(os.close, descriptor)
            self.stdout = OutputPipe()
            on_failure.callback(self.stdout.close)
            self.stderr = OutputPipe()
            on_failure.callback(self.stderr.close)
            self._process = subprocess.Popen(
                launch.argv,
                cwd=launch.folder,
                env=dict(launch.environment),
                stdin=subprocess.DEVNULL,
                stdout=self.stdout.write_end,
                stderr=self.stderr.write_end,
                pass_fds=launch.inherited,
                start_new_session=True,
            )
            on_failure.pop_all()
        self.stdout.close_write_end()
        self.stderr.close_write_end()
        for descriptor in launch.inherited:
            os.close(descriptor)
        self._watch()

    def _watch(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except OSError:
            self._signal_group(signal.SIGKILL)
            self._process.wait()
            self.stdout.close()
            self.stderr.close()
            raise
        asyncio.get_running_loop().add_reader(self._pidfd, self._reap)

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its session and group."""
        return self._process.pid

    def output_bytes(self) -> int:
        """Return how much the process has printed so far."""
        return self.stdout.ring.total + self.stderr.ring.total

    async def wait(self, limit: float) -> ExitReport | None:
        """Wait up to ``limit`` seconds for the end of the process."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), limit)
        return self.report

    async def stop(self, grace: float = GRACE) -> ExitReport:
        """End the process and everything that it started; may be called more than once.

        SIGTERM to the group, up to ``grace`` seconds, SIGKILL, then the stragglers.
        """
        self._stopping = True
        if self.report is None and grace > 0:
            self._signal_group(signal.SIGTERM)
            await self.wait(grace)
        self._signal_group(signal.SIGKILL)
        await self._ended.wait()
        if not self._gone:
            self._end_stragglers()
            self._gone = True
        self.stdout.close()
        self.stderr.close()
        assert self.report is not None
        return self.report

    def kill_now(self) -> None:
        """Send SIGKILL to the group, without waiting."""
        self._stopping = True
        self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: signal.Signals) -> None:
        # The group's id is ours until the group is empty, even after its leader was reaped. Once
        # everybody was ended, it may be anybody's.
        if self._gone:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _end_stragglers(self) -> None:
        """Kill what the process left behind: its session, and whatever carries its token.

        A bot that hides from both is what the sandbox is for.
        """
        mark = f"ARENA_BOT_TOKEN={self._token}".encode()
        for _ in range(_SCANS):
            if not _kill_stragglers(self.pid, mark):
                break

    def _reap(self) -> None:
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid == 0:
            return
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        self.report = ExitReport(
            code=code,
            stopped=self._stopping,
            peak_memory=usage.ru_maxrss * 1024,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
        )
        self._ended.set()
        self._exited(self)


def _kill_stragglers(session: int, mark: bytes) -> bool:
    """Kill whatever is in a session or carries a mark in its environment; return whether any."""
    found = False
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and _belongs(int(entry.name), session, mark):
            found = True
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(entry.name), signal.SIGKILL)
    return found


def _belongs(pid: int, session: int, mark: bytes) -> bool:
    try:
        if os.getsid(pid) == session:
            return True
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 -- hot: no Path object
            return mark in file.read(1 << 16)
    except OSError:
        return False
