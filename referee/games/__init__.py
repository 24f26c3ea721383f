"""Rules engines: pure, standard library only. Rules know seats, never bots."""

from referee.games.base import Board, Game, State
from referee.games.registry import parse_ruleset

__all__ = ["Board", "Game", "State", "parse_ruleset"]
