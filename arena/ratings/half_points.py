"""Half points of two places: 2 for the better one, 1 for an equal one, 0 for the worse one.

Results hold them as `sets`: by board and, within a board, by pair of entrants i < j in
lexicographic order, summed over the board's rotations.
"""

from __future__ import annotations

from typing import Protocol


class Scored(Protocol):
    """A result with the half points of its sets."""

    @property
    def pair_scores(self) -> tuple[int, ...]:
        """By pair of entrants, in millionths of a game."""

    @property
    def sets(self) -> tuple[int, ...]:
        """Half points by board and pair; empty for one board, whose pair scores say the same."""

    @property
    def games(self) -> int:
        """How many games were played."""


def half_points(place: int, other: int) -> int:
    """Return the half points of a place against another one; the smaller place is better."""
    return 2 * (place < other) + (place == other)


def most_half_points(result: Scored) -> int:
    """Return what a pair's half points of one set are at the most; 0 for a result without sets."""
    boards = len(result.sets) // len(result.pair_scores)
    return 2 * result.games // boards if boards else 0


def board_scores(result: Scored) -> list[list[float]]:
    """Return scores by board and, within it, by pair of entrants, 0 to 1.

    A result without sets, of one board, has the same in its pairs' scores.
    """
    pairs, most = len(result.pair_scores), most_half_points(result)
    if not result.sets:
        return [[score / 1e6 for score in result.pair_scores]]
    return [
        [half / most for half in result.sets[at : at + pairs]]
        for at in range(0, len(result.sets), pairs)
    ]
