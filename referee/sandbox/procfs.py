"""Read the memory, processor time and descendants of a bot's processes from /proc."""

# ruff: noqa: PTH208 -- read twenty times a second for every thread of every bot: no Path or file
# objects

from __future__ import annotations

import os
from typing import NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")
_PIECE = 1 << 16
_VAST = 8 << 30
"""Bytes of address space below which page tables are small: a 512th of it at most."""


class Usage(NamedTuple):
    """Hold what a process uses; all zero when it is gone.

    Attributes:
        memory: its resident set (RSS), shared pages included, and its page tables, in bytes.
        seconds: processor time, that of children that it waited for included.
        runnable: how many of its threads run or wait for a core.
    """

    memory: int
    seconds: float
    runnable: int


def usage(pid: int) -> Usage:
    """Return what a process uses now."""
    fields = _stat(pid)
    if not fields:
        return Usage(0, 0.0, 0)
    ticks = sum(int(field) for field in fields[11:15])
    memory = int(fields[21]) * _PAGE
    if int(fields[20]) > _VAST:
        memory += _page_tables(pid)
    runnable = int(fields[0] == b"R") if fields[17] == b"1" else _runnable_threads(pid)
    return Usage(memory, ticks / _TICK, runnable)


def proportional_set(pid: int) -> int:
    """Return a process's memory in bytes, shared pages by their share (PSS) if the kernel tells."""
    try:
        rollup = _read(f"/proc/{pid}/smaps_rollup")
    except OSError:
        return usage(pid).memory
    return _kibibytes(rollup, b"\nPss:") + _page_tables(pid)


def sockets(pid: int) -> int:
    """Return how many sockets there are in a process's network namespace, each with its buffers."""
    try:
        words = _read(f"/proc/{pid}/net/sockstat").split(maxsplit=3)
    except OSError:
        return 0
    return int(words[2])


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


def _stat(pid: int | str) -> list[bytes]:
    """Return the fields of proc(5)'s ``stat`` from the third on; none when the process is gone."""
    try:
        # The name, the second one, is in brackets and may hold anything.
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return []


def _page_tables(pid: int) -> int:
    try:
        return _kibibytes(_read(f"/proc/{pid}/status"), b"\nVmPTE:")
    except OSError:
        return 0


def _kibibytes(text: bytes, name: bytes) -> int:
    """Return a line's number of kibibytes in bytes; 0 without such a line."""
    words = text.partition(name)[2].split(maxsplit=1)
    return int(words[0]) << 10 if words else 0


def _runnable_threads(pid: int) -> int:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return 0
    return sum(_stat(f"{pid}/task/{task}")[:1] == [b"R"] for task in tasks)


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
