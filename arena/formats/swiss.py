"""Swiss: a fixed number of rounds in which entrants of equal points meet.

Two at a table, each round is a maximum-weight matching. What weighs, in order: nobody meets anyone
(nor sits out) a second time; small differences of points, squared; who sits out is low in the
order; within a group of equals the upper half meets the lower, in order (the fold); balanced seats;
and a hash at last, so that one best pairing exists whatever the order of the input.

Four at a table: entrants sorted by points, each group of equals folded in four, cut into tables;
then swaps between tables while they reduce repeats, or else the spread of points.

Sitting out counts like a win at a table of two and like a second place at a table of four.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import combinations, groupby, product
from typing import Final, TypeAlias

import rustworkx as rx

from arena.formats.model import (
    Competition,
    Plan,
    PlannedMatch,
    PlayedMatch,
    Results,
    planned_round,
    result_of,
)
from arena.formats.round_robin import Table
from arena.formats.seating import Seating

_BYE_POINTS: Final = {2: 1.0, 4: 2.0}

_REACH: Final = 8
"""Swaps are between tables this far apart, which is as far as points allow in a large field."""

_Round: TypeAlias = tuple[PlayedMatch, ...]


@dataclass(slots=True)
class _State:
    """Points, byes, meetings and seats after the rounds so far, by seed number from 0."""

    points: list[float]
    byes: list[int]
    met: Counter[frozenset[int]] = field(default_factory=Counter)
    seating: Seating = field(default_factory=Seating)

    def order(self) -> list[int]:
        """Return all seed numbers by points, then seed."""
        return sorted(range(len(self.points)), key=lambda e: (-self.points[e], e))


def plan(competition: Competition, results: Results) -> Plan:
    """Return all rounds up to the first with a result missing, and those paired for good."""
    n, options = len(competition.entrants), competition.options
    length = options.rounds or max(1, (n - 1).bit_length())
    history: list[_Round] = []
    matches: list[PlannedMatch] = []
    byes: Counter[int] = Counter()
    is_complete = True
    for number in range(1, length + 1):
        if not is_complete and number > len(competition.paired):
            break
        tables = _tables(competition, number, tuple(history))
        planned = planned_round(competition, number, tables)
        matches.extend(planned)
        played = tuple(filter(None, (result_of(match, results) for match in planned)))
        if len(played) == len(planned):
            byes.update(set(range(n)).difference(*tables))
            history.append(played)
        else:
            is_complete = False
    worth = _BYE_POINTS[options.table_size]
    return Plan(
        matches=tuple(matches),
        finished=is_complete,
        byes={entrant: byes[e] * worth for e, entrant in enumerate(competition.entrants)},
    )


def _tables(
    competition: Competition, number: int, history: tuple[_Round, ...]
) -> tuple[Table, ...]:
    """Return the tables of a round, given all rounds before it unless it is paired for good."""
    if number <= len(competition.paired):
        return competition.paired[number - 1]
    return _paired(competition, history)


# Every step of a competition asks for all its rounds again; the pairing of hundreds takes a second.
@lru_cache(maxsize=128)
def _paired(competition: Competition, history: tuple[_Round, ...]) -> tuple[Table, ...]:
    """Pair the round after those played."""
    state = _replay(competition, history)
    if competition.options.table_size == 4:
        return tuple(_seat_fours(state))
    return tuple(_pair(state, lot=f"{competition.options.lot}/{len(history)}"))


def _replay(competition: Competition, history: tuple[_Round, ...]) -> _State:
    n = len(competition.entrants)
    state = _State(points=[0.0] * n, byes=[0] * n)
    for number, played in enumerate(history, start=1):
        _score(state, _tables(competition, number, history[: number - 1]), played)
    return state


def _score(state: _State, tables: Sequence[Table], played: _Round) -> None:
    out = set(range(len(state.points)))
    for table, result in zip(tables, played, strict=True):
        out.difference_update(table)
        state.met.update(frozenset(pair) for pair in combinations(table, 2))
        state.seating.count(table)
        for i, entrant in enumerate(table):
            state.points[entrant] += result.points(i)
    for entrant in out:
        state.byes[entrant] += 1
        state.points[entrant] += _BYE_POINTS[len(tables[0])]


def _groups(state: _State, order: Sequence[int]) -> list[list[int]]:
    return [list(group) for _, group in groupby(order, key=lambda e: state.points[e])]


def _pair(state: _State, *, lot: str) -> list[Table]:
    """Return the pairs of a round in seat order, the highest first."""
    order = state.order()
    cost = _PairCost(state, order, lot)
    bye = len(order)
    nodes = range(bye + bye % 2)
    costs = {
        (a, b): cost.bye(a) if b == bye else cost.pair(a, b) for a, b in combinations(nodes, 2)
    }
    most = max(costs.values())
    graph: rx.PyGraph[int, int] = rx.PyGraph(multigraph=False)
    graph.add_nodes_from(nodes)
    graph.add_edges_from([(a, b, most + 1 - value) for (a, b), value in costs.items()])
    matching = rx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    pairs = sorted((min(pair), max(pair)) for pair in matching)
    tables: list[Table] = []
    for table, (a, b) in enumerate((a, b) for a, b in pairs if b != bye):
        # Between equals in seats, every second table gives the first seat to the higher.
        upper, lower = (order[a], order[b]) if table % 2 == 0 else (order[b], order[a])
        first_is_due = state.seating.imbalance(upper) <= state.seating.imbalance(lower)
        tables.append((upper, lower) if first_is_due else (lower, upper))
    return tables


class _PairCost:
    """The cost of a pair as one integer: criteria in order, each far above the next.

    A criterion's unit exceeds the sum of all lower ones over all pairs, so that no number of small
    faults outweighs a greater one; the caps keep the whole below 128 bits.
    """

    _GAP_CAP = 2**12
    _FOLD_CAP = 255
    _SEAT_CAP = 63
    _HASH_CAP = 2**12

    def __init__(self, state: _State, order: Sequence[int], lot: str) -> None:
        self._state, self._order, self._lot = state, order, lot
        self._pairs = (len(order) + 1) // 2
        groups = _groups(state, order)
        self._size = {e: len(group) for group in groups for e in group}

    def pair(self, a: int, b: int) -> int:
        """Return the cost of the entrants at places a < b of the order."""
        i, j = self._order[a], self._order[b]
        points = self._state.points
        ideal = self._size[i] // 2 if points[i] == points[j] else 1
        low, high = sorted((self._state.seating.imbalance(i), self._state.seating.imbalance(j)))
        return self._pack(
            repeats=self._state.met[frozenset({i, j})],
            gap=points[i] - points[j],
            bye=0,
            fold=min(abs(b - a - ideal), self._FOLD_CAP) ** 2,
            seats=min((low + 1) ** 2 + (high - 1) ** 2, self._SEAT_CAP),
            name=f"{i}-{j}",
        )

    def bye(self, a: int) -> int:
        """Return the cost of the entrant at place a of the order sitting out."""
        i = self._order[a]
        return self._pack(
            repeats=self._state.byes[i],
            gap=self._state.points[i] - self._state.points[self._order[-1]],
            bye=len(self._order) - 1 - a,
            fold=0,
            seats=0,
            name=f"{i}-",
        )

    def _pack(self, *, repeats: int, gap: float, bye: int, fold: int, seats: int, name: str) -> int:  # noqa: PLR0913 - one argument a criterion
        digest = sha256(f"{self._lot}/{name}".encode()).digest()
        # Points come in halves, so twice a gap is whole.
        digits = (
            (min(round(2 * gap) ** 2, self._GAP_CAP), self._GAP_CAP * self._pairs),
            (bye, len(self._order)),
            (fold, self._FOLD_CAP**2 * self._pairs),
            (seats, self._SEAT_CAP * self._pairs),
            (int.from_bytes(digest[:2]) % self._HASH_CAP, self._HASH_CAP * self._pairs),
        )
        cost = repeats
        for value, most in digits:
            cost = cost * (most + 1) + value
        return cost


def _seat_fours(state: _State) -> list[Table]:
    """Return the tables of a round in seat order, the highest first."""
    order = state.order()
    out = sorted(order, key=lambda e: (state.byes[e], state.points[e], -e))[: len(order) % 4]
    line: list[int] = []
    for group in _groups(state, [e for e in order if e not in out]):
        quarter = -(-len(group) // 4)
        line += sorted(group, key=lambda e, g=group, q=quarter: (g.index(e) % q, g.index(e)))  # type: ignore[misc]
    tables = [line[at : at + 4] for at in range(0, len(line), 4)]
    while _improve(state, tables):
        pass
    return [state.seating.arrange(tuple(table)) for table in tables]


def _improve(state: _State, tables: list[list[int]]) -> bool:
    """Swap entrants between tables wherever that lowers the cost; return whether any was."""
    improved = False
    for at, one in enumerate(tables):
        for other in tables[at + 1 : at + 1 + _REACH]:
            cost = _table_cost(state, one, other)
            for i, j in product(range(4), repeat=2):
                if cost == (0, 0):
                    break
                one[i], other[j] = other[j], one[i]
                changed = _table_cost(state, one, other)
                if changed < cost:
                    cost, improved = changed, True
                else:
                    one[i], other[j] = other[j], one[i]
    return improved


def _table_cost(state: _State, *tables: list[int]) -> tuple[int, float]:
    pairs = [pair for table in tables for pair in combinations(table, 2)]
    repeats = sum(state.met[frozenset(pair)] ** 2 for pair in pairs)
    return repeats, sum((state.points[a] - state.points[b]) ** 2 for a, b in pairs)
