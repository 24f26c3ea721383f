"""Read the memory, processor time and descendants of a bot's processes from /proc."""

# ruff: noqa: PTH208 -- read twenty times a second for every thread of every bot: no Path or file
# objects

from __future__ import annotations

import os

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")
_PIECE = 1 << 16


def usage(pid: int) -> tuple[int, float]:
    """Return a process's resident set (RSS) in bytes and its processor seconds; 0 when it is gone.

    The resident set includes shared pages, the seconds those of children that it waited for.
    """
    fields = _stat(pid)
    ticks = sum(int(field) for field in fields[11:15])
    return (int(fields[21]) * _PAGE, ticks / _TICK) if fields else (0, 0.0)


def proportional_set(pid: int) -> int | None:
    """Return a process's proportional set (PSS) in bytes; None if the kernel does not tell."""
    try:
        for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return None


def family(pid: int) -> list[int]:
    """Return a process and its descendants; its namespace's first process adopts orphans."""
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
    """Return those of some processes that are not in this session."""
    return [member for member in members if _session(member) not in {session, 0}]


def parent(pid: int) -> int | None:
    """Return the parent of a process; None when it is gone."""
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def used_inodes(pid: int, folders: tuple[str, ...]) -> int:
    """Return the inodes used in file systems mounted at these folders of a process's root."""
    total = 0
    for folder in folders:
        try:
            found = os.statvfs(f"/proc/{pid}/root{folder}")
        except OSError:
            continue
        total += found.f_files - found.f_ffree
    return total


def _stat(pid: int) -> list[bytes]:
    """Return the fields of proc(5)'s ``stat`` from the third on; none when the process is gone."""
    try:
        # The name, the second one, is in brackets and may hold anything.
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return []


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
