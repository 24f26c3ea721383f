"""Describe how games end: points and places, terminations, forfeits.

A bot's fault is a value here, never an exception outside the match runner.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class ForfeitReason(StrEnum):
    """Say why a seat loses for a fault of its bot."""

    ILLEGAL_ACTION = "illegal_action"
    INVALID_MESSAGE = "invalid_message"
    TIMEOUT = "timeout"
    STALL = "stall"
    CRASH = "crash"
    OUT_OF_MEMORY = "out_of_memory"
    NO_SHOW = "no_show"
    RESIGN = "resign"
    PRESSURE = "pressure"


class Termination(StrEnum):
    """Say why a game ended."""

    FINISHED = "finished"
    """The rules ended it."""
    PLAY_CAP = "play_cap"
    """The rules' cap on the number of plays ended it."""
    FORFEIT = "forfeit"
    """Forfeits left one entrant, or none."""


@dataclass(frozen=True, slots=True)
class Forfeit:
    """Record that a seat loses a game for a fault of its bot.

    Attributes:
        seat: the seat that forfeits.
        reason: machine-readable reason.
        detail: one sentence for the author.
        ply: number of actions applied before the forfeit.
    """

    seat: int
    reason: ForfeitReason
    detail: str
    ply: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Hold the points and places of a finished game.

    Attributes:
        points: by seat, more is better.
        places: by seat, 1 is best, equal results share the place.
    """

    points: tuple[int, ...]
    places: tuple[int, ...]


def places_of(points: Sequence[float]) -> tuple[int, ...]:
    """Return the place of each entry, 1 for the highest, equal points sharing the better place.

    >>> places_of([-3, 0, -3, -7])
    (2, 1, 2, 4)
    """
    ordered = sorted(points, reverse=True)
    first = {value: index for index, value in reversed(list(enumerate(ordered, start=1)))}
    return tuple(first[value] for value in points)
