"""Write files whole or not at all, and name those that an arena leaves in its data folder."""

import os
import secrets
from pathlib import Path
from typing import Final

from arena.errors import InputError

ADMIN_FILE: Final = "admin-token"
"""In the data folder: a token with every scope, for commands on this machine."""

ADDRESS_FILE: Final = "address"
"""In the data folder while the API runs: its address, then the path of its certificate, if any."""

_SHARED: Final = 0o666
_PRIVATE: Final = 0o600


def replace_file(path: Path, data: bytes, *, mode: int = _SHARED, synced: bool = False) -> None:
    """Write a file beside its place, then move it there: a reader never sees half of it.

    Args:
        path: its place; the folder is made when it is missing.
        data: all that it holds.
        mode: of a new file, less the umask.
        synced: whether it is on the disk afterwards.

    Raises:
        OSError: it cannot be written; what was there before stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{secrets.token_hex(16)}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if synced:
                file.flush()
                os.fsync(descriptor)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def write_file(path: Path, data: bytes, *, mode: int = _SHARED) -> None:
    """Write a file that somebody asked for, as `replace_file` does.

    Raises:
        InputError: it cannot be written.
    """
    try:
        replace_file(path, data, mode=mode)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error


def write_private(path: Path, text: str) -> None:
    """Write a secret with mode 0600, below a folder that is made with mode 0700.

    Raises:
        InputError: it cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    write_file(path, text.encode(), mode=_PRIVATE)
