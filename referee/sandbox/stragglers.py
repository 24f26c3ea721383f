"""Find and end processes left behind without a namespace, by session or environment."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

_SCANS = 5
"""How often all processes are scanned: one may have forked during the search."""


def end_stragglers(session: int, variable: str) -> None:
    """Kill what is left of a session, and every process with a variable in its environment.

    A bot that hides from both is what the sandbox is for.

    Args:
        session: the session's number.
        variable: NAME=VALUE that no other process has in its environment; unused when empty.
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
