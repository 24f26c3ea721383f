"""Writes files below one folder, safe against path traversal."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from arena.uploads.archive_limits import FILE_BYTES, UploadRefusedError, refuse
from arena.uploads.names import Names, segments_of

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Tree:
    """A new folder that is filled entry by entry.

    Every path is walked from the folder's own descriptor, one name at a time and following no link,
    and everything is created, never opened.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._names = Names()
        self._files = 0

    @classmethod
    @contextmanager
    def create(cls, folder: Path) -> Iterator[Self]:
        """Make the folder, whose parent must exist; after any exception it is removed.

        Raises:
            FileExistsError: it exists, and stays as it is.
        """
        folder.mkdir(mode=0o755)
        try:
            root = os.open(folder, _FOLDER)
            try:
                os.fchmod(root, 0o755)
                yield cls(root)
            finally:
                os.close(root)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def add_folder(self, name: str) -> None:
        """Make a folder, unless another entry's path made it."""
        if segments := segments_of(name):
            self._make(self._names.add(segments, is_folder=True))

    def add_file(self, name: str, chunks: Iterable[bytes], *, executable: bool) -> None:
        """Write a file and its parent folders, or raise `UploadRefusedError`."""
        segments = segments_of(name)
        if not segments:
            raise refuse(name, "is the bot's folder, and cannot be a file")
        self._make(self._names.add(segments, is_folder=False))
        with self._parent(segments) as parent:
            file = os.open(segments[-1], _FILE, 0o600, dir_fd=parent)
            with os.fdopen(file, "wb") as out:
                size = 0
                for chunk in chunks:
                    size += len(chunk)
                    if size > FILE_BYTES:
                        raise refuse(name, f"is larger than {FILE_BYTES >> 20} MiB")
                    out.write(chunk)
                os.fchmod(file, 0o755 if executable else 0o644)
        self._files += 1

    def finish(self) -> None:
        """Check the whole: raise `UploadRefusedError` if it holds no file."""
        if not self._files:
            raise UploadRefusedError("the archive holds no file; pack the folder with bot.toml")

    def _make(self, folders: Iterable[tuple[str, ...]]) -> None:
        for segments in folders:
            with self._parent(segments) as parent:
                os.mkdir(segments[-1], 0o755, dir_fd=parent)
                made = os.open(segments[-1], _FOLDER, dir_fd=parent)
                os.fchmod(made, 0o755)
                os.close(made)

    @contextmanager
    def _parent(self, segments: tuple[str, ...]) -> Iterator[int]:
        folder = os.dup(self._root)
        try:
            for segment in segments[:-1]:
                below = os.open(segment, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = below
            yield folder
        finally:
            os.close(folder)
