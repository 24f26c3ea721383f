"""Start a bot process, read its output, and end it with everything that it started.

The process leads a session of its own. In a sandbox it ends with its pid namespace; without one,
orphans are found by the session or by the token in their environment. The exit code says how a bot
ended, not the stream; in a sandbox it is no more than the bot's claim.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from referee.sandbox.namespace import PidNamespace
from referee.sandbox.output import OutputPipe
from referee.sandbox.watchdog import Watchdog
from referee.tasks import is_set_within

if TYPE_CHECKING:
    from collections.abc import Callable
    from resource import struct_rusage

    from referee.sandbox.limits import ResourceLimits
    from referee.sandbox.sandbox import BotCommand, Launch, Sandbox

GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL."""

_SCANS = 5
"""Scans of all processes for orphans: one may fork during a scan."""

_SIGNALLED = 128
"""Bubblewrap and shells add this to the number of the signal that ended a command."""


@dataclass(frozen=True, slots=True)
class ExitReport:
    """Report how a bot process ended.

    Attributes:
        code: exit code; negative for a signal.
        stopped: whether `BotProcess.stop` ended it.
        peak_memory: most memory of all its processes, in bytes, seen twenty times a second.
        cpu_seconds: user and system time of the process and its children, seen as often.
        output_bytes: how much it printed.
        overuse: the limit for which it was ended, as a phrase; empty otherwise.
        pressed: whether that was a limit of processor time.
    """

    code: int
    stopped: bool
    peak_memory: int
    cpu_seconds: float
    output_bytes: int = 0
    overuse: str = ""
    pressed: bool = False

    def __str__(self) -> str:
        if self.overuse:
            return f"it used {self.overuse}"
        if self.code >= 0:
            return f"exit code {self.code}"
        try:
            name = signal.Signals(-self.code).name
        except ValueError:
            name = f"signal {-self.code}"
        return f"killed by {name}"


class BotProcess:
    """Run one bot process.

    Attributes:
        report: how the process ended; None while it runs.
        stdout: what it printed there.
        stderr: what it printed there.
    """

    def __init__(
        self,
        command: BotCommand,
        sandbox: Sandbox,
        *,
        exited: Callable[[BotProcess], None],
        thinks: Callable[[], bool] = lambda: True,
        limits: ResourceLimits | None = None,
    ) -> None:
        """Start the process, on the running loop's own thread: it dies with that thread.

        Args:
            command: what to start.
            sandbox: makes the command a launch.
            exited: called once, when the process has ended.
            thinks: returns whether it may use a core now.
            limits: replace the sandbox's own.

        Raises:
            InvalidBotError: the command names no program.
            OSError: the process cannot be started.
        """
        self.report: ExitReport | None = None
        self._exited = exited
        self._stopping = False
        self._reaped = False
        self._thinks = thinks
        self._overuse = ""
        self._pressed = False
        self._token_variable = f"ARENA_BOT_TOKEN={command.token}" if command.token else ""
        self._ended = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None
        self._launch = launch = sandbox.launch(command, limits=limits)
        with ExitStack() as on_failure:
            on_failure.callback(launch.close_all)
            self.stdout = OutputPipe()
            on_failure.callback(self.stdout.close)
            self.stderr = OutputPipe()
            on_failure.callback(self.stderr.close)
            self._process = self._spawn(launch)
            on_failure.callback(self._kill_unwatched)
            self._pidfd = os.pidfd_open(self.pid)
            on_failure.pop_all()
        self.stdout.close_write_end()
        self.stderr.close_write_end()
        launch.close_inherited()
        asyncio.get_running_loop().add_reader(self._pidfd, self._reap)
        self._watchdog: Watchdog | None = None
        self._namespace: PidNamespace | None = None
        if launch.info is None:
            self._start_watchdog(self.pid)
        else:
            self._namespace = PidNamespace(
                launch.info, outer=self.pid, first_known=self._start_watchdog
            )

    def _spawn(self, launch: Launch) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            launch.argv,
            cwd=launch.folder,
            env=dict(launch.environment),
            stdin=subprocess.DEVNULL,
            stdout=self.stdout.write_end,
            stderr=self.stderr.write_end,
            pass_fds=launch.inherited,
            start_new_session=True,
            # What a build writes is run by another user.
            umask=0o022,
        )

    def _kill_unwatched(self) -> None:
        self._process.kill()
        self._process.wait()

    def _start_watchdog(self, first: int) -> None:
        self._watchdog = Watchdog(
            first,
            self._launch,
            session=None if self._namespace is None else self.pid,
            thinks=self._thinks,
            report_overuse=self._end_for_overuse,
        )

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its session and group."""
        return self._process.pid

    @property
    def built(self) -> int | None:
        """The descriptor from which `build.receive` reads what a build made; None otherwise."""
        return self._launch.built

    def output_bytes(self) -> int:
        """Return how much the process has printed so far."""
        return self.stdout.ring.total + self.stderr.ring.total

    def runnable_since(self, start: float) -> float:
        """Return how many of its threads wanted a core on average since ``start``."""
        return 0.0 if self._watchdog is None else self._watchdog.runnable_since(start)

    async def wait(self, limit: float) -> ExitReport | None:
        """Wait up to ``limit`` seconds for the end of the process."""
        await is_set_within(self._ended, limit)
        return self.report

    async def stop(self, grace: float = GRACE) -> ExitReport:
        """Send SIGTERM, after ``grace`` seconds SIGKILL, and end all descendants; idempotent."""
        self._stopping = True
        if self.report is None and grace > 0:
            self._terminate()
            await self.wait(grace)
        self._kill()
        await self._ended.wait()
        if self._ending is None:
            self._ending = asyncio.create_task(self._clean_up())
        await asyncio.shield(self._ending)
        assert self.report is not None
        return self.report

    async def _clean_up(self) -> None:
        if self._namespace is not None:
            await self._namespace.wait_until_empty()
        elif not self._reaped:
            _kill_orphans(self.pid, self._token_variable)
        self._reaped = True
        self.stdout.close()
        self.stderr.close()
        if self._launch.written is None:
            self._launch.resources.close()
        else:  # blocks: goes through the whole folder
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, self._launch.resources.close)

    def _terminate(self) -> None:
        if self._namespace is not None:
            self._namespace.terminate()
        else:
            self._signal_group(signal.SIGTERM)

    def _kill(self) -> None:
        if self._namespace is not None and (self.report is None or self._namespace.first_pid):
            self._namespace.kill()
        self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: signal.Signals) -> None:
        # The group's id is ours until the group is empty, even after its leader was reaped. After
        # that the kernel may give it to another process.
        if self._reaped:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _end_for_overuse(self, what: str, processor: bool) -> None:  # noqa: FBT001 -- a callback
        if self.report is None:
            self._overuse = what
            self._pressed = processor
            self._kill()

    def _reap(self) -> None:
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid == 0:
            return
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        if self._watchdog is not None:
            self._watchdog.stop()
        self.report = self._make_report(code, usage)
        self._ended.set()
        self._exited(self)

    def _make_report(self, code: int, usage: struct_rusage) -> ExitReport:
        peaks, seconds = [0], [usage.ru_utime + usage.ru_stime]
        if self._namespace is None:
            peaks.append(usage.ru_maxrss * 1024)
        elif _SIGNALLED < code < _SIGNALLED + signal.NSIG:
            code = _SIGNALLED - code
        if self._watchdog is not None:
            peaks.append(self._watchdog.peak_memory)
            seconds.append(self._watchdog.cpu_seconds)
        cgroup = self._launch.cgroup
        if cgroup is not None:
            peaks.append(cgroup.peak_memory())
            if cgroup.oom_kills() and not self._overuse:
                self._overuse = "more memory than its control group may"
        return ExitReport(
            code=code,
            stopped=self._stopping,
            peak_memory=max(peaks),
            cpu_seconds=max(seconds),
            output_bytes=self.output_bytes(),
            overuse=self._overuse,
            pressed=self._pressed,
        )


def _kill_orphans(session: int, variable: str) -> None:
    """Kill all of a session, and every process with ``NAME=VALUE`` (if any) in its environment.

    A bot may evade both: only a sandbox prevents that.
    """
    for _ in range(_SCANS):
        if not _kill_matching(session, variable.encode()):
            break


def _kill_matching(session: int, variable: bytes) -> bool:
    found = False
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and _belongs(int(entry.name), session, variable):
            found = True
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(entry.name), signal.SIGKILL)
    return found


def _belongs(pid: int, session: int, variable: bytes) -> bool:
    try:
        if os.getsid(pid) == session:
            return True
        if not variable:
            return False
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 -- hot: no Path object
            return variable in file.read(1 << 16)
    except OSError:
        return False
