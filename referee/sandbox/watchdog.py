"""Sample the memory, processor time and files of a bot, and report overuse.

Without a control group this bounds memory: the sum of the resident sets (RSS) and page tables,
twenty times a second. Before a bot is ended for it, shared pages are counted once (PSS).

A bot has one core while it owes an answer, and next to nothing while it owes none: who burns more
is ended, and who lets many threads compete for the cores bears the time-outs that follow.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING

from referee.sandbox import procfs
from referee.sandbox.bwrap_arguments import BOT, SHM, TMP
from referee.sandbox.folder_use import DEPTH_LIMIT, folder_use

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from referee.sandbox.sandbox import Launch

PERIOD = 0.050
"""Seconds between two samples."""

_PAUSE_FACTOR = 4
"""Seconds without a sample for each second that counting shared pages (PSS) took."""


SOCKETS = 256
"""Sockets of a bot: their buffers, 400 KiB each, are in no process's account."""

BURST = 5.0
"""Processor seconds that a bot may use beyond its rates: its start, the collection of garbage."""

THINKING_RATE = 1.25
"""Cores that a bot may use while it thinks: one, and some for its runtime's other threads."""

IDLE_RATE = 0.1
"""Cores that a bot may use while it owes no answer."""

_HISTORY = 1200
"""Samples kept: a minute."""


class Watchdog:
    """Sample what one bot uses, twenty times a second.

    Attributes:
        peak_memory: the most memory seen, in bytes.
        cpu_seconds: processor time seen.
    """

    def __init__(
        self,
        pid: int,
        launch: Launch,
        *,
        session: int | None,
        thinks: Callable[[], bool],
        report_overuse: Callable[[str, bool], None],
    ) -> None:
        """Begin to sample, on the running loop.

        Args:
            pid: the process from which all others descend.
            launch: holds the bot's limits, control group and writable folder.
            session: the session of bubblewrap's own processes; the bot's are in other ones, and
                have file systems of their own. None where there is no namespace.
            thinks: returns whether the bot may use a core now.
            report_overuse: called once, with a phrase that says what was too much, and whether
                that was processor time.
        """
        self.peak_memory = 0
        self.cpu_seconds = 0.0
        self._pid = pid
        self._limits = launch.limits
        self._session = session
        self._cgroup = launch.cgroup
        self._written = launch.written
        self._builds = launch.built is not None
        self._folder_task: asyncio.Task[None] | None = None
        self._thinks = thinks
        self._report_overuse = report_overuse
        self._credit = BURST
        self._sampled = time.monotonic()
        self._runnable: deque[tuple[float, int]] = deque(maxlen=_HISTORY)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(PERIOD, self._sample)
        self._count_task: asyncio.Task[None] | None = None

    def stop(self) -> None:
        """Take a last sample and stop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._measure(procfs.family(self._pid))
        for task in (self._count_task, self._folder_task):
            if task is not None:
                task.cancel()

    def runnable_since(self, start: float) -> float:
        """Return how many of the bot's threads ran or waited for a core, on average.

        Args:
            start: the first moment, of `time.monotonic`.
        """
        counts = [count for at, count in self._runnable if at >= start]
        return sum(counts) / len(counts) if counts else 0.0

    def _sample(self) -> None:
        self._timer = self._loop.call_later(PERIOD, self._sample)
        members = procfs.family(self._pid)
        resident = self._measure(members)
        if self._credit < 0:
            self._report(
                f"more processor time than its {THINKING_RATE:g} cores while it owes an answer "
                f"and {IDLE_RATE:g} while it owes none, and {BURST:g} s besides",
                processor=True,
            )
        elif self._cgroup is not None and self._cgroup.oom_kills():
            self._report(f"more than its {_mebibytes(self._limits.memory)} of memory")
        elif self._session is not None and (excess := self._excess(members, self._session)):
            self._report(excess)
        elif resident > self._limits.memory and self._timer is not None:
            # Not here: the kernel takes milliseconds to walk the pages of a large process.
            self._timer.cancel()
            self._count_task = self._loop.create_task(self._count_shared_memory(members))
        if self._written is not None and (self._folder_task is None or self._folder_task.done()):
            self._folder_task = self._loop.create_task(self._measure_folder(self._written))

    def _measure(self, members: list[int]) -> int:
        found = [procfs.usage(member) for member in members]
        memory = sum(each.memory for each in found)
        self.peak_memory = max(self.peak_memory, min(memory, self._limits.memory))
        seconds = max(self.cpu_seconds, sum(each.seconds for each in found))
        now = time.monotonic()
        rate = THINKING_RATE if self._thinks() else IDLE_RATE
        self._credit += rate * (now - self._sampled) - (seconds - self.cpu_seconds)
        self._credit = min(self._credit, BURST)
        self._sampled = now
        self.cpu_seconds = seconds
        self._runnable.append((now, sum(each.runnable for each in found)))
        return memory

    def _excess(self, members: list[int], session: int) -> str:
        """Return what the bot's own file systems and sockets hold too many of; empty if nothing."""
        for pid in procfs.in_other_sessions(members, session)[:1]:
            if procfs.used_inodes(pid, (TMP, SHM)) > self._limits.files:
                return f"more than {self._limits.files} files in /tmp and /dev/shm"
            if self._builds and procfs.used_inodes(pid, (str(BOT),)) > self._limits.folder_files:
                return f"more than {self._limits.folder_files} files in its folder"
            if procfs.sockets(pid) > SOCKETS:
                return f"more than {SOCKETS} sockets"
        return ""

    async def _count_shared_memory(self, members: list[int]) -> None:
        begun = time.monotonic()
        total = await self._loop.run_in_executor(None, _proportional_sum, members)
        took = time.monotonic() - begun
        if self._timer is None:
            return
        if total > self._limits.memory:
            self.peak_memory = max(self.peak_memory, total)
            self._report(
                f"{_mebibytes(total)} of memory; its limit is {_mebibytes(self._limits.memory)}"
            )
        else:
            self._timer = self._loop.call_later(max(PERIOD, _PAUSE_FACTOR * took), self._sample)

    async def _measure_folder(self, folder: Path) -> None:
        limits = self._limits
        use = await self._loop.run_in_executor(
            None, lambda: folder_use(folder, most_files=limits.folder_files)
        )
        if use.size > limits.folder_bytes:
            self._report(f"more than {_mebibytes(limits.folder_bytes)} in its folder")
        elif use.files > limits.folder_files:
            self._report(f"more than {limits.folder_files} files in its folder")
        elif use.hides:
            self._report(f"folders that cannot be read, or nested deeper than {DEPTH_LIMIT}")

    def _report(self, what: str, *, processor: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._report_overuse(what, processor)


def _proportional_sum(members: list[int]) -> int:
    return sum(procfs.proportional_set(member) for member in members)


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"
