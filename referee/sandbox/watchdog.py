"""Sample the memory, processor time and files of a bot, and report overuse.

Without a control group this bounds memory: the sum of the resident sets (RSS), twenty times a
second. Before a bot is ended for it, shared pages are counted once (PSS).
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from referee.sandbox import procfs
from referee.sandbox.bwrap_arguments import SHM, TMP
from referee.sandbox.folder_use import DEPTH_LIMIT, folder_use

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from referee.sandbox.sandbox import Launch

PERIOD = 0.050
"""Seconds between two samples."""

_PAUSE_FACTOR = 4
"""Seconds without a sample for each second that counting shared pages (PSS) took."""


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
        report_overuse: Callable[[str], None],
    ) -> None:
        """Begin to sample, on the running loop.

        Args:
            pid: the process from which all others descend.
            launch: holds the bot's limits, control group and writable folder.
            session: the session of bubblewrap's own processes; the bot's are in other ones, and
                have file systems of their own. None where there is no namespace.
            report_overuse: called once, with a phrase that says what was too much.
        """
        self.peak_memory = 0
        self.cpu_seconds = 0.0
        self._pid = pid
        self._limits = launch.limits
        self._session = session
        self._cgroup = launch.cgroup
        self._written = launch.written
        self._folder_task: asyncio.Task[None] | None = None
        self._report_overuse = report_overuse
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

    def _sample(self) -> None:
        self._timer = self._loop.call_later(PERIOD, self._sample)
        members = procfs.family(self._pid)
        resident = self._measure(members)
        if self._cgroup is not None and self._cgroup.oom_kills():
            self._report(f"more than its {_mebibytes(self._limits.memory)} of memory")
        elif self._session is not None and self._holds_many_files(members, self._session):
            self._report(f"more than {self._limits.files} files in /tmp and /dev/shm")
        elif resident > self._limits.memory and self._timer is not None:
            # Not here: the kernel takes milliseconds to walk the pages of a large process.
            self._timer.cancel()
            self._count_task = self._loop.create_task(self._count_shared_memory(members))
        if self._written is not None and (self._folder_task is None or self._folder_task.done()):
            self._folder_task = self._loop.create_task(self._measure_folder(self._written))

    def _measure(self, members: list[int]) -> int:
        found = [procfs.usage(member) for member in members]
        resident = sum(size for size, _ in found)
        self.peak_memory = max(self.peak_memory, min(resident, self._limits.memory))
        self.cpu_seconds = max(self.cpu_seconds, sum(seconds for _, seconds in found))
        return resident

    def _holds_many_files(self, members: list[int], session: int) -> bool:
        inside = procfs.in_other_sessions(members, session)[:1]
        return any(procfs.used_inodes(pid, (TMP, SHM)) > self._limits.files for pid in inside)

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

    def _report(self, what: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._report_overuse(what)


def _proportional_sum(members: list[int]) -> int:
    sizes = ((member, procfs.proportional_set(member)) for member in members)
    return sum(procfs.usage(member)[0] if size is None else size for member, size in sizes)


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"
