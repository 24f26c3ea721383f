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
"""The group that our own processes move to: in version 2, only leaves hold processes."""

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
        """Return how many processes the kernel ended for the group's memory."""
        return self._parent.oom_kills(self._folder)

    def peak_memory(self) -> int:
        """Return the most memory that the group used, in bytes; 0 where the kernel keeps none."""
        return self._parent.peak_memory(self._folder)


class CgroupParent(ABC):
    """Create control groups of bots below one of our own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()
        self._not_removed: list[Path] = []

    def make(self, limits: ResourceLimits) -> Cgroup:
        """Return a new control group with these limits.

        Raises:
            OSError: the kernel refuses.
        """
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
        """Remove a group whose processes have ended, now or at the latest when one is made."""
        for _ in range(_TRIES):
            try:
                folder.rmdir()
            except FileNotFoundError:
                break
            except OSError:  # the last process of the group is not quite gone
                time.sleep(_PAUSE)
            else:
                break
        else:
            if folder not in self._not_removed:
                self._not_removed.append(folder)
            return
        with suppress(ValueError):
            self._not_removed.remove(folder)

    @abstractmethod
    def oom_kills(self, folder: Path) -> int:
        """Return how many processes of a group the kernel ended for its memory."""

    @abstractmethod
    def peak_memory(self, folder: Path) -> int:
        """Return the most memory that a group used, in bytes."""

    @abstractmethod
    def _limit(self, folder: Path, limits: ResourceLimits) -> None: ...


class CgroupV2(CgroupParent):
    """Create control groups of version 2."""

    def __init__(self, folder: Path) -> None:
        """Make the group one that hands its controllers on.

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

    def oom_kills(self, folder: Path) -> int:
        """Return ``oom_kill`` of ``memory.events``."""
        return _value(folder / "memory.events", "oom_kill")

    def peak_memory(self, folder: Path) -> int:
        """Return ``memory.peak``."""
        return int(_read(folder / "memory.peak") or 0)

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

    def oom_kills(self, folder: Path) -> int:
        """Return ``oom_kill`` of ``memory.oom_control``."""
        return _value(folder / "memory.oom_control", "oom_kill")

    def peak_memory(self, folder: Path) -> int:
        """Return ``memory.max_usage_in_bytes``."""
        return int(_read(folder / "memory.max_usage_in_bytes") or 0)

    def _limit(self, folder: Path, limits: ResourceLimits) -> None:
        (folder / "memory.limit_in_bytes").write_text(str(limits.memory))
        if (folder / "memory.memsw.limit_in_bytes").exists():
            (folder / "memory.memsw.limit_in_bytes").write_text(str(limits.memory))


def find_cgroups(folder: Path | None = None) -> CgroupParent:
    """Return where control groups can be made.

    Args:
        folder: a control group that was set aside for us; the one that was delegated to this
            process if None.

    Raises:
        SandboxUnavailableError: there is none; the sentence says why.
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
    """Return our own group when somebody left it to us."""
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
    path = next(
        (line[3:] for line in _read(Path("/proc/self/cgroup")).splitlines() if line[:3] == "0::"),
        None,
    )
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


def _value(file: Path, key: str) -> int:
    fields = dict(line.split()[:2] for line in _read(file).splitlines())
    return int(fields.get(key, 0))
