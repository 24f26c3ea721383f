"""Write a bot with ``Bot``, ``Turn`` and ``run``."""

from referee.sdk.bot import Bot, GameEnd, GameStart, Turn, Welcome
from referee.sdk.client import run

__all__ = ["Bot", "GameEnd", "GameStart", "Turn", "Welcome", "run"]
