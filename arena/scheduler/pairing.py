"""Pairs the bots of a ladder: who plays next, and against whom.

The bot that needs a match most is seated first; its opponents are those of whom the match would
tell most (see `arena.scheduler.candidates`). Repeats count for less and are capped, every tenth
match is drawn at random, and bots of one owner never meet. A decision looks at a shortlist, so that
its time does not grow with the ladder.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from arena.scheduler.candidates import (
    FIRST_DEVIATION,
    Candidate,
    arrange,
    fits,
    greedy,
    improve,
    value,
)
from referee.games.random_streams import RandomStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
_SPREAD: Final = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.4, -0.4, 0.5)
"""Placement: how far from its own place the opponents stand, as shares of the ladder."""


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

    def note_match(self, bots: Sequence[str], *, when: float, count: int = 1) -> None:
        """Note a match, its entrants in order; ``count`` 0 if ``Candidate.matches`` has it."""
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
        """Choose the entrants of the next match; None when not enough bots may meet.

        ``seed`` fixes every random choice.
        """
        draw = RandomStream(seed, "matchmaking")
        # The neediest first; more than one, as it may find nobody.
        for _, _, bot in self._by_need[: 4 * entrants]:
            decision = self._seat(self._bots[bot], entrants, draw)
            if decision is not None:
                return decision
        return None

    # Who is looked at.

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
            table, reason = improve(greedy(first, fresh or found, entrants), fresh), "information"
        if len(table) < entrants:
            table, reason = greedy(first, found, entrants), "information"
        if len(table) < entrants:
            return None
        values = sorted(((value(first, each), each.bot) for each in found), reverse=True)
        return Decision(
            entrants=arrange(table),
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
            if len(table) < entrants and fits(other, table) and not self._capped(first, other):
                table.append(other)
        return _fill_up(table, found, entrants, lambda left: draw.below(len(left)))

    def _place(self, first: Candidate, found: list[Candidate], entrants: int) -> list[Candidate]:
        """Seat a new version against quantiles around its rating."""
        own = bisect_left(self._by_rating, (first.rating, first.bot))
        table = [first]
        for nth in range(entrants - 1):
            step = (first.matches * (entrants - 1) + nth) % len(_SPREAD)
            target = _reflect(own + round(_SPREAD[step] * len(self._bots)), len(self._bots))
            start = max(0, target - _NEIGHBOURS)
            near = self._by_rating[start : target + _NEIGHBOURS + 1]
            options = [
                (first.opponents.count(bot), abs(start + at - target), at, bot)
                for at, (_, bot) in enumerate(near)
                if fits(self._bots[bot], table)
            ]
            if options:
                table.append(self._bots[min(options)[-1]])
        return _fill_up(table, found, entrants, lambda _: 0)


def _fill_up(
    table: list[Candidate],
    found: list[Candidate],
    entrants: int,
    choose: Callable[[list[Candidate]], int],
) -> list[Candidate]:
    """Return the table with more of those found, each chosen from those that fit, while any do."""
    while len(table) < entrants and (left := [each for each in found if fits(each, table)]):
        table = [*table, left[choose(left)]]
    return table


def _need(candidate: Candidate) -> tuple[bool, float, str]:
    """Return what bots are sorted by, the one who needs a match most first.

    Adds up uncertainty, time since the last match (a day counts as much as the whole first
    uncertainty) and what is missing to the quota. The present moment adds the same to everyone and
    is left out, so that the order only changes with a bot's own matches.
    """
    missing = max(0, QUOTA - candidate.matches) / QUOTA
    need = candidate.uncertainty / FIRST_DEVIATION - candidate.last / _DAY + missing
    return candidate.matches >= QUOTA, -need, candidate.bot


def _discard(ordered: list[_Key], key: _Key) -> None:
    at = bisect_left(ordered, key)
    assert ordered[at] == key
    del ordered[at]


def _reflect(place: int, size: int) -> int:
    """Return a place inside the ladder: one beyond an end counts back from that end."""
    if place < 0:
        place = -place
    if place >= size:
        place = 2 * (size - 1) - place
    return min(max(place, 0), size - 1)
