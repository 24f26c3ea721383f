"""Try to escape from a sandbox; exit with a message that lists the attempts that succeeded.

``probe.py PORT OTHER PROCESSES``: a TCP port that listens on the host's loopback, the path of
another seat's socket on the host, and how many processes a bot may have. It is copied into a bot's
folder and run there, so it imports nothing but the standard library.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
from pathlib import Path

NOBODY = 65534


def main(port: int, other: str, processes: int) -> list[str]:
    """Return the attempts that succeeded, and requirements that fail."""
    own = os.environ["ARENA_BOT_ADDRESS"].removeprefix("unix:")
    found = {
        "the host's loopback can be reached": _connects(socket.AF_INET, ("127.0.0.1", port)),
        "the seat's own socket cannot be reached": not _connects(socket.AF_UNIX, own),
        "the socket of another seat can be seen": Path(other).exists(),
        f"the user is not {NOBODY}": os.getuid() != NOBODY or os.getgid() != NOBODY,
        "there is a /proc": Path("/proc").exists(),
        "the bot's folder can be written": _writes("/bot"),
        "the seat's folder can be written": _writes("/run/arena"),
        "the root folder can be written": _writes("/"),
        "there is no seccomp filter": not _is_filtered(),
        f"there may be more than {processes} processes": _forks(processes + 1) > processes,
    }
    return [sentence for sentence, is_so in found.items() if is_so]


def _connects(family: socket.AddressFamily, address: tuple[str, int] | str) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.connect(address)
    except OSError:
        return False
    return True


def _writes(folder: str) -> bool:
    file = Path(folder, f"arena-probe-{os.getpid()}")
    try:
        file.touch(exist_ok=False)
        file.unlink()
    except OSError:
        return False
    return True


def _is_filtered() -> bool:
    try:
        os.close(os.memfd_create("probe"))
    except OSError as error:
        return error.errno == errno.ENOSYS
    return False


def _forks(count: int) -> int:
    """Return how many processes there can be, up to ``count``; this one is the first."""
    children: list[int] = []
    try:
        while len(children) + 1 < count:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(children) + 1


if __name__ == "__main__":
    failures = main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    if failures:
        sys.exit("the sandbox does not hold: " + ", ".join(failures))
