"""Replays as files: zstd-compressed JSON, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import zstandard

from arena.errors import InputError
from referee.games.replay import Replay, dump, load

SUFFIX = ".replay"
MAX_BYTES = 256 << 20
"""The largest replay, uncompressed, that is read."""

_MAGIC = b"\x28\xb5\x2f\xfd"
_LEVEL = 10


def pack(replay: Replay) -> bytes:
    """Return a replay as the bytes of its file."""
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(dump(replay))


def unpack(data: bytes) -> Replay:
    """Return the replay that the bytes of a file hold; plain JSON is read, too.

    Raises:
        InvalidReplayError: the content is no replay, or was changed.
        InputError: the compressed data are damaged.
    """
    return load(decompress(data))


def decompress(data: bytes) -> bytes:
    """Return the JSON that the bytes of a replay file hold.

    Raises:
        InputError: the compressed data are damaged or too large.
    """
    if not data.startswith(_MAGIC):
        return data
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            content = reader.read(MAX_BYTES + 1)
    except zstandard.ZstdError as error:
        raise InputError(f"the replay file is damaged: {error}") from error
    if len(content) > MAX_BYTES:
        raise InputError(f"the replay is larger than {MAX_BYTES} bytes")
    return content


def read(path: Path) -> Replay:
    """Read a replay file.

    Raises:
        InputError: it cannot be read.
        InvalidReplayError: it is no replay, or was changed.
    """
    return unpack(read_bytes(path))


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def write(path: Path, replay: Replay) -> None:
    """Write a replay file; a reader never sees half of it.

    Raises:
        InputError: the folder cannot be written.
    """
    write_bytes(path, pack(replay))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file beside its place, then move it there.

    Raises:
        InputError: the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
