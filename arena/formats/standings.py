"""Standings: points, and what decides between equals.

In this order: the stage reached (eliminations), match points (in a gauntlet, points a match), head
to head (points among those still equal, where all of them have met equally often),
Sonneborn-Berger, set score, batch rating where one is given, and a lot drawn by hash from the
competition's seed text.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import combinations, groupby

from arena.formats.model import (
    CompetitionStanding,
    Plan,
    PlannedMatch,
    PlayedMatch,
    Results,
    result_of,
)


class _Tally:
    """Sums over the played matches; pairs are counted both ways round."""

    def __init__(self, byes: Mapping[str, float]) -> None:
        self.points = defaultdict[str, float](float, byes)
        self.set_score = defaultdict[str, int](int)
        self.played = defaultdict[str, int](int)
        self.taken = defaultdict[str, defaultdict[str, float]](lambda: defaultdict(float))
        self.met = defaultdict[tuple[str, str], int](int)

    def add(self, planned: PlannedMatch, played: PlayedMatch) -> None:
        """Count one match."""
        for i, entrant in enumerate(planned.entrants):
            self.points[entrant] += played.points(i)
            self.set_score[entrant] += played.set_score(i)
            self.played[entrant] += 1
            for j, other in enumerate(planned.entrants):
                if i != j:
                    self.met[entrant, other] += 1
                    self.taken[entrant][other] += played.pair_points(i, j)

    def sonneborn_berger(self, entrant: str) -> float:
        """Return the opponents' points, weighed by the points taken from each."""
        return sum(taken * self.points[other] for other, taken in self.taken[entrant].items())


_Key = Callable[[str], float]
_Criterion = Callable[[Sequence[str]], _Key]


def standings(
    entrants: Iterable[str],
    plan: Plan,
    results: Results,
    *,
    strengths: Mapping[str, float] | None = None,
    lot: str = "",
) -> tuple[CompetitionStanding, ...]:
    """Return the standings, best first.

    Args:
        entrants: ids in any order.
        plan: the matches that count (those without a result are passed over), the stages reached
            and the points for byes.
        results: by match id.
        strengths: batch ratings, any unit, more is better.
        lot: seed text of the last tie-break.
    """
    tally = _Tally(plan.byes)
    for match in plan.matches:
        if played := result_of(match, results):
            tally.add(match, played)
    criteria: list[_Criterion] = [
        lambda _: lambda e: plan.stages.get(e, 0),
        lambda _: lambda e: tally.points[e] / (tally.played[e] or 1 if plan.by_share else 1),
        lambda group: _head_to_head(tally, group),
        lambda _: tally.sonneborn_berger,
        lambda _: lambda e: tally.set_score[e],
        lambda _: lambda e: (strengths or {}).get(e, 0.0),
        lambda _: lambda e: _lot(lot, e),
    ]
    return tuple(
        CompetitionStanding(
            rank=rank,
            entrant=entrant,
            points=tally.points[entrant],
            sonneborn_berger=tally.sonneborn_berger(entrant),
            set_score=tally.set_score[entrant],
            played=tally.played[entrant],
        )
        for rank, entrant in enumerate(_order(sorted(entrants), criteria), start=1)
    )


def _order(group: list[str], criteria: list[_Criterion]) -> list[str]:
    if len(group) == 1 or not criteria:
        return group
    key = criteria[0](group)
    ordered = sorted(group, key=key, reverse=True)
    return [
        entrant
        for _, equals in groupby(ordered, key=key)
        for entrant in _order(list(equals), criteria[1:])
    ]


def _head_to_head(tally: _Tally, group: Sequence[str]) -> _Key:
    meetings = {tally.met[pair] for pair in combinations(group, 2)}
    if len(meetings) != 1 or meetings == {0}:
        return lambda _: 0
    return lambda e: sum(tally.taken[e][other] for other in group)


def _lot(seed: str, entrant: str) -> int:
    return int.from_bytes(sha256(f"{seed}\n{entrant}".encode()).digest()[:8])
