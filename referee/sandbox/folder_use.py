"""Measure a folder that a bot writes, and remove what is nested too deep."""

from __future__ import annotations

import os
import subprocess
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

DEPTH_LIMIT = 32
"""Nested folders. Paths of deeper ones may be too long for system calls."""


class FolderUse(NamedTuple):
    """Hold the bytes on disk, the count of files and folders, and whether some cannot be read."""

    size: int
    files: int
    hides: bool


def folder_use(folder: Path, *, most_files: int) -> FolderUse:
    """Measure a folder down to `DEPTH_LIMIT`; counting ends soon after ``most_files``."""
    size = files = 0
    hides = False
    waiting = [(str(folder), 0)]
    while waiting and files <= most_files:
        path, depth = waiting.pop()
        try:
            entries = _entries(path, most_files + 1)
        except OSError as error:
            hides |= isinstance(error, PermissionError)  # else it has gone meanwhile
            continue
        for entry in entries:
            files += 1
            try:
                size += entry.stat(follow_symlinks=False).st_blocks * 512
            except OSError as error:
                hides |= isinstance(error, PermissionError)
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < DEPTH_LIMIT:
                    waiting.append((entry.path, depth + 1))
                else:
                    hides = True
    return FolderUse(size=size, files=files, hides=hides)


def prune(folder: Path) -> None:
    """Remove folders nested deeper than `DEPTH_LIMIT`, which few programs can handle."""
    waiting = [(str(folder), 0)]
    while waiting:
        path, depth = waiting.pop()
        try:
            below = [e.path for e in _entries(path) if e.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        if depth < DEPTH_LIMIT:
            waiting += [(found, depth + 1) for found in below]
        elif below:
            # shutil.rmtree fails at a depth of some hundreds.
            subprocess.run(["rm", "-rf", "--", *below], check=False, stderr=subprocess.DEVNULL)


def _entries(path: str, most: int | None = None) -> list[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        return list(islice(entries, most))
