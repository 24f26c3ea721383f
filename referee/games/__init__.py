"""Implement the rules: pure, standard library only. Rules know seats, never bots."""

from referee.games.base import Board, Game, GameInfo, Option, State
from referee.games.registry import games, parse_ruleset

__all__ = ["Board", "Game", "GameInfo", "Option", "State", "games", "parse_ruleset"]
