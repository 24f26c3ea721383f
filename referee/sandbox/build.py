"""Run a build in a file system of its own size, and take what it made out of the sandbox.

``python -m referee.sandbox.build DESCRIPTOR WORDS...`` runs inside: it copies the bot's folder into
``/bot``, a file system in memory, runs the words there, ends every other process, and writes
``/bot`` as a tar archive to the descriptor. What is deleted and still open cannot outgrow the file
system, and nobody but this module writes to the descriptor. `receive` reads it outside.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path, PurePosixPath

SOURCE = Path("/run/source")
"""Where the bot's folder lies inside."""

_BOT = Path("/bot")


def main(descriptor: int, words: list[str]) -> int:
    """Build, write the archive, and return the exit code."""
    shutil.copytree(SOURCE, _BOT, symlinks=True, dirs_exist_ok=True)
    os.chdir(_BOT)
    code = subprocess.run(words, check=False).returncode
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    if code == 0:
        with open(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w|") as archive:
            archive.add(_BOT, arcname=".")
    return code if code >= 0 else 128 - code


def receive(descriptor: int, folder: Path, *, most_bytes: int) -> str:
    """Read the archive into a new folder; blocks until it ends.

    Args:
        descriptor: of the pipe; it is closed.
        folder: does not exist yet.
        most_bytes: all files together, holes included.

    Returns:
        What was too much, as a phrase; empty if nothing was. There is no folder if no archive came.
    """
    left = most_bytes
    with (
        open(descriptor, "rb") as file,
        suppress(tarfile.ReadError),
        tarfile.open(fileobj=file, mode="r|") as archive,
    ):
        for member in archive:
            place = folder / PurePosixPath(member.name)
            if ".." in place.parts or not place.is_relative_to(folder):
                return "a path outside of its folder"
            left -= member.size
            if left < 0:
                return f"more than {most_bytes >> 20} MiB in its folder"
            _extract(archive, member, folder, place)
    return ""


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, place: Path) -> None:
    """Write one member with the owner and the modes of our own files."""
    if member.isdir():
        place.mkdir(exist_ok=True)
        place.chmod(0o755)
    elif member.issym():
        place.symlink_to(member.linkname)
    elif member.islnk():
        place.hardlink_to(folder / member.linkname)
    elif (content := archive.extractfile(member)) is not None:
        with place.open("xb") as file:
            shutil.copyfileobj(content, file)
        place.chmod(0o755 if member.mode & 0o100 else 0o644)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
