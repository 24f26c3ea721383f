"""Assign entrants to seats on duplicate boards.

Table r plays rotation r of every board of a match, with its own processes, so that no process
ever sees a board from two seats.
"""

from __future__ import annotations

import hashlib
import hmac
from functools import cache
from itertools import permutations

from referee.games import Board, Game
from referee.games.random_streams import board_seed


def seating(game: Game, *, board: int, rotation: int) -> tuple[int, ...]:
    """Return the entrant in each seat.

    Rotations are cyclic. With four entrants the circular order of the entrants cycles through
    its six possibilities over successive boards, and likewise for three, five and six entrants.

    Args:
        game: the game; its `seat_entrants` say which seats belong together.
        board: the board's index in the match.
        rotation: the rotation, from 0 to ``game.rotations - 1``.
    """
    entrants = game.entrants
    orders = _circular_orders(entrants)
    order = orders[board % len(orders)]
    return tuple(order[(side + rotation) % entrants] for side in game.seat_entrants)


def make_board(game: Game, *, seed: bytes, index: int) -> Board:
    """Return board ``index`` of a match (or a competition's round) with this seed."""
    return Board.from_seed(game, board_seed(seed, index))


def bot_seed(seed: bytes, *, board: int, seat: int) -> bytes:
    """Return the bot's seed of a seat and board of a match, the same for every entrant.

    So two copies of a bot that uses only this seed split every set.
    """
    return hmac.digest(seed, f"bot/{board}/{seat}".encode(), hashlib.sha256)


@cache
def _circular_orders(entrants: int) -> tuple[tuple[int, ...], ...]:
    """Return every circular order of the entrants, the first one ascending."""
    return tuple((0, *rest) for rest in permutations(range(1, entrants)))
