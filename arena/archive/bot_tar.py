"""Packs a bot's folder into a tar that depends on names, contents and executable bits alone."""

import io
import tarfile
from pathlib import Path
from typing import Final

from arena.errors import InputError
from arena.uploads.pack import walk

_LEFT_OUT: Final = (
    ".git", "__pycache__", "*.pyc", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache",
)  # fmt: skip
_MOST_FILES: Final = 20_000


def pack(folder: Path, *, limit_bytes: int) -> bytes:
    """Return the folder as tar bytes, without version control and caches; raises `InputError`."""
    root = folder.resolve()
    if not root.is_dir():
        raise InputError(f"{folder} is not a folder; name the folder that holds bot.toml")
    out = io.BytesIO()
    total = 0
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for number, (name, _) in enumerate(walk(root, _LEFT_OUT), start=1):
            path = root / name
            entry = _entry(root, path)
            total += entry.size
            if total > limit_bytes or number > _MOST_FILES:
                raise InputError(
                    f"{folder} is too large: a bot's folder may hold {limit_bytes} bytes in "
                    f"{_MOST_FILES} files"
                )
            if entry.isreg():
                with path.open("rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)
    return out.getvalue()


def unpack(data: bytes, folder: Path) -> None:
    """Unpack what `pack` made into an empty folder."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(folder, filter="data")


def _entry(root: Path, path: Path) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path.relative_to(root).as_posix())
    if path.is_symlink():
        if not path.resolve().is_relative_to(root) or path.readlink().is_absolute():
            raise InputError(f"{path} is a link that leads out of the bot's folder")
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, str(path.readlink()), 0o777
    elif path.is_dir():
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    elif path.is_file():
        facts = path.stat()
        entry.size = facts.st_size
        entry.mode = 0o755 if facts.st_mode & 0o100 else 0o644
    else:
        raise InputError(f"{path} is neither a file nor a folder")
    return entry
