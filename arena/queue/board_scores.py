"""Batch strengths of a ladder's bots, with error bars, and what results say towards them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from arena.queue.entries import LoggedResult

MOST_BOTS: Final = 300
"""Beyond this the fit takes too long to be made on the way; its time grows with the cube."""

_HALF_WIDTH: Final = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Strength:
    """What the results say of a bot, all its versions together.

    Attributes:
        elo: its lead over the average bot.
        error: half of the 95 % interval, in Elo; None where ``note`` says why.
        note: in words, why there is no error bar.
    """

    elo: float
    error: float | None
    note: str

    @property
    def deviation(self) -> float | None:
        """One standard error, in Elo."""
        return None if self.error is None else self.error / _HALF_WIDTH


def board_scores(result: LoggedResult) -> list[list[float]]:
    """Return the scores of a match by board, 0 to 1, each of the pairs of entrants in order."""
    pairs = len(result.pair_scores)
    if not result.sets:
        return [[score / 1e6 for score in result.pair_scores]]
    boards = len(result.sets) // pairs
    most = 2 * result.games // boards
    return [
        [half / most for half in result.sets[at : at + pairs]]
        for at in range(0, len(result.sets), pairs)
    ]
