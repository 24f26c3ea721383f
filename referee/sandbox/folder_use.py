"""Measure a folder that a bot writes, and remove what is nested too deep."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DEPTH_LIMIT = 32
"""Folders within folders. Deeper ones hide behind paths that are too long to be looked at."""


@dataclass(frozen=True, slots=True)
class FolderUse:
    """Hold the size of a folder.

    Attributes:
        size: bytes on the disk.
        files: files and folders.
        hides: whether there is more that we may not read, or below `DEPTH_LIMIT`.
    """

    size: int
    files: int
    hides: bool


def folder_use(folder: Path, *, most_files: int) -> FolderUse:
    """Return what a folder holds; counting ends soon after ``most_files``."""
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
    """Remove what is nested deeper than `DEPTH_LIMIT`, which few programs can handle."""
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
            # Python's own way of removing a tree ends at a depth of some hundreds.
            subprocess.run(["rm", "-rf", "--", *below], check=False, stderr=subprocess.DEVNULL)


def _entries(path: str, most: int | None = None) -> list[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        return list(islice(entries, most))
