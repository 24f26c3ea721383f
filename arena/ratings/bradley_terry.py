"""Strengths with error bars from all results at once: Bradley-Terry by maximum likelihood.

Every set (one board played in all its rotations) gives each pair of its entrants a mean score s of
the first against the second, ties counting one half, and adds ``s ln p + (1 - s) ln(1 - p)`` with
``p = sigmoid(theta_i - theta_j)``. A ridge ``-(ridge / 2) sum theta**2`` keeps the maximum finite.

The games of a set share their cards and the pairs of a table their game, so the curvature alone
would overstate what is known. Errors come from the sandwich ``H+ J H+`` with ``J`` summed over
clusters (sets, or all sets of one board where several matches played it), times G / (G - 1).

Sources: R. Bradley and M. Terry, Biometrika 39 (1952); L. Ford, American Mathematical Monthly 64
(1957) for when a maximum exists; K.-Y. Liang and S. Zeger, Biometrika 73 (1986) for the sandwich.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arena.errors import InputError
from arena.ratings.elo import MICRO, scores_from_places

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

Array: TypeAlias = NDArray[np.float64]

ELO_PER_UNIT: Final = 400 / math.log(10)
"""Elo points for one unit of theta, 173.7178."""

VIRTUAL_DRAW: Final = 0.25
"""The ridge worth one draw against an average entrant.

Such a draw adds ``(ln p + ln(1 - p)) / 2``, which near theta = 0 is a constant minus
``theta**2 / 8``; a ridge takes ``(ridge / 2) theta**2`` away, so the two agree at 1/4.
"""

THIN_CLUSTERS: Final = 8
"""Below this many independent sets an entrant gets words instead of an error."""

_STEPS: Final = 200
_CHUNK: Final = 4096


@dataclass(frozen=True, slots=True)
class ScoredSet:
    """The mean scores of one set.

    Attributes:
        cluster: sets with equal clusters are not independent: the board, or the set itself.
        pairs: ``(i, j, s)``: the mean score s, 0 to 1, of entrant i against j over the set's games.
    """

    cluster: Hashable
    pairs: tuple[tuple[int, int, float], ...]

    @classmethod
    def of(
        cls, cluster: Hashable, *, entrants: Sequence[int], places: Sequence[Sequence[int]]
    ) -> Self:
        """Score a set by the places in its games, each in the order of ``entrants``.

        Raises:
            InputError: as ``elo.scores_from_places``, or places for another number of entrants.
        """
        scores = scores_from_places(places)
        if len(scores) != len(entrants):
            raise InputError(f"{len(entrants)} entrants need as many places, not {len(scores)}")
        pairs = combinations(enumerate(entrants), 2)
        return cls(cluster, tuple((i, j, scores[a][b] / MICRO) for (a, i), (b, j) in pairs))


class Difference(NamedTuple):
    """A lead in Elo and its standard error, None where there is none to state."""

    elo: float
    se: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Strengths of all entrants.

    Differences are what the results are about: compare two entrants by ``difference``, never by
    adding two single error bars.

    Attributes:
        elo: strength by entrant, in Elo above the average entrant (they sum to 0).
        covariance: of ``elo``, in squared Elo, n by n.
        clusters: independent sets played, by entrant.
        notes: by entrant, in words, why it has no error bar; empty when it has one.
        groups: by entrant, a label: results compare only entrants of one group with a finite error.
    """

    elo: Array
    covariance: Array
    clusters: tuple[int, ...]
    notes: tuple[str, ...]
    groups: tuple[int, ...]

    def difference(self, i: int, j: int) -> Difference:
        """Return the lead of i over j; without an error where the results give none."""
        weights = np.zeros(len(self.elo))
        weights[i] += 1
        weights[j] -= 1
        known = i == j or (self.groups[i] == self.groups[j] and self._clusters(i, j) > 0)
        return Difference(
            float(self.elo[i] - self.elo[j]), self._deviation(weights) if known else None
        )

    def margin(self, i: int, j: int) -> float | None:
        """Return half of the 95 % interval of ``difference(i, j)``, in Elo."""
        se = self.difference(i, j).se
        return None if se is None else se * student95(self._clusters(i, j) - 1)

    def cfs(self, i: int, j: int) -> float | None:
        """Return the chance that i is stronger than j, 0 to 1; None where no error is known."""
        lead, se = self.difference(i, j)
        return NormalDist().cdf(lead / se) if se else None

    def error(self, i: int) -> float | None:
        """Return half of the 95 % interval of i against the average entrant, in Elo.

        The average is over the largest group, usually everyone; None where ``notes`` says why.
        """
        if self.notes[i]:
            return None
        group = (np.array(self.groups) == self.groups[i]).astype(np.float64)
        weights = -group / group.sum()
        weights[i] += 1
        se = self._deviation(weights)
        return None if se is None else se * student95(self.clusters[i] - 1)

    def _clusters(self, i: int, j: int) -> int:
        fewest = min(self.clusters[i], self.clusters[j])
        return fewest if fewest >= THIN_CLUSTERS else 0

    def _deviation(self, weights: Array) -> float | None:
        variance = float(weights @ self.covariance @ weights)
        # Sets that all say the same have no spread; what is left then is rounding.
        return math.sqrt(variance) if variance > 1e-9 else None


def student95(degrees: int) -> float:
    """Return half the width of a 95 % interval, in standard errors, for few degrees of freedom.

    The expansion of Student's t around the normal (Abramowitz and Stegun 26.7.5), within 0.001 of
    the exact value from 7 degrees on; it keeps intervals honest when few boards were played.
    """
    z, v = NormalDist().inv_cdf(0.975), max(degrees, 1)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """All pairs of all sets, flattened: entrants, score and cluster number of each."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    score: Array
    cluster: NDArray[np.intp]
    entrants: int

    def table(self, values: Array) -> Array:
        """Return the n by n sums of a value per row, at (first, second)."""
        total = np.zeros((self.entrants, self.entrants))
        np.add.at(total, (self.first, self.second), values)
        return total


def fit(
    sets: Sequence[ScoredSet],
    *,
    entrants: int,
    ridge: float = VIRTUAL_DRAW,
    small_sample: bool = True,
) -> Fit:
    """Fit the strengths of entrants 0..n-1 to their sets; time grows with the cube of n.

    Args:
        sets: in any order.
        entrants: n.
        ridge: pull towards the average, in virtual draws times 1/4; 0 for plain maximum likelihood.
        small_sample: multiply the covariance by G / (G - 1), G clusters.

    Raises:
        InputError: an entrant or a score out of range, or as `fit_sums`.
    """
    if entrants < 1 or ridge < 0:
        raise InputError(f"give one entrant or more and a ridge from 0, not {entrants}, {ridge}")
    rows = _flatten(sets, entrants)
    weight = rows.table(np.ones_like(rows.score))
    taken = rows.table(rows.score)
    taken += (weight - taken).T
    weight = weight + weight.T
    return fit_sums(
        taken=taken,
        weight=weight,
        clusters=_clusters_by_entrant(rows),
        middle=lambda theta: _middle(rows, theta, small_sample=small_sample),
        ridge=ridge,
    )


def fit_sums(
    *,
    taken: Array,
    weight: Array,
    clusters: tuple[int, ...],
    middle: Callable[[Array], Array],
    ridge: float = VIRTUAL_DRAW,
) -> Fit:
    """Fit strengths to sums over sets.

    Args:
        taken: n by n: the sum of scores of i against j.
        weight: n by n: how many scores that is the sum of.
        clusters: independent sets played, by entrant.
        middle: the sandwich's middle at given strengths, in units of theta.
        ridge: as for `fit`.

    Raises:
        InputError: no ridge where only a ridge gives a maximum.
    """
    entrants = len(taken)
    groups = _groups(taken > 0)
    if ridge == 0 and len(set(groups)) > 1:
        raise InputError("some entrants never gave the rest a point: give a ridge above 0")
    theta, information = _maximise(taken, weight, ridge)
    bread = np.linalg.inv(information)
    covariance: Array = bread @ middle(theta) @ bread
    found = Fit(
        elo=theta * ELO_PER_UNIT,
        covariance=covariance * ELO_PER_UNIT**2,
        clusters=clusters,
        notes=_notes(clusters, groups, taken > 0),
        groups=groups,
    )
    alike = ["" if found.error(i) else "alike: every set said the same" for i in range(entrants)]
    notes = tuple(note or same for note, same in zip(found.notes, alike, strict=True))
    return replace(found, notes=notes)


def _flatten(sets: Sequence[ScoredSet], entrants: int) -> _Rows:
    numbers: dict[Hashable, int] = {}
    rows = [
        (i, j, s, numbers.setdefault(scored.cluster, len(numbers)))
        for scored in sets
        for i, j, s in scored.pairs
    ]
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    first, second, score = table[:, 0], table[:, 1], table[:, 2]
    both = np.concatenate([first, second])
    if np.any((both < 0) | (both >= entrants)) or np.any(first == second):
        raise InputError(f"pairs are of two different entrants, numbered from 0 to {entrants - 1}")
    if not np.all((score >= 0) & (score <= 1)):
        raise InputError("a set's score is a mean from 0 to 1")
    return _Rows(
        first=first.astype(np.intp),
        second=second.astype(np.intp),
        score=score.copy(),
        cluster=table[:, 3].astype(np.intp),
        entrants=entrants,
    )


def _maximise(taken: Array, weight: Array, ridge: float) -> tuple[Array, Array]:
    """Return theta and the information there, made invertible by the sum it cannot know."""
    n = len(taken)
    theta = np.zeros(n)
    height = _likelihood(theta, taken, ridge)
    information = _information(theta, weight, ridge)
    for _ in range(_STEPS):
        chance = _sigmoid(theta[:, None] - theta[None, :])
        slope = (taken - weight * chance).sum(axis=1) - ridge * theta
        step = np.linalg.solve(information, slope)
        step -= step.mean()
        # A full step can overshoot far from the maximum; a short enough one always climbs.
        rounding = 1e-9 + 1e-12 * abs(height)
        while (reached := _likelihood(theta + step, taken, ridge)) < height - rounding:
            step /= 2
        theta, height = theta + step, reached
        information = _information(theta, weight, ridge)
        if np.abs(step).max() < 1e-11:
            break
    return theta, information


def _information(theta: Array, weight: Array, ridge: float) -> Array:
    chance = _sigmoid(theta[:, None] - theta[None, :])
    mutual = weight * chance * (1 - chance)
    n = len(theta)
    information: Array = np.diag(mutual.sum(axis=1) + ridge) - mutual + np.full((n, n), 1 / n)
    return information


def _likelihood(theta: Array, taken: Array, ridge: float) -> float:
    # Each pair stands twice, as (i, j) and (j, i), with its own share of the points.
    logarithm = -np.logaddexp(0, theta[None, :] - theta[:, None])
    return float((taken * logarithm).sum() - ridge / 2 * (theta**2).sum())


def _sigmoid(x: Array) -> Array:
    positive = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + positive), positive / (1 + positive))


def _middle(rows: _Rows, theta: Array, *, small_sample: bool) -> Array:
    residual = rows.score - _sigmoid(theta[rows.first] - theta[rows.second])
    count = int(rows.cluster.max(initial=-1)) + 1
    middle = np.zeros((rows.entrants, rows.entrants))
    for start in range(0, count, _CHUNK):
        inside = (rows.cluster >= start) & (rows.cluster < start + _CHUNK)
        slopes = np.zeros((min(_CHUNK, count - start), rows.entrants))
        at = rows.cluster[inside] - start
        np.add.at(slopes, (at, rows.first[inside]), residual[inside])
        np.add.at(slopes, (at, rows.second[inside]), -residual[inside])
        middle += slopes.T @ slopes
    if small_sample and count > 1:
        middle *= count / (count - 1)
    return middle


def _clusters_by_entrant(rows: _Rows) -> tuple[int, ...]:
    both = np.concatenate([rows.first, rows.second])
    played = np.unique(np.stack([both, np.tile(rows.cluster, 2)]), axis=1)
    return tuple(np.bincount(played[0], minlength=rows.entrants).tolist())


def _groups(took: NDArray[np.bool_]) -> tuple[int, ...]:
    """Label the strongly connected groups of "took something from"; one group has a maximum."""
    labels = np.full(len(took), -1)
    for entrant in range(len(took)):
        if labels[entrant] < 0:
            group = _reached(took, entrant) & _reached(took.T, entrant)
            labels[group] = entrant
    return tuple(labels.tolist())


def _reached(edges: NDArray[np.bool_], start: int) -> NDArray[np.bool_]:
    reached = np.zeros(len(edges), dtype=np.bool_)
    reached[start] = True
    size = 0
    while size < (size := int(reached.sum())):
        reached = reached | edges[reached].any(axis=0)
    return reached


def _notes(
    clusters: tuple[int, ...], groups: tuple[int, ...], took: NDArray[np.bool_]
) -> tuple[str, ...]:
    labels = np.array(groups)
    main = max(groups, key=lambda label: (groups.count(label), -label))
    alone = groups.count(main) == 1 < len(groups)
    notes = []
    for played, label in zip(clusters, groups, strict=True):
        if played == 0:
            notes.append("unplayed: no set yet")
        elif label != main or alone:
            notes.append(_separation(took, labels == label))
        elif played < THIN_CLUSTERS:
            notes.append(f"thin: {played} independent sets, an error needs {THIN_CLUSTERS}")
        else:
            notes.append("")
    return tuple(notes)


def _separation(took: NDArray[np.bool_], group: NDArray[np.bool_]) -> str:
    gained, gave = bool(took[group][:, ~group].any()), bool(took[~group][:, group].any())
    if gained and not gave:
        return "separated: gave the rest no point yet, so its strength has no upper end"
    if gave and not gained:
        return "separated: took no point from the rest yet, so its strength has no lower end"
    return "separated: no results lead from the rest to it and back"
