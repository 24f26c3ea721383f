"""Sums sets up, so that strengths can be fitted without keeping the sets.

For each table of entrants that ever met: how many sets, the sum of their scores by pair, and the
sum of the products of any two pairs' scores. The likelihood needs the first two; the sandwich's
middle, ``sum u u^T``, follows from all three for whatever strengths the fit finds, as a residual is
a score minus a chance that is the same for all of a table's sets. Sums can be subtracted again, so
that annulling a result needs no other one.

Every set is a cluster of its own, as on a ladder, where each match has its own boards.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.errors import InputError
from arena.ratings import bradley_terry as bt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_NOTHING = 1e-9
"""Below this a sum of scores is rounding."""


@dataclass(slots=True)
class _MatchSums:
    """Sums over the sets of one table: pairs i < j of its entrants in lexicographic order."""

    sets: int
    scores: NDArray[np.float64]
    products: NDArray[np.float64]


class SetSums:
    """Sums over sets, by the names of entrants."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, ...], _MatchSums] = {}

    def __len__(self) -> int:
        return len(self._tables)

    def add(self, entrants: Sequence[str], scores: Sequence[float], *, times: int = 1) -> None:
        """Add a set, or with ``times`` -1 subtract one.

        ``scores`` are 0 to 1, of the pairs i < j of the different entrants in lexicographic order.

        Raises:
            InputError: an entrant twice, or scores that do not fit.
        """
        order = sorted(range(len(entrants)), key=lambda place: entrants[place])
        names = tuple(entrants[place] for place in order)
        pairs = list(combinations(range(len(entrants)), 2))
        if len(set(names)) != len(names) or len(scores) != len(pairs):
            raise InputError(f"a set has different entrants and a score a pair, not {entrants}")
        known = dict(zip(pairs, scores, strict=True))
        values = np.array(
            [
                known[a, b] if a < b else 1 - known[b, a]
                for a, b in ((order[i], order[j]) for i, j in pairs)
            ]
        )
        table = self._tables.get(names)
        if table is None:
            table = _MatchSums(0, np.zeros(len(pairs)), np.zeros((len(pairs), len(pairs))))
            self._tables[names] = table
        table.sets += times
        table.scores += times * values
        table.products += times * np.outer(values, values)
        if table.sets == 0:
            del self._tables[names]

    def fit(self, names: Sequence[str], *, ridge: float = bt.VIRTUAL_DRAW) -> bt.Fit:
        """Fit strengths in the order of ``names``; equal to `bradley_terry.fit` of all the sets.

        Sets with an entrant who is not named are left out.
        """
        numbers = {name: number for number, name in enumerate(names)}
        tables = [
            (tuple(numbers[name] for name in table), sums)
            for table, sums in self._tables.items()
            if numbers.keys() >= set(table)
        ]
        count = len(names)
        taken, weight = np.zeros((count, count)), np.zeros((count, count))
        clusters = [0] * count
        for entrants, sums in tables:
            for entrant in entrants:
                clusters[entrant] += sums.sets
            for (i, j), score in zip(combinations(entrants, 2), sums.scores, strict=True):
                taken[i, j] += score
                taken[j, i] += sums.sets - score
                weight[i, j] += sums.sets
                weight[j, i] += sums.sets
        taken[taken < _NOTHING] = 0
        return bt.fit_sums(
            taken=taken,
            weight=weight,
            clusters=tuple(clusters),
            middle=lambda theta: _middle(tables, theta) * _small_sample(tables),
            ridge=ridge,
        )

    def document(self) -> Iterator[tuple[str, int, list[float], list[list[float]]]]:
        """Yield the sums as JSON values, a row for each table, names joined by spaces."""
        for names, table in self._tables.items():
            yield " ".join(names), table.sets, table.scores.tolist(), table.products.tolist()

    @classmethod
    def of(cls, document: Sequence[Any]) -> SetSums:
        """Parse what `document` gave."""
        sums = cls()
        for names, sets, scores, products in document:
            sums._tables[tuple(names.split(" "))] = _MatchSums(
                sets, np.array(scores), np.array(products)
            )
        return sums


def _small_sample(tables: Sequence[tuple[tuple[int, ...], _MatchSums]]) -> float:
    count = sum(sums.sets for _, sums in tables)
    return count / (count - 1) if count > 1 else 1.0


def _middle(
    tables: Sequence[tuple[tuple[int, ...], _MatchSums]], theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sum of u u^T over all sets, u a set's slope of the likelihood."""
    total = np.zeros((len(theta), len(theta)))
    for entrants, sums in tables:
        pairs = list(combinations(range(len(entrants)), 2))
        lead = np.array([theta[entrants[i]] - theta[entrants[j]] for i, j in pairs])
        chance = 1 / (1 + np.exp(-np.clip(lead, -500, 500)))
        cross = np.outer(sums.scores, chance)
        residuals = sums.products - cross - cross.T + sums.sets * np.outer(chance, chance)
        slopes = np.zeros((len(entrants), len(pairs)))
        for at, (i, j) in enumerate(pairs):
            slopes[i, at], slopes[j, at] = 1, -1
        total[np.ix_(entrants, entrants)] += slopes @ residuals @ slopes.T
    return total
