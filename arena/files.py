"""Write private files, and name those that an arena leaves in its data folder."""

import os
import secrets
from pathlib import Path
from typing import Final

from arena.errors import InputError

ADMIN_FILE: Final = "admin-token"
"""In the data folder: a token with every scope, for commands on this machine."""

ADDRESS_FILE: Final = "address"
"""In the data folder while the API runs: its address, then the path of its certificate, if any."""


def write_private(path: Path, text: str) -> None:
    """Write a file that appears whole, with mode 0600, or not at all.

    Raises:
        InputError: it cannot be written.
    """
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
