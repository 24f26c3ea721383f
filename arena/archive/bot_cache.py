"""Caches unpacked bots on this machine: one folder for each digest.

Several processes share it. A folder's mtime is when it was last used, and a lock keeps it from
being evicted while another process takes it.
"""

import fcntl
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from referee.sandbox.folder_use import folder_use

SPARED: Final = timedelta(hours=1)
"""A folder that was used within this time is left alone: a match may be playing it."""

_FRESH, _LEFT = "unpacking-", "removing-"
_MOST_FILES: Final = 100_000


class BotCache:
    """A cache of unpacked bots in a folder, which is made when something is added."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, digest: str) -> Path | None:
        """Return a bot's folder, used from now on; None when it is not here."""
        target = self._folder / digest
        if not target.is_dir():
            return None
        with self._locked():
            return target if self._touch(target) else None

    def add(self, digest: str, fill: Callable[[Path], None]) -> Path:
        """Return the folder of a bot that was not here; ``fill`` writes into an empty folder."""
        target = self._folder / digest
        self._folder.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=self._folder, prefix=_FRESH))
        try:
            fill(fresh)
            fresh.chmod(0o755)  # bots run as another user
            with self._locked():
                # Another process may have been faster.
                if not self._touch(target):
                    os.utime(fresh)
                    fresh.rename(target)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return target

    def use(self, digests: Iterable[str]) -> None:
        """Mark bots as used now."""
        for digest in digests:
            self._touch(self._folder / digest)

    def remove(self, digest: str) -> None:
        """Remove a bot's folder, where it is here."""
        shutil.rmtree(self._folder / digest, ignore_errors=True)

    def sizes(self) -> dict[str, int]:
        """Return the bytes on the disk of each bot that is here, by digest."""
        if not self._folder.is_dir():
            return {}
        return {
            path.name: folder_use(path, most_files=_MOST_FILES).size
            for path, _ in self._entries()
            if not path.name.startswith((_FRESH, _LEFT))
        }

    def prune(self, *, keep_bytes: int, spared: timedelta = SPARED) -> int:
        """Evict the least recently used folders beyond ``keep_bytes``; return how many.

        What was used within ``spared`` stays, even beyond the bound.
        """
        if not self._folder.is_dir():
            return 0
        before = time.time() - spared.total_seconds()
        found = sorted((used, path) for path, used in self._entries())
        sizes = {path: folder_use(path, most_files=_MOST_FILES).size for _, path in found}
        left, removed = sum(sizes.values()), 0
        for used, path in found:
            if used >= before:
                break
            is_rest = path.name.startswith((_FRESH, _LEFT))
            if (is_rest or left > keep_bytes) and self._take_out(path, before):
                left -= sizes[path]
                removed += not is_rest
        return removed

    def _take_out(self, path: Path, before: float) -> bool:
        """Remove a folder unless it has been used meanwhile."""
        away = self._folder / f"{_LEFT}{uuid.uuid4().hex}"
        try:
            with self._locked():
                if path.stat().st_mtime >= before:
                    return False
                path.rename(away)
        except FileNotFoundError:
            return False
        shutil.rmtree(away, ignore_errors=True)
        return True

    def _entries(self) -> Iterator[tuple[Path, float]]:
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):
                if path.is_dir():
                    yield path, path.stat().st_mtime

    def _touch(self, target: Path) -> bool:
        try:
            os.utime(target)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)
