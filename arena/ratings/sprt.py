"""Compares two bots: Elo, likelihood of superiority, sequential test.

The unit of observation is the pair: one board played twice with the seats swapped, its mean score x
one of 0, 1/4, 1/2, 3/4, 1 (five counts, a pentanomial). Single games (three counts, a trinomial)
go through the same formulas where there are no pairs.

The sequential test is the generalised SPRT: the log-likelihood ratio of the best-fitting
distributions with means belonging to ``elo1`` and ``elo0``. Sources: M. Van den Bergh, "A
practical introduction to the GSPRT"; A. Wald, "Sequential Tests of Statistical Hypotheses" (1945)
for the bounds; fastchess (its test suite holds the reference values).

An Elo measured after a sequential test has stopped is biased away from zero, because the test
stops at a lucky moment: show it with that remark.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import ClassVar, Final, Protocol

from arena.errors import InputError

Z95: Final = 1.959964
"""Half the width of a 95 % interval, in standard errors."""

NELO_SCALE: Final = 800 / math.log(10)
"""Elo points for one standard deviation of a game's score, at an even match."""

EMPTY_CELL: Final = 1e-3
"""What an empty count stands for in the sequential test, so that its logarithm exists."""

ELO_LIMIT: Final = 2000.0
"""Hypotheses stay within this lead, where their scores are well away from 0 and 1."""

_BISECTIONS: Final = 100


class Counts(Protocol):
    """How often each score was observed, and how many games one observation takes."""

    @property
    def games_each(self) -> int:
        """How many games one observation takes."""

    def cells(self) -> tuple[tuple[float, int], ...]:
        """Return ``(score, count)`` by rising score; scores run from 0 to 1."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Six counts of pairs, named by the two games' results for the first bot, in any order.

    A win and a loss (``wl``) and two draws (``dd``) are the same score, 1/2.
    """

    ll: int = 0
    ld: int = 0
    wl: int = 0
    dd: int = 0
    wd: int = 0
    ww: int = 0

    games_each: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _check_counts(self)

    def cells(self) -> tuple[tuple[float, int], ...]:
        """Return the five counts by score."""
        counts = (self.ll, self.ld, self.wl + self.dd, self.wd, self.ww)
        return tuple((half / 4, count) for half, count in enumerate(counts))


@dataclass(frozen=True, slots=True)
class GameCounts:
    """Wins, losses and draws of the first bot in single games."""

    wins: int = 0
    losses: int = 0
    draws: int = 0

    games_each: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _check_counts(self)

    def cells(self) -> tuple[tuple[float, int], ...]:
        """Return the three counts by score."""
        return ((0.0, self.losses), (0.5, self.draws), (1.0, self.wins))


class SetCounts:
    """Counts of sets of any number of games, by the first side's half points in the set.

    With two games a set these are pairs: 0 to 4 half points.
    """

    def __init__(self, *, games_each: int) -> None:
        self.games_each = games_each
        self._counts = [0] * (2 * games_each + 1)

    def add(self, half_points: int) -> None:
        """Count a set: 2 half points for a game won, 1 for a draw."""
        if not 0 <= half_points < len(self._counts):
            raise InputError(f"a set gives 0 to {len(self._counts) - 1} half points")
        self._counts[half_points] += 1

    def cells(self) -> tuple[tuple[float, int], ...]:
        """Return the counts by score."""
        most = len(self._counts) - 1
        return tuple((half / most, count) for half, count in enumerate(self._counts))


def _check_counts(counts: PairCounts | GameCounts) -> None:
    if min(astuple(counts)) < 0:
        raise InputError(f"counts start from 0, but these are {counts}")


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated lead of the first of two bots; errors are halves of 95 % intervals.

    Attributes:
        observations: pairs, or single games.
        mean: the first bot's mean score, 0 to 1.
        elo: its lead; infinite (with the sign) when it won or lost everything.
        elo_error: None when it is not finite or not known.
        nelo: normalised Elo, the lead in standard deviations of one game; None without spread.
        los: likelihood of superiority, 0 to 1; None without spread.
        note: in words, why a number is missing; empty when none is.
    """

    observations: int
    mean: float
    elo: float
    note: str = ""
    elo_error: float | None = None
    nelo: float | None = None
    nelo_error: float | None = None
    los: float | None = None


def elo_from_score(score: float) -> float:
    """Return the Elo lead of a mean score; infinite at 0 and 1 and beyond."""
    if score <= 0:
        return -math.inf
    return math.inf if score >= 1 else -400 * math.log10(1 / score - 1)


def score_from_elo(elo: float) -> float:
    """Return the mean score that belongs to an Elo lead."""
    return 1 / (1 + 10 ** (-elo / 400))


def estimate(counts: Counts) -> Estimate:
    """Return Elo, normalised Elo and likelihood of superiority with 95 % errors."""
    cells = counts.cells()
    total = sum(count for _, count in cells)
    if total == 0:
        raise InputError("there is nothing to estimate from: count at least one game or pair")
    mean = sum(score * count for score, count in cells) / total
    variance = sum(count * (score - mean) ** 2 for score, count in cells) / total
    if max(count for _, count in cells) == total:
        note = "every result was the same, so there is no spread to estimate an error from"
        return Estimate(total, mean, elo_from_score(mean), note)
    error = math.sqrt(variance / total)
    width = elo_from_score(mean + Z95 * error) - elo_from_score(mean - Z95 * error)
    deviation = math.sqrt(variance * counts.games_each)
    return Estimate(
        observations=total,
        mean=mean,
        elo=elo_from_score(mean),
        elo_error=width / 2 if math.isfinite(width) else None,
        nelo=(mean - 0.5) / deviation * NELO_SCALE,
        nelo_error=Z95 * error / deviation * NELO_SCALE,
        los=NormalDist().cdf((mean - 0.5) / error),
        note="" if math.isfinite(width) else "too few results: the interval has no end",
    )


def llr(counts: Counts, *, elo0: float, elo1: float) -> float:
    """Return the log-likelihood ratio of a lead of ``elo1`` against one of ``elo0`` (logistic Elo).

    Empty counts stand for ``EMPTY_CELL``; nothing counted gives 0.

    Raises:
        InputError: the hypotheses are not two different numbers, the lower first, within 2000.
    """
    if not -ELO_LIMIT <= elo0 < elo1 <= ELO_LIMIT:
        raise InputError(f"elo0 must be below elo1, both within 2000, not {elo0} and {elo1}")
    cells = counts.cells()
    if not any(count for _, count in cells):
        return 0.0
    weights = [(score, count or EMPTY_CELL) for score, count in cells]
    mean0, mean1 = score_from_elo(elo0), score_from_elo(elo1)
    tilt0, tilt1 = _tilt(weights, mean0), _tilt(weights, mean1)
    return sum(
        weight * (math.log1p(tilt0 * (score - mean0)) - math.log1p(tilt1 * (score - mean1)))
        for score, weight in weights
    )


def _tilt(weights: list[tuple[float, float]], mean: float) -> float:
    """Return t for which ``weight / (1 + t (score - mean))`` has the given mean.

    The best-fitting distribution of that mean, by the method of Lagrange; the sum that must vanish
    falls in t between the poles, and changes its sign there because scores 0 and 1 have weight.
    """
    low, high = -1 / (1 - mean), 1 / mean
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        excess = sum(w * (x - mean) / (1 + middle * (x - mean)) for x, w in weights)
        low, high = (middle, high) if excess > 0 else (low, middle)
    return (low + high) / 2


def bounds(*, alpha: float = 0.05, beta: float = 0.05) -> tuple[float, float]:
    """Return the log-likelihood ratios at which to accept ``elo0`` (lower) and ``elo1`` (upper).

    ``alpha`` is the chance of accepting ``elo1`` though ``elo0`` is true, ``beta`` the other one;
    together they are below 1.
    """
    if not (alpha > 0 and beta > 0 and alpha + beta < 1):
        raise InputError(f"alpha and beta are chances, such as 0.05, not {alpha} and {beta}")
    return math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)


class SprtVerdict(StrEnum):
    """The result of a sequential test so far."""

    ELO0 = "elo0"
    """Stop: the lead is not ``elo1``."""
    ELO1 = "elo1"
    """Stop: the lead is at least ``elo1``, as far as the test can tell."""
    CONTINUE = "continue"


def verdict(ratio: float, *, alpha: float = 0.05, beta: float = 0.05) -> SprtVerdict:
    """Return the decision of a log-likelihood ratio; raises as ``bounds``."""
    lower, upper = bounds(alpha=alpha, beta=beta)
    if ratio >= upper:
        return SprtVerdict.ELO1
    return SprtVerdict.ELO0 if ratio <= lower else SprtVerdict.CONTINUE
