"""Pairs the bots of a ladder: who plays next, and against whom.

The bot that needs a match most is seated first; its opponents are those of whom the match would
tell most, which is half the logarithm of 1 + p (1 - p) V: p the expected score by mean ratings, V
the variance of the difference that is not known yet (the information of one comparison under the
Bradley-Terry model; D. MacKay, "Information-Based Objective Functions", Neural Computation 4,
1992). Repeats count for less and are capped, every tenth match is drawn at random, and bots of one
owner never meet.

A decision looks at a shortlist, never at the whole ladder, so that its time does not grow with the
number of bots.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import permutations
from typing import TYPE_CHECKING, Final, TypeVar

from arena.ratings.bradley_terry import ELO_PER_UNIT
from arena.ratings.elo import MICRO, START
from referee.games.random_streams import RandomStream

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FIRST_DEVIATION: Final = 350.0
"""Elo, one standard deviation of what is not known of a bot without matches."""

LAST_DEVIATION: Final = 30.0
"""Elo; below this a bot that changes its form would never be found out."""

QUOTA: Final = 30
"""Matches that every version shall have before others have more."""

PLACEMENT_MATCHES: Final = 10
"""Matches of a new version against quantiles around the rating it inherited."""

RANDOM_SHARE: Final = 10
"""One match in so many is drawn at random."""

WINDOW: Final = 60
"""Latest opponents of a bot among which repeats are counted."""

_Key = TypeVar("_Key", tuple[int, str], tuple[bool, float, str])
_DAY: Final = 86_400.0
_NEIGHBOURS: Final = 48
_NEEDIEST: Final = 48
_STRANGERS: Final = 16
_SHOWN: Final = 8
_SWAPPED: Final = 24
_PASSES: Final = 3
_SPREAD: Final = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.4, -0.4, 0.5)
"""Placement: how far from its own place the opponents stand, as shares of the ladder."""


@dataclass(slots=True)
class Candidate:
    """A bot on a ladder as the matchmaking sees it.

    Attributes:
        bot: its name.
        version: the id of its active version.
        owner: who owns it.
        house: whether it is one of the arena's own, which may meet each other.
        rating: in micro-Elo.
        matches: rated matches of the version, those under way included.
        last: when its last match was made, in seconds; any clock that only grows.
        deviation: Elo, one standard deviation from the batch strengths; None to go by ``matches``.
        opponents: its latest opponents, the newest last.
        seats: how often it sat in each seat.
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
        known = self.deviation
        if known is None:
            known = FIRST_DEVIATION / math.sqrt(1 + self.matches)
        return max(LAST_DEVIATION, known)

    def may_meet(self, other: Candidate) -> bool:
        """Return whether the two may meet in a rated match."""
        if self.owner == other.owner and not (self.house and other.house):
            return False
        return self.bot != other.bot


@dataclass(frozen=True, slots=True)
class Decision:
    """Who plays, and why.

    Attributes:
        entrants: in entrant order.
        reason: ``information``, ``random`` or ``placement``.
        candidates: the best other opponents that were looked at, with their value.
    """

    entrants: tuple[Candidate, ...]
    reason: str
    candidates: tuple[tuple[str, float], ...]


def information(one: Candidate, other: Candidate) -> float:
    """Return what a match of the two would tell of their strengths, in nats."""
    chance = 1 / (1 + 10 ** ((other.elo - one.elo) / 400))
    variance = (one.uncertainty**2 + other.uncertainty**2) / ELO_PER_UNIT**2
    return math.log1p(chance * (1 - chance) * variance) / 2


class Pool:
    """The active bots of one ladder, kept in the orders in which they are looked for."""

    def __init__(self) -> None:
        self._bots: dict[str, Candidate] = {}
        self._by_rating: list[tuple[int, str]] = []
        self._by_need: list[tuple[bool, float, str]] = []
        self._owners: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._bots)

    def __contains__(self, bot: str) -> bool:
        return bot in self._bots

    def get(self, bot: str) -> Candidate | None:
        """Return a bot; None when it is not in the pool."""
        return self._bots.get(bot)

    def names(self) -> list[str]:
        """Return the bots in the pool, by rating."""
        return [bot for _, bot in self._by_rating]

    def fill(self, candidates: Iterable[Candidate]) -> None:
        """Replace the whole pool."""
        self._bots = {each.bot: each for each in candidates}
        self._by_rating = sorted((each.rating, each.bot) for each in self._bots.values())
        self._by_need = sorted(_need(each) for each in self._bots.values())
        self._owners = Counter(each.owner for each in self._bots.values())

    def put(self, candidate: Candidate) -> None:
        """Add a bot, or put another version in its place."""
        self.remove(candidate.bot)
        self._bots[candidate.bot] = candidate
        self._owners[candidate.owner] += 1
        insort(self._by_rating, (candidate.rating, candidate.bot))
        insort(self._by_need, _need(candidate))

    def remove(self, bot: str) -> None:
        """Take a bot out, if it is in."""
        candidate = self._bots.pop(bot, None)
        if candidate is None:
            return
        self._owners[candidate.owner] -= 1
        _discard(self._by_rating, (candidate.rating, bot))
        _discard(self._by_need, _need(candidate))

    def rate(self, bot: str, rating: int) -> None:
        """Take note of a bot's new rating, in micro-Elo."""
        candidate = self._bots.get(bot)
        if candidate is not None and candidate.rating != rating:
            _discard(self._by_rating, (candidate.rating, bot))
            candidate.rating = rating
            insort(self._by_rating, (rating, bot))

    def know(self, bot: str, deviation: float | None) -> None:
        """Take note of what the batch strengths say of a bot, in Elo."""
        candidate = self._bots.get(bot)
        if candidate is not None:
            _discard(self._by_need, _need(candidate))
            candidate.deviation = deviation
            insort(self._by_need, _need(candidate))

    def note_match(self, bots: Sequence[str], *, when: float) -> None:
        """Take note of a match that was made, its entrants in entrant order."""
        self._note(bots, when, count=1)

    def recall_match(self, bots: Sequence[str], *, when: float) -> None:
        """Take note of a match that ``Candidate.matches`` counts already."""
        self._note(bots, when, count=0)

    def _note(self, bots: Sequence[str], when: float, *, count: int) -> None:
        for seat, bot in enumerate(bots):
            candidate = self._bots.get(bot)
            if candidate is None:
                continue
            _discard(self._by_need, _need(candidate))
            candidate.matches += count
            candidate.last = max(candidate.last, when)
            candidate.seats[seat] = candidate.seats.get(seat, 0) + 1
            candidate.opponents += [other for other in bots if other != bot]
            del candidate.opponents[:-WINDOW]
            insort(self._by_need, _need(candidate))

    def decide(self, *, entrants: int, seed: bytes) -> Decision | None:
        """Choose the entrants of the next match.

        Args:
            entrants: how many play.
            seed: fixes every random choice of this decision.

        Returns:
            The decision, or None when there are not enough bots that may meet.
        """
        draw = RandomStream(seed, "matchmaking")
        for first in self._neediest(entrants):
            decision = self._seat(first, entrants, draw)
            if decision is not None:
                return decision
        return None

    # Who is looked at.

    def _neediest(self, entrants: int) -> list[Candidate]:
        """Return the bots that need a match most; more than one, as the first may find nobody."""
        return [self._bots[bot] for _, _, bot in self._by_need[: 4 * entrants]]

    def _shortlist(self, first: Candidate, draw: RandomStream) -> list[Candidate]:
        """Return the bots near in rating, those that need a match, and a few strangers."""
        at = bisect_left(self._by_rating, (first.rating, first.bot))
        near = self._by_rating[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS + 1]
        names = [bot for _, bot in near]
        names += [bot for _, _, bot in self._by_need[:_NEEDIEST]]
        if len(self._bots) > len(near):
            names += [
                self._by_rating[draw.below(len(self._by_rating))][1] for _ in range(_STRANGERS)
            ]
        return [self._bots[bot] for bot in dict.fromkeys(names) if first.may_meet(self._bots[bot])]

    def _capped(self, one: Candidate, other: Candidate) -> bool:
        """Return whether two have met more than twice their fair share of the latest matches."""
        rivals = len(self._bots) - (1 if one.house else self._owners[one.owner])
        fair = len(one.opponents) / max(1, rivals)
        return one.opponents.count(other.bot) > 2 + 2 * fair

    # How they are seated.

    def _seat(self, first: Candidate, entrants: int, draw: RandomStream) -> Decision | None:
        found = self._shortlist(first, draw)
        fresh = [each for each in found if not self._capped(first, each)]
        if first.matches < PLACEMENT_MATCHES and len(self._bots) > entrants:
            table, reason = self._place(first, found, entrants), "placement"
        elif draw.below(RANDOM_SHARE) == 0:
            table, reason = self._draw_lots(first, found, entrants, draw), "random"
        else:
            table, reason = _improve(_greedy(first, fresh or found, entrants), fresh), "information"
        if len(table) < entrants:
            table, reason = _greedy(first, found, entrants), "information"
        if len(table) < entrants:
            return None
        values = sorted(((value(first, each), each.bot) for each in found), reverse=True)
        return Decision(
            entrants=_arrange(table),
            reason=reason,
            candidates=tuple((bot, round(worth, 6)) for worth, bot in values[:_SHOWN]),
        )

    def _draw_lots(
        self, first: Candidate, found: list[Candidate], entrants: int, draw: RandomStream
    ) -> list[Candidate]:
        """Seat opponents drawn uniformly from the whole ladder, as luck finds allowed ones."""
        table = [first]
        for _ in range(16 * entrants):
            other = self._bots[self._by_rating[draw.below(len(self._by_rating))][1]]
            if len(table) < entrants and _fits(other, table) and not self._capped(first, other):
                table.append(other)
        left = [each for each in found if _fits(each, table)]
        while len(table) < entrants and left:
            table.append(left.pop(draw.below(len(left))))
            left = [each for each in left if _fits(each, table)]
        return table

    def _place(self, first: Candidate, found: list[Candidate], entrants: int) -> list[Candidate]:
        """Seat a new version against quantiles around its rating."""
        own = bisect_left(self._by_rating, (first.rating, first.bot))
        table = [first]
        for nth in range(entrants - 1):
            step = (first.matches * (entrants - 1) + nth) % len(_SPREAD)
            target = _reflect(own + round(_SPREAD[step] * len(self._bots)), len(self._bots))
            near = self._by_rating[max(0, target - _NEIGHBOURS) : target + _NEIGHBOURS + 1]
            start = max(0, target - _NEIGHBOURS)
            options = [
                (first.opponents.count(bot), abs(start + at - target), at, bot)
                for at, (_, bot) in enumerate(near)
                if _fits(self._bots[bot], table)
            ]
            if options:
                table.append(self._bots[min(options)[-1]])
        left = [each for each in found if _fits(each, table)]
        while len(table) < entrants and left:
            table.append(left.pop(0))
            left = [each for each in left if _fits(each, table)]
        return table


def value(one: Candidate, other: Candidate) -> float:
    """Return the information of a match of the two, less for each time they met lately."""
    return information(one, other) / (1 + one.opponents.count(other.bot))


def _need(candidate: Candidate) -> tuple[bool, float, str]:
    """Return what bots are sorted by, the one who needs a match most first.

    Uncertainty, time since the last match (a day counts as much as the whole first uncertainty)
    and what is missing to the quota, all as shares. The present moment adds the same to everyone
    and is left out, so that the order only changes with a bot's own matches.
    """
    missing = max(0, QUOTA - candidate.matches) / QUOTA
    need = candidate.uncertainty / FIRST_DEVIATION - candidate.last / _DAY + missing
    return candidate.matches >= QUOTA, -need, candidate.bot


def _discard(ordered: list[_Key], key: _Key) -> None:
    at = bisect_left(ordered, key)
    assert ordered[at] == key
    del ordered[at]


def _fits(other: Candidate, table: list[Candidate]) -> bool:
    return all(other.may_meet(each) for each in table)


def _greedy(first: Candidate, found: list[Candidate], entrants: int) -> list[Candidate]:
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


def _improve(table: list[Candidate], found: list[Candidate]) -> list[Candidate]:
    """Swap opponents for others as long as the table as a whole tells more."""
    if len(table) == 2:
        return table
    likely = nlargest(_SWAPPED, found, key=lambda each: (value(table[0], each), each.bot))
    pairs: dict[tuple[str, str], float] = {}

    def worth(other: Candidate, rest: list[Candidate]) -> float:
        total = 0.0
        for each in rest:
            pair = (each.bot, other.bot)
            if pair not in pairs:
                pairs[pair] = value(each, other)
            total += pairs[pair]
        return total

    for _ in range(_PASSES):
        before = table
        for at in range(1, len(table)):
            rest = table[:at] + table[at + 1 :]
            options = [(worth(each, rest), each.bot, each) for each in likely if _fits(each, rest)]
            best, _, other = max(options, default=(0.0, "", table[at]), key=lambda o: o[:2])
            if best > worth(table[at], rest) + 1e-12:
                table = [*table[:at], other, *table[at + 1 :]]
        if table == before:
            break
    return table


def _arrange(table: list[Candidate]) -> tuple[Candidate, ...]:
    """Return the order in which seats are used that its bots have used least."""
    orders = permutations(table) if len(table) <= 4 else [tuple(table)]

    def used(order: tuple[Candidate, ...]) -> tuple[int, int]:
        counts = [each.seats.get(seat, 0) for seat, each in enumerate(order)]
        return max(counts), sum(2 * count + 1 for count in counts)

    return min(orders, key=used)


def _reflect(place: int, size: int) -> int:
    """Return a place inside the ladder: one beyond an end counts back from that end."""
    if place < 0:
        place = -place
    if place >= size:
        place = 2 * (size - 1) - place
    return min(max(place, 0), size - 1)
