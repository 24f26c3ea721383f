"""Create temporary folders that are removed even after their process was killed.

A folder holds a locked file; the kernel releases the lock when its process ends. A later process
removes the folders whose lock is free.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "arena-"
LOCK = ".scratch-lock"
"""A name that no other program gives a file: folders with it are ours to remove."""

YOUNG = 60.0
"""Seconds for which a folder is left alone: it may not be locked yet."""

LONGEST_PREFIX = 60
"""Bytes of a folder's path that leave room for a socket below it: Linux takes 107 in all."""


def short_folder() -> Path:
    """Return a folder for sockets: the temporary folder, or /tmp when its path is too long."""
    usual, short = Path(tempfile.gettempdir()), Path("/tmp")  # noqa: S108 -- folders of our own there
    is_long = len(os.fsencode(usual)) > LONGEST_PREFIX
    return short if is_long and os.access(short, os.W_OK | os.X_OK) else usual


class Scratch:
    """Create a temporary folder, ``path``, locked until `remove`.

    Args:
        kind: a part of its name: ``table``.
        readable: whether other users, as bots in the sandbox are, may read it.
        short: whether it is for sockets, whose paths must be short.
    """

    def __init__(self, kind: str, *, readable: bool = False, short: bool = False) -> None:
        folder = short_folder() if short else None
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{kind}-", dir=folder))
        self._lock = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        if readable:
            self.path.chmod(0o755)

    def remove(self) -> None:
        """Remove the folder with its content."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def sweep(*, young: float = YOUNG) -> int:
    """Remove folders of this user's killed processes; return the count.

    Args:
        young: folders changed within so many seconds are left alone.
    """
    swept = 0
    places = {Path(tempfile.gettempdir()), short_folder()}
    for folder in (each for place in places for each in place.glob(f"{PREFIX}*")):
        try:
            status = folder.stat()
            if status.st_uid != os.geteuid() or time.time() - status.st_mtime < young:
                continue
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            # It has just been removed, or is no folder of ours.
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(folder, ignore_errors=True)
            swept += 1
        finally:
            os.close(lock)
    return swept
