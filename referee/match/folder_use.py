"""How much a folder holds that a bot writes meanwhile."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DEPTH_LIMIT = 32
"""Folders within folders; deeper ones would hide behind paths that are too long."""


@dataclass(frozen=True, slots=True)
class FolderUse:
    """What a folder holds.

    Attributes:
        size: bytes on the disk.
        files: files and folders.
        too_deep: whether there is more below `DEPTH_LIMIT`.
    """

    size: int
    files: int
    too_deep: bool


def folder_use(folder: Path, *, most_files: int) -> FolderUse:
    """Return what a folder holds; counting ends soon after ``most_files``."""
    size = files = 0
    waiting = [(str(folder), 0)]
    while waiting and files <= most_files:
        path, depth = waiting.pop()
        if depth > DEPTH_LIMIT:
            return FolderUse(size=size, files=files, too_deep=True)
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    files += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, depth + 1))
                    if files > most_files:
                        break
        except OSError:
            continue  # it has gone, or the bot may not be read: then it holds what is counted
    return FolderUse(size=size, files=files, too_deep=False)
