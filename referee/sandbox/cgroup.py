"""Limit memory, processes and processor time exactly by control groups, where we may make them.

Version 2 serves where a part of the tree was delegated to us, as systemd's ``Delegate=yes`` does.
Version 1 knows no delegation: there a folder of the memory controller has to be named.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Self

from referee.errors import SandboxUnavailableError

if TYPE_CHECKING:
    from referee.sandbox.limits import ResourceLimits

_MAIN = "arena-main"
"""The child group for our own processes: in version 2, only leaves hold processes."""

_OWN_PROCESSES = 8
"""Processes of bubblewrap around a bot."""

_TRIES = 20
_PAUSE = 0.001


class Cgroup:
    """Limit one bot by a control group, removed at the end of the ``with``.

    Attributes:
        procs_file: the file into which a process writes its number to be in the group.
    """

    def __init__(self, parent: CgroupParent, folder: Path) -> None:
        self._parent = parent
        self._folder = folder
        self.procs_file = folder / "cgroup.procs"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.remove(self._folder)

    def oom_kills(self) -> int:
        """Return how many of the group's processes the kernel's OOM killer ended."""
        events = _read(self._folder / self._parent.oom_file)
        fields = dict(line.split()[:2] for line in events.splitlines())
        return int(fields.get("oom_kill", 0))

    def peak_memory(self) -> int:
        """Return the group's peak memory in bytes; 0 where the kernel keeps none."""
        return int(_read(self._folder / self._parent.peak_file) or 0)


class CgroupParent(ABC):
    """Create control groups of bots below one of our own.

    Attributes:
        oom_file: the file of a group that counts its ``oom_kill``.
        peak_file: the file of a group that holds its peak memory.
    """

    oom_file: str
    peak_file: str

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()
        self._not_removed: set[Path] = set()

    def make(self, limits: ResourceLimits) -> Cgroup:
        """Create a control group with these limits; OSError when the kernel refuses."""
        for folder in list(self._not_removed):
            self.remove(folder)
        folder = self._folder / f"bot-{os.getpid()}-{next(self._numbers)}"
        folder.mkdir()
        try:
            self._limit(folder, limits)
        except OSError:
            folder.rmdir()
            raise
        return Cgroup(self, folder)

    def remove(self, folder: Path) -> None:
        """Remove a group whose processes have ended; retry in the next `make` if it is busy."""
        self._not_removed.add(folder)
        for _ in range(_TRIES):
            try:
                with suppress(FileNotFoundError):
                    folder.rmdir()
            except OSError:  # the last process of the group is not quite gone
                time.sleep(_PAUSE)
            else:
                self._not_removed.discard(folder)
                return

    @abstractmethod
    def _limit(self, folder: Path, limits: ResourceLimits) -> None: ...


class CgroupV2(CgroupParent):
    """Create control groups of version 2."""

    oom_file = "memory.events"
    peak_file = "memory.peak"

    def __init__(self, folder: Path) -> None:
        """Delegate the group's controllers to its children.

        Raises:
            SandboxUnavailableError: it has no memory controller.
            OSError: it is not ours.
        """
        super().__init__(folder)
        controllers = set(_read(folder / "cgroup.controllers").split())
        missing = {"memory", "pids"} - controllers
        if missing:
            raise SandboxUnavailableError(f"{folder} has no controller {' and '.join(missing)}")
        self._has_cpu = "cpu" in controllers
        wanted = ["+memory", "+pids", *(["+cpu"] if self._has_cpu else [])]
        _empty(folder)
        (folder / "cgroup.subtree_control").write_text(" ".join(wanted))

    def _limit(self, folder: Path, limits: ResourceLimits) -> None:
        (folder / "memory.max").write_text(str(limits.memory))
        (folder / "memory.oom.group").write_text("1")
        (folder / "pids.max").write_text(str(limits.processes + _OWN_PROCESSES))
        if (folder / "memory.swap.max").exists():
            (folder / "memory.swap.max").write_text("0")
        if self._has_cpu:
            (folder / "cpu.max").write_text("100000 100000")  # one core


class CgroupV1(CgroupParent):
    """Create control groups of version 1's memory controller."""

    oom_file = "memory.oom_control"
    peak_file = "memory.max_usage_in_bytes"

    def _limit(self, folder: Path, limits: ResourceLimits) -> None:
        (folder / "memory.limit_in_bytes").write_text(str(limits.memory))
        if (folder / "memory.memsw.limit_in_bytes").exists():
            (folder / "memory.memsw.limit_in_bytes").write_text(str(limits.memory))


def find_cgroups(folder: Path | None = None) -> CgroupParent:
    """Find the control group in which those of bots can be created.

    Args:
        folder: a control group set aside for us; the one delegated to this process if None.

    Raises:
        SandboxUnavailableError: there is none; the message says why.
    """
    try:
        if folder is None:
            return CgroupV2(_delegated())
        if (folder / "cgroup.controllers").exists():
            return CgroupV2(folder)
        if (folder / "memory.limit_in_bytes").exists():
            return CgroupV1(folder)
    except OSError as error:
        raise SandboxUnavailableError(f"no control groups can be made: {error}") from error
    raise SandboxUnavailableError(f"{folder} is not a control group with a memory controller")


def _delegated() -> Path:
    """Return our own group if it was delegated to us."""
    folder = _own_group()
    if folder.name == _MAIN:
        folder = folder.parent
    # Root may write everywhere, which is not the same as being meant to.
    attributes = os.listxattr(folder)
    marked = bool({"user.delegate", "trusted.delegate"} & set(attributes))
    owned = os.geteuid() != 0 and os.access(folder / "cgroup.subtree_control", os.W_OK)
    if not marked and not owned:
        raise SandboxUnavailableError(f"{folder} was not delegated to this process")
    return folder


def _own_group() -> Path:
    groups = _read(Path("/proc/self/cgroup")).splitlines()
    path = next((line[3:] for line in groups if line[:3] == "0::"), None)
    for line in _read(Path("/proc/self/mountinfo")).splitlines():
        mount, _, filesystem = line.partition(" - ")
        if path is not None and filesystem.startswith("cgroup2 "):
            root, point = mount.split()[3:5]
            return Path(point + "/" + path.removeprefix(root if root != "/" else ""))
    raise SandboxUnavailableError("this process is in no control group of version 2")


def _empty(folder: Path) -> None:
    """Move the processes of a group into a leaf below it."""
    main = folder / _MAIN
    while numbers := _read(folder / "cgroup.procs").split():
        main.mkdir(exist_ok=True)
        for number in numbers:
            with suppress(ProcessLookupError):
                (main / "cgroup.procs").write_text(number)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except FileNotFoundError:
        return ""
