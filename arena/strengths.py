"""Batch strengths of a ladder's bots, with error bars, from the results in its log."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from arena.ratings.bradley_terry import ScoredSet, fit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def strengths(results: Iterable[LoggedResult], bots: Sequence[str]) -> dict[str, Strength]:
    """Fit the strengths of bots to the results among them.

    Args:
        results: rated results that nobody annulled; those with other bots are left out.
        bots: at most `MOST_BOTS` of them, or it takes long.
    """
    if not bots:
        return {}
    numbers = {bot: number for number, bot in enumerate(bots)}
    sets = [
        scored
        for result in results
        if result.rated and result.annulled is None and numbers.keys() >= set(result.bots)
        for scored in _sets(result, [numbers[bot] for bot in result.bots])
    ]
    found = fit(sets, entrants=len(bots))
    return {
        bot: Strength(float(found.elo[at]), found.error(at), found.notes[at])
        for bot, at in numbers.items()
    }


def _sets(result: LoggedResult, entrants: list[int]) -> list[ScoredSet]:
    """Return the boards of a match, each an independent set."""
    pairs = list(combinations(entrants, 2))
    if not result.sets:
        return [
            ScoredSet(
                result.match_id,
                tuple(
                    (i, j, score / 1e6)
                    for (i, j), score in zip(pairs, result.pair_scores, strict=True)
                ),
            )
        ]
    boards = len(result.sets) // len(pairs)
    most = 2 * result.games // boards
    rows = [result.sets[at : at + len(pairs)] for at in range(0, len(result.sets), len(pairs))]
    return [
        ScoredSet(
            (result.match_id, board),
            tuple((i, j, half / most) for (i, j), half in zip(pairs, row, strict=True)),
        )
        for board, row in enumerate(rows)
    ]
