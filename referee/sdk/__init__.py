"""What a bot author imports: ``Bot``, ``Turn``, ``run``."""

from referee.sdk.bot import Bot, GameEnd, GameStart, Turn, Welcome
from referee.sdk.client import run

__all__ = ["Bot", "GameEnd", "GameStart", "Turn", "Welcome", "run"]
