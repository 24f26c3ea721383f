"""The bots of a ladder, and how well some of them sit at one table.

What a match of two would tell is half the logarithm of 1 + p (1 - p) V: p the expected score by
mean ratings, V the variance of the difference that is not known yet (the information of one
comparison under the Bradley-Terry model; D. MacKay, "Information-Based Objective Functions", Neural
Computation 4, 1992).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from heapq import nlargest
from itertools import permutations
from typing import Final

from arena.ratings.bradley_terry import ELO_PER_UNIT
from arena.ratings.elo import MICRO, START

FIRST_DEVIATION: Final = 350.0
"""Elo, one standard deviation of what is not known of a bot without matches."""

LAST_DEVIATION: Final = 30.0
"""Elo, the least; below it a bot whose form changes would never be found out."""

_SWAPPED: Final = 24
_PASSES: Final = 3


@dataclass(slots=True, eq=False)
class Candidate:
    """A bot on a ladder as the matchmaking sees it.

    Attributes:
        version: the id of its active version.
        house: whether it is one of the arena's own, which may meet each other.
        rating: in micro-Elo.
        matches: rated matches of the version, those under way included.
        last: when its last match was made, in seconds; any clock that only grows.
        deviation: Elo, one standard deviation from the batch strengths; None to go by ``matches``.
        opponents: the latest, the newest last.
        seats: how often it sat in each.
    """

    bot: str
    version: str
    owner: str
    house: bool = False
    rating: int = START
    matches: int = 0
    last: float = 0.0
    deviation: float | None = None
    opponents: list[str] = field(default_factory=list)
    seats: dict[int, int] = field(default_factory=dict)

    @property
    def elo(self) -> float:
        """The rating in Elo."""
        return self.rating / MICRO

    @property
    def uncertainty(self) -> float:
        """Elo, one standard deviation of what is not known of its strength."""
        guessed = FIRST_DEVIATION / math.sqrt(1 + self.matches)
        return max(LAST_DEVIATION, guessed if self.deviation is None else self.deviation)

    def may_meet(self, other: Candidate) -> bool:
        """Return whether the two may meet in a rated match."""
        are_strangers = self.owner != other.owner or (self.house and other.house)
        return are_strangers and self.bot != other.bot


def information(one: Candidate, other: Candidate) -> float:
    """Return what a match of the two would tell of their strengths, in nats."""
    chance = 1 / (1 + 10 ** ((other.elo - one.elo) / 400))
    variance = (one.uncertainty**2 + other.uncertainty**2) / ELO_PER_UNIT**2
    return math.log1p(chance * (1 - chance) * variance) / 2


def value(one: Candidate, other: Candidate) -> float:
    """Return the information of a match of the two, less for each time they met lately."""
    return information(one, other) / (1 + one.opponents.count(other.bot))


def fits(other: Candidate, table: list[Candidate]) -> bool:
    """Return whether a bot may meet everybody at a table."""
    return all(other.may_meet(each) for each in table)


def greedy(first: Candidate, found: list[Candidate], entrants: int) -> list[Candidate]:
    """Seat one opponent after the other, each the one who tells most beside those seated."""
    table, worth = [first], dict.fromkeys((each.bot for each in found), 0.0)
    left = found
    while len(table) < entrants:
        left = [each for each in left if each.may_meet(table[-1])]
        if not left:
            break
        for each in left:
            worth[each.bot] += value(table[-1], each)
        table.append(max(left, key=lambda each: (worth[each.bot], each.bot)))
    return table


def improve(table: list[Candidate], found: list[Candidate]) -> list[Candidate]:
    """Swap opponents for others as long as the table as a whole tells more."""
    if len(table) == 2:
        return table
    likely = nlargest(_SWAPPED, found, key=lambda each: (value(table[0], each), each.bot))
    of_pair = cache(value)

    def worth(other: Candidate, rest: list[Candidate]) -> float:
        return sum(of_pair(each, other) for each in rest)

    for _ in range(_PASSES):
        before = table
        for at in range(1, len(table)):
            rest = table[:at] + table[at + 1 :]
            options = [(worth(each, rest), each.bot, each) for each in likely if fits(each, rest)]
            best, _, other = max(options, default=(0.0, "", table[at]), key=lambda o: o[:2])
            if best > worth(table[at], rest) + 1e-12:
                table = [*table[:at], other, *table[at + 1 :]]
        if table == before:
            break
    return table


def arrange(table: list[Candidate]) -> tuple[Candidate, ...]:
    """Return the order in which seats are used that its bots have used least."""
    orders = permutations(table) if len(table) <= 4 else [tuple(table)]

    def used(order: tuple[Candidate, ...]) -> tuple[int, int]:
        counts = [each.seats.get(seat, 0) for seat, each in enumerate(order)]
        return max(counts), sum(2 * count + 1 for count in counts)

    return min(orders, key=used)
