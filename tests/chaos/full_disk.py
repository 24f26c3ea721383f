"""Disks that are full on command, with and without the rights of root."""

from __future__ import annotations

import ctypes
import os
import resource
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

SIZE = 32 << 20
"""Bytes of a disk."""

_LIBC = ctypes.CDLL(None, use_errno=True)
_MNT_DETACH = 2


class Disk(Protocol):
    """A disk that the data of an arena lie on.

    Attributes:
        prefix: words in front of a command that is to find it full.
    """

    prefix: tuple[str, ...]

    def fill(self) -> None:
        """Leave no room, for any process."""

    def free(self) -> None:
        """Make room again."""

    def close(self) -> None:
        """Be a disk no more."""


class SmallDisk:
    """A file system of its own in memory, which a file fills to its last byte."""

    prefix: tuple[str, ...] = ()

    def __init__(self, folder: Path, processes: Callable[[], Iterable[int]]) -> None:
        del processes
        folder.mkdir()
        self._folder = folder
        _mount(folder)
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Write until nothing more fits."""
        with self._filler.open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                with suppress(OSError):
                    while file.write(bytes(size)):
                        pass

    def free(self) -> None:
        """Remove the file."""
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it."""
        _LIBC.umount2(os.fsencode(self._folder), _MNT_DETACH)


class LimitedFiles:
    """Processes whose files may not grow, which anybody may tell their own: RLIMIT_FSIZE."""

    prefix: tuple[str, ...] = ("prlimit", "--fsize=0:", "--")

    def __init__(self, folder: Path, processes: Callable[[], Iterable[int]]) -> None:
        folder.mkdir()
        self._processes = processes

    def fill(self) -> None:
        """Forbid every byte."""
        self._limit(0)

    def free(self) -> None:
        """Allow every byte."""
        self._limit(resource.RLIM_INFINITY)

    def close(self) -> None:
        """Leave the folder alone."""

    def _limit(self, size: int) -> None:
        for pid in self._processes():
            with suppress(psutil.NoSuchProcess):
                for each in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
                    with suppress(psutil.NoSuchProcess, ProcessLookupError):
                        _, hard = resource.prlimit(each.pid, resource.RLIMIT_FSIZE)
                        soft = hard if size == resource.RLIM_INFINITY else size
                        resource.prlimit(each.pid, resource.RLIMIT_FSIZE, (soft, hard))


class MakeDisk(Protocol):
    """Makes a disk at a folder that is not there yet, for the processes of an arena."""

    def __call__(self, folder: Path, processes: Callable[[], Iterable[int]]) -> Disk:
        """Make it."""


def disks(scratch: Path) -> dict[str, MakeDisk]:
    """Return the kinds of disk that can be had here; at least one.

    Args:
        scratch: a folder that may be mounted on, to find out.
    """
    found: dict[str, MakeDisk] = {"limited files": LimitedFiles}
    try:
        _mount(scratch)
    except OSError:
        return found
    _LIBC.umount2(os.fsencode(scratch), _MNT_DETACH)
    return found | {"small disk": SmallDisk}


def _mount(folder: Path) -> None:
    options = f"size={SIZE},mode=755".encode()
    if _LIBC.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, options) != 0:
        raise OSError(ctypes.get_errno(), "mount")
