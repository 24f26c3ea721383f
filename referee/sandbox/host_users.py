"""Give each running bot a host user of its own, when we are root."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_USERS = range(64_000, 64_500)
"""User ids that Debian and systemd do not assign."""


class UserPool:
    """Allocate user ids.

    An id is locked by an abstract socket of that name: no other worker of the machine allocates it
    meanwhile, and the kernel releases the lock of a worker that was killed.
    """

    def __init__(self, numbers: range) -> None:
        self._numbers = numbers
        self._next = 0

    def allocate(self) -> tuple[int, socket.socket]:
        """Return a free user id and its lock; close the lock to release it.

        Raises:
            OSError: every id is allocated (EAGAIN).
        """
        for _ in self._numbers:
            number = self._numbers[self._next % len(self._numbers)]
            self._next += 1
            lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                lock.bind(f"\0bot-arena/user/{number}")
            except OSError as error:
                lock.close()
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                return number, lock
        raise OSError(errno.EAGAIN, f"every user number of {self._numbers} runs a bot already")


def chown_socket(seat_socket: Path, user: int) -> None:
    """Let this user alone reach a socket and its folder, and traverse the folder above."""
    folder = seat_socket.parent
    folder.parent.chmod(0o711)
    for path, mode in ((seat_socket, 0o600), (folder, 0o700)):
        os.chown(path, user, user)
        path.chmod(mode)


def can_reach(path: Path, user: int) -> bool:
    """Return whether a user without groups may enter all folders above a path, and read it."""
    needed = 0o5 if path.is_dir() else 0o4
    traversable = all(_allows(parent, user, 0o1) for parent in path.parents)
    return traversable and _allows(path, user, needed)


def _allows(path: Path, user: int, needed: int) -> bool:
    status = path.stat()
    shift = 6 if status.st_uid == user else 0
    return (status.st_mode >> shift) & needed == needed
