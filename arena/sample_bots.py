"""Where the sample bots are that come with the package."""

from pathlib import Path

import arena
from arena.errors import ArenaError


def shipped_bot(name: str) -> Path:
    """Return the folder of a sample bot, in an installation or in the repository.

    Raises:
        ArenaError: the installation lacks it.
    """
    home = Path(arena.__file__).parent
    for folder in (home / "_sample_bots" / name, home.parent / "sample_bots" / name):
        if (folder / "bot.toml").is_file():
            return folder
    raise ArenaError(f"this installation lacks the sample bot {name}; install bot-arena again")
