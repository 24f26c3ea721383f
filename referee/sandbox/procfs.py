"""Read the memory, processor time and descendants of a bot's processes from /proc."""

# ruff: noqa: PTH208 -- read twenty times a second for every thread of every bot: no Path or file
# objects

from __future__ import annotations

import os
from dataclasses import dataclass

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Usage:
    """Hold what a process uses.

    Attributes:
        resident: bytes of its resident set, those that it shares included.
        cpu_seconds: processor time of itself and of children that it waited for.
    """

    resident: int
    cpu_seconds: float


def usage(pid: int) -> Usage | None:
    """Return what a process uses; None when it is gone."""
    try:
        # The name is in brackets and may hold anything; proc(5) numbers fields from 1.
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return None
    ticks = sum(int(field) for field in fields[11:15])
    return Usage(resident=int(fields[21]) * _PAGE, cpu_seconds=ticks / _TICK)


def proportional(pid: int) -> int | None:
    """Return the bytes of a process, of shared pages only its share; None if nobody tells us."""
    try:
        for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return None


def family(pid: int) -> list[int]:
    """Return a process and all that descend from it; orphans belong to the namespace's first."""
    found = [pid]
    for member in found:  # grows meanwhile
        try:
            tasks = os.listdir(f"/proc/{member}/task")
        except OSError:
            continue
        for task in tasks:
            found += _children(member, task)
    return found


def in_other_sessions(members: list[int], session: int) -> list[int]:
    """Return those of some processes that are in another session than this one."""
    return [member for member in members if _session(member) not in {session, 0}]


def parent(pid: int) -> int | None:
    """Return the parent of a process; None when it is gone."""
    try:
        return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
    except OSError:
        return None


def files_in(pid: int, folders: tuple[str, ...]) -> int:
    """Return how many files and folders there are in file systems that a process sees.

    Args:
        pid: a process of the sandbox.
        folders: where file systems are mounted in it.
    """
    total = 0
    for folder in folders:
        try:
            found = os.statvfs(f"/proc/{pid}/root{folder}")
        except OSError:
            continue
        total += found.f_files - found.f_ffree
    return total


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def _children(member: int, task: str) -> list[int]:
    try:
        return [int(pid) for pid in _read(f"/proc/{member}/task/{task}/children").split()]
    except OSError:
        return []


def _read(path: str) -> bytes:
    """Return a whole file of /proc, which may come in pieces."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b""
        while piece := os.read(file, _PIECE):
            text += piece
        return text
    finally:
        os.close(file)
