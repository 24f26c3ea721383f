"""Stores bot folders, replays, logs and old results as files or objects.

The archive is a folder or any place that fsspec reaches (S3, GCS). A write is atomic and
idempotent. All methods block; call them in a thread.

A match may be played twice, when its first worker lost the lease; so replays and logs are named by
match and by digest of the replay, and the committed digest tells which of them count.
"""

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import fsspec
import zstandard

from arena.archive import bot_tar as bot_files
from arena.archive.bot_cache import BotCache
from arena.errors import DISK_FULL, ArenaError, DiskFullError, InputError, NotFoundError
from arena.files import replace_file
from arena.queue.log_binary import DIGEST_BYTES

KINDS: Final = ("bots", "replays", "logs", "results")
"""What the archive holds, by top folder."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._-]{0,119}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_RULESET: Final = re.compile(r"[a-z0-9-]+(:[a-z0-9_-]+=[a-z0-9_-]+(,[a-z0-9_-]+=[a-z0-9_-]+)*)?")
_LEVEL: Final = 6


@dataclass(frozen=True, slots=True)
class Usage:
    """How much the archive holds of a kind."""

    files: int
    size_bytes: int


def slug(ruleset: str) -> str:
    """Return the name of a ruleset's folder.

    >>> slug("quasenbo:double=yes,players=3")
    'quasenbo.double-yes.players-3'
    """
    if not _RULESET.fullmatch(ruleset):
        raise InputError(f"{ruleset!r} is no canonical ruleset, such as quasenbo:players=3")
    return ruleset.replace(":", ".").replace(",", ".").replace("=", "-")


class Archive:
    """An archive at a URL, a folder or an fsspec URL such as ``s3://bucket/arena``.

    Attributes:
        cache: the bots that are unpacked on this machine.

    Every method raises `ArenaError` when the archive does not answer, and `DiskFullError`, having
    stored nothing, when a disk is full.
    """

    def __init__(self, url: str, *, cache: Path, upload_bytes: int = 50 << 20) -> None:
        try:
            self._files, self._root = fsspec.core.url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise InputError(f"archive_url {url!r}: {error}") from error
        self._is_local = isinstance(self._files, fsspec.get_filesystem_class("file"))
        self._url = url
        self.cache = BotCache(cache)
        self._upload_bytes = upload_bytes

    def put_bot(self, folder: Path) -> str:
        """Store a bot's folder; return its digest, 64 hex digits.

        The digest is of names, contents and executable bits alone, not of times and owners.
        """
        data = bot_files.pack(folder, limit_bytes=self._upload_bytes)
        digest = hashlib.sha256(data).hexdigest()
        # Also when it is there already: it must not look forgotten to `old_bots`.
        self._put_compressed(self._bot_path(digest), data)
        return digest

    def has_bot(self, digest: str) -> bool:
        """Return whether a bot's folder of this digest is stored."""
        return self._exists(self._bot_path(digest))

    def bot_sizes(self) -> dict[str, int]:
        """Return the bytes that each bot's folder takes, by digest."""
        return {_digest_in(path): size for path, size, _ in self._list("bots")}

    def old_bots(self, *, age: timedelta) -> set[str]:
        """Return the digests of the bots' folders that were last stored so long ago."""
        before = time.time() - age.total_seconds()
        return {_digest_in(path) for path, _, written in self._list("bots") if written < before}

    def remove_bot(self, digest: str) -> None:
        """Delete a bot's folder, from this machine's cache, too."""
        self._remove(self._bot_path(digest))
        self.cache.remove(digest)

    def unpack_bot(self, digest: str) -> Path:
        """Return a folder with the bot from this machine's cache; `NotFoundError` if unknown."""
        if (found := self.cache.get(digest)) is not None:
            return found
        compressed = self._get(self._bot_path(digest), f"bot folder {digest}")
        data = _decompress(compressed, f"bot folder {digest}")
        if hashlib.sha256(data).hexdigest() != digest:
            raise ArenaError(f"the archive's bot folder {digest} is damaged")
        try:
            return self.cache.add(digest, partial(bot_files.unpack, data))
        except OSError as error:
            what = f"the bot folder {digest} cannot be unpacked on this machine"
            raise _failure(what, error) from error

    def put_replay(self, ruleset: str, match_id: str, data: bytes) -> bytes:
        """Store a replay file of a match, beside others of it; return its SHA-256, 32 bytes."""
        digest = hashlib.sha256(data).digest()
        self._put(self._replay_path(ruleset, match_id, digest), data)
        return digest

    def get_replay(self, ruleset: str, match_id: str, *, digest: bytes) -> bytes:
        """Return the replay file of a match; ``digest`` is 8 bytes of the replay's or more.

        Raises `NotFoundError` when there is none, or it was pruned.
        """
        return self._get(self._replay_path(ruleset, match_id, digest), f"replay of {match_id}")

    def put_log(
        self, ruleset: str, match_id: str, name: str, data: bytes, *, digest: bytes
    ) -> None:
        """Store what a process printed in a match; ``name`` tells which one, ``t0-e1``."""
        self._put_compressed(self._log_path(ruleset, match_id, digest, name), data)

    def get_log(self, ruleset: str, match_id: str, name: str, *, digest: bytes) -> bytes:
        """Return what `put_log` stored."""
        what = f"log {name} of {match_id}"
        return _decompress(self._get(self._log_path(ruleset, match_id, digest, name), what), what)

    def remove_match(
        self, ruleset: str, match_id: str, *, digest: bytes, logs: Iterable[str]
    ) -> None:
        """Remove a replay and the logs of these names that were stored with it."""
        paths = [self._log_path(ruleset, match_id, digest, name) for name in logs]
        for path in (self._replay_path(ruleset, match_id, digest), *paths):
            self._remove(path)

    def put_results(self, ruleset: str, *, first: int, last: int, lines: bytes) -> None:
        """Store log entries ``first``..``last`` of a ladder, as JSON lines."""
        self._put_compressed(self._results_path(ruleset, first, last), lines)

    def results_segments(self, ruleset: str) -> list[tuple[int, int]]:
        """Return first and last sequence of every stored segment, in order."""
        names = [path.rpartition("/")[2] for path, _, _ in self._list(f"results/{slug(ruleset)}")]
        pairs = (name.partition(".")[0].split("-") for name in names if name.endswith(".zst"))
        return sorted((int(first), int(last)) for first, last in pairs)

    def get_results(self, ruleset: str, *, first: int, last: int) -> bytes:
        """Return the JSON lines of a segment."""
        what = f"entries {first} to {last} of {ruleset}"
        return _decompress(self._get(self._results_path(ruleset, first, last), what), what)

    def usage(self) -> dict[str, Usage]:
        """Return how much the archive holds, by kind."""
        sizes = {kind: [size for _, size, _ in self._list(kind)] for kind in KINDS}
        return {kind: Usage(len(each), sum(each)) for kind, each in sizes.items()}

    def prune(self, kind: str, *, keep_bytes: int) -> int:
        """Remove the oldest replays or logs beyond ``keep_bytes``; return how many files."""
        if kind not in {"replays", "logs"}:
            raise InputError(f"only replays and logs can be pruned, not {kind!r}")
        files = sorted(self._list(kind), key=lambda file: (file[2], file[0]))
        left = sum(size for _, size, _ in files)
        removed = 0
        for path, size, _ in files:
            if left <= keep_bytes:
                break
            self._try(f"{path} cannot be removed", partial(self._files.rm_file, path))
            left -= size
            removed += 1
        return removed

    def _bot_path(self, digest: str) -> str:
        if not _DIGEST.fullmatch(digest):
            raise InputError(f"{digest!r} is no digest of a bot folder, 64 hex digits")
        return f"{self._root}/bots/{digest[:2]}/{digest}.tar.zst"

    def _replay_path(self, ruleset: str, match_id: str, digest: bytes) -> str:
        return self._match_path("replays", ruleset, f"{_play(match_id, digest)}.replay")

    def _log_path(self, ruleset: str, match_id: str, digest: bytes, name: str) -> str:
        name = f"{_play(match_id, digest)}.{_checked(name)}.log.zst"
        return self._match_path("logs", ruleset, name)

    def _results_path(self, ruleset: str, first: int, last: int) -> str:
        return self._match_path("results", ruleset, f"{first:012d}-{last:012d}.jsonl.zst")

    def _match_path(self, kind: str, ruleset: str, name: str) -> str:
        return f"{self._root}/{kind}/{slug(ruleset)}/{_checked(name)}"

    def _put(self, path: str, data: bytes) -> None:
        write = partial(self._files.pipe_file, path, data)  # atomic in an object store
        if self._is_local:
            write = partial(replace_file, Path(path), data, synced=True)
        self._try(f"{path} cannot be written", write)

    def _put_compressed(self, path: str, data: bytes) -> None:
        self._put(path, zstandard.ZstdCompressor(level=_LEVEL).compress(data))

    def _remove(self, path: str) -> None:
        if self._exists(path):
            self._try(f"{path} cannot be removed", partial(self._files.rm_file, path))

    def _get(self, path: str, what: str) -> bytes:
        try:
            return bytes(self._files.cat_file(path))
        except FileNotFoundError as error:
            raise NotFoundError(f"the archive at {self._url} holds no {what}") from error
        except OSError as error:
            raise ArenaError(
                f"the archive at {self._url}: {what} cannot be read: {error}"
            ) from error

    def _exists(self, path: str) -> bool:
        return bool(self._try(f"{path} cannot be looked up", lambda: self._files.exists(path)))

    def _try(self, what: str, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except OSError as error:
            raise _failure(f"the archive at {self._url}: {what}", error) from error

    def _list(self, folder: str) -> Iterator[tuple[str, int, float]]:
        """Yield path, size in bytes and time of every file below a folder."""
        found = self._try(
            f"{folder} cannot be listed",
            lambda: self._files.find(f"{self._root}/{folder}", detail=True),
        )
        for path, facts in found.items():
            if not path.rpartition("/")[2].startswith("."):
                yield path, int(facts["size"] or 0), _age(facts)


def _failure(what: str, error: OSError) -> ArenaError:
    if error.errno in DISK_FULL:
        return DiskFullError(f"{what}, because the disk is full: {error.strerror}; make room")
    return ArenaError(f"{what}: {error}")


def _digest_in(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _age(facts: dict[str, Any]) -> float:
    """Return when a file was written, in seconds; the key depends on the file system."""
    moment = next(
        (facts[key] for key in ("mtime", "LastModified", "updated", "created") if key in facts), 0
    )
    return float(moment.timestamp() if hasattr(moment, "timestamp") else moment)


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is no name in the archive; possible: {_NAME.pattern}")
    return name


def _play(match_id: str, digest: bytes) -> str:
    """Return the name of one play of a match; no match id holds an ``@``."""
    if len(digest) < DIGEST_BYTES:
        raise InputError(f"a digest of {len(digest)} bytes; a replay's has {DIGEST_BYTES} or more")
    return f"{match_id}@{digest[:DIGEST_BYTES].hex()}"


def _decompress(data: bytes, what: str) -> bytes:
    try:
        return zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError as error:
        raise ArenaError(f"the archive's {what} is damaged: {error}") from error
