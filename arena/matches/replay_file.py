"""Reads and writes replays as zstd-compressed JSON files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import zstandard

from arena.errors import InputError
from arena.files import write_file
from referee.errors import InvalidReplayError
from referee.games.replay import FORMAT, Replay, dump, load

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".replay"
MAX_BYTES = 256 << 20
"""The largest replay, uncompressed, that is read."""

_MAGIC = b"\x28\xb5\x2f\xfd"
_LEVEL = 10


def pack(replay: Replay) -> bytes:
    """Serialize and compress a replay."""
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(dump(replay))


def unpack(data: bytes) -> Replay:
    """Decompress and parse a replay, or plain JSON.

    Raises:
        InvalidReplayError: the content is no replay, or was changed.
        InputError: the compressed data are damaged.
    """
    content = decompress(data)
    try:
        return load(content)
    except InvalidReplayError as error:
        if error.where or error.__cause__ is None:
            raise
        raise InvalidReplayError(_sentence(content, error.__cause__)) from error


def _sentence(content: bytes, cause: BaseException) -> str:
    """Return in words what was read, and what would be a replay."""
    found = _kind(content)
    if found is None:
        why = str(cause)
        if isinstance(cause, KeyError):
            why = f"{cause} is missing"
        elif isinstance(cause, json.JSONDecodeError):
            why = f"its JSON goes wrong in line {cause.lineno}, column {cause.colno}"
        return f"the replay was cut off or changed: {why}; fetch or play it again"
    return (
        f"this is not a replay but {found}; a replay is a file that `arena play` or `arena match "
        "replay` wrote, or what `arena replay export` made of one"
    )


def _kind(content: bytes) -> str | None:
    """Return what bytes that are no whole replay are; None for a damaged replay."""
    if not content:
        return "an empty file"
    try:
        text = content.decode()
        document = json.loads(text)
    except UnicodeDecodeError:
        return "neither compressed JSON nor text"
    except (ValueError, RecursionError):
        if text.startswith(f'{{"format":"{FORMAT}"'):
            return None
        return f"text that begins with {text.strip()[:40]!r}"
    if isinstance(document, dict) and document.get("format") == FORMAT:
        return None
    return "JSON of another kind"


def decompress(data: bytes) -> bytes:
    """Return the JSON of a replay file, or raise `InputError` if it is damaged or too large."""
    if not data.startswith(_MAGIC):
        return data
    try:
        with zstandard.ZstdDecompressor().stream_reader(data) as reader:
            content = reader.read(MAX_BYTES + 1)
        whole = zstandard.frame_content_size(data)
    except zstandard.ZstdError as error:
        raise InputError(f"the replay file is damaged: {error}") from error
    if len(content) > MAX_BYTES:
        raise InputError(f"the replay is larger than {MAX_BYTES} bytes")
    if len(content) < whole:  # -1 where the frame does not say
        raise InputError("the replay file is damaged: it was cut off; fetch or play it again")
    return content


def read(path: Path) -> Replay:
    """Read a replay file; raises as `read_bytes` and `unpack`."""
    return unpack(read_bytes(path))


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, or raise `InputError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def write(path: Path, replay: Replay) -> None:
    """Write a replay file atomically, or raise `InputError`."""
    write_file(path, pack(replay))
