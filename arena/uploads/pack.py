"""Packs a bot's folder for its upload."""

import gzip
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from arena.errors import InputError
from arena.uploads.archive_limits import (
    ARCHIVE_BYTES,
    FILE_BYTES,
    TOTAL_BYTES,
    UploadRefusedError,
    refuse,
)
from arena.uploads.names import Names, segments_of

LEFT_OUT: Final = (
    ".git",
    ".hg",
    ".svn",
    "__pycache__",
    "*.pyc",
    "node_modules",
    ".venv",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".DS_Store",
    ".arenaignore",
)
"""Never packed, at any depth: version control, caches, and packages that the arena has itself."""

IGNORE_FILE: Final = ".arenaignore"


def pack_folder(folder: Path) -> bytes:
    """Return a bot's folder as a tar.gz; equal folders give equal bytes.

    Only names, contents and the owner's right to execute count, not times and owners. What
    `LEFT_OUT` names is not packed, nor what a line of ``.arenaignore`` matches: shell patterns, for
    a name at any depth or, with a ``/`` in them, for a path; ``#`` starts a comment.

    Raises:
        InputError: the folder cannot be read, or the arena would refuse it (`UploadRefusedError`).
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; name the folder that holds bot.toml")
    out = io.BytesIO()
    names, total = Names(), 0
    try:
        patterns = (*LEFT_OUT, *_patterns(folder / IGNORE_FILE))
        with (
            gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=0) as compressed,
            tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            for path, facts in walk(folder, patterns):
                total += facts.st_size if stat.S_ISREG(facts.st_mode) else 0
                if total > TOTAL_BYTES:
                    raise UploadRefusedError(_too_large(folder, TOTAL_BYTES))
                _add(tar, folder, path, facts, names)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{folder} cannot be packed: {error}") from error
    data = out.getvalue()
    if len(data) > ARCHIVE_BYTES:
        raise UploadRefusedError(_too_large(folder, ARCHIVE_BYTES))
    return data


def _too_large(folder: Path, limit: int) -> str:
    return (
        f"{folder} is too large: {limit >> 20} MiB at most; name what the bot does not need in "
        f"{IGNORE_FILE}"
    )


def _patterns(file: Path) -> list[str]:
    if not file.is_file():
        return []
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [line.rstrip("/") for line in lines if line and not line.startswith("#")]


def walk(
    root: Path, patterns: tuple[str, ...], *, below: str = ""
) -> Iterator[tuple[str, os.stat_result]]:
    """Yield paths relative to the root that match no pattern, parents first, in a fixed order."""
    with os.scandir(root / below) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        path = f"{below}/{entry.name}" if below else entry.name
        if any(_matches(path, entry.name, pattern) for pattern in patterns):
            continue
        yield path, entry.stat(follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False):
            yield from walk(root, patterns, below=path)


def _matches(path: str, name: str, pattern: str) -> bool:
    if "/" in pattern:
        return fnmatchcase(path, pattern.removeprefix("/"))
    return fnmatchcase(name, pattern)


def _add(
    tar: tarfile.TarFile, folder: Path, path: str, facts: os.stat_result, names: Names
) -> None:
    entry = tarfile.TarInfo(path)
    if stat.S_ISDIR(facts.st_mode):
        names.add(segments_of(path), is_folder=True)
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(entry)
    elif stat.S_ISREG(facts.st_mode):
        names.add(segments_of(path), is_folder=False)
        if facts.st_size > FILE_BYTES:
            raise refuse(path, f"is larger than {FILE_BYTES >> 20} MiB")
        entry.size = facts.st_size
        entry.mode = 0o755 if facts.st_mode & stat.S_IXUSR else 0o644
        with (folder / path).open("rb") as file:
            tar.addfile(entry, file)
    elif stat.S_ISLNK(facts.st_mode):
        raise refuse(path, "is a link; put the file itself there")
    else:
        raise refuse(path, "is neither a regular file nor a folder")
