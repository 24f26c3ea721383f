"""Kill the orphans of a bot without a namespace, found by session or environment."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

_SCANS = 5
"""Scans of all processes: one may fork during a scan."""


def kill_orphans(session: int, variable: str) -> None:
    """Kill all of a session, and every process with ``NAME=VALUE`` (if any) in its environment.

    A bot may evade both: only a sandbox prevents that.
    """
    for _ in range(_SCANS):
        if not _kill(session, variable.encode()):
            break


def _kill(session: int, variable: bytes) -> bool:
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
