"""Eliminations: single, double, and four at a table.

A match whose cut is tied (the winner of two; the second and third of four) plays one more match of
one board, with ``x`` at the end of its id; if that ties too, the better seed goes on. Matches of
one round need not wait for each other: each is planned as soon as its entrants are known.

Two at a table: the bracket is filled up to a power of two by byes, which go to the top seeds. Four
at a table: as many preliminary tables of the lowest seeds as leave 4, 8, 16 ... entrants; two of
four go on, at the last preliminary table one or three where the numbers need it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Final, TypeAlias

from arena.formats.model import (
    Competition,
    Format,
    Plan,
    PlannedMatch,
    PlayedMatch,
    Results,
    result_of,
)


class _Empty(Enum):
    """What stands in a bracket where no entrant does."""

    BYE = "nobody will come"
    PENDING = "not known yet"


_BYE: Final = _Empty.BYE
_PENDING: Final = _Empty.PENDING
_Slot: TypeAlias = str | _Empty


def seeding(size: int) -> list[int]:
    """Return the seeds, from 1, in bracket order: neighbours meet, and the best meet last.

    For 8: 1, 8, 4, 5, 2, 7, 3, 6. ``size`` is a power of two.
    """
    order = [1]
    while len(order) < size:
        order = [seed for best in order for seed in (best, 2 * len(order) + 1 - best)]
    return order


def plan(competition: Competition, results: Results) -> Plan:
    """Return the matches known by now, the stages reached, and whether a winner stands."""
    bracket = _Bracket(competition, results)
    if competition.options.table_size == 4:
        champion = _fours(bracket)
    elif competition.format is Format.DOUBLE_ELIMINATION:
        champion = _double(bracket)
    else:
        champion = _single(bracket)
    matches = sorted(bracket.matches, key=lambda match: (match.round, match.table))
    return Plan(tuple(matches), finished=isinstance(champion, str), stages=bracket.stages)


@dataclass(slots=True)
class _Bracket:
    """Plays the bracket through as far as the results go, noting the matches it needs."""

    competition: Competition
    results: Results
    matches: list[PlannedMatch] = field(default_factory=list)
    stages: dict[str, int] = field(default_factory=dict)
    _tables: dict[int, int] = field(default_factory=dict)

    def duel(self, name: str, number: int, a: _Slot, b: _Slot) -> tuple[_Slot, _Slot]:
        """Return the winner and the loser of two slots in a round."""
        self._tables[number] = self._tables.get(number, 0) + 1
        if isinstance(a, str) and isinstance(b, str):
            ranked = self._rank(name, number, (a, b), advance=1)
            return (ranked[0], ranked[1]) if ranked else (_PENDING, _PENDING)
        if _PENDING in {a, b}:
            return _PENDING, _PENDING
        through = b if a is _BYE else a
        if isinstance(through, str):
            self._reach(through, number + 1)
        return through, _BYE

    def table(
        self, name: str, number: int, slots: Sequence[_Slot], *, advance: int = 2
    ) -> list[_Slot]:
        """Return those of four slots who go on, best first."""
        self._tables[number] = self._tables.get(number, 0) + 1
        seated = tuple(slot for slot in slots if isinstance(slot, str))
        if len(seated) < len(slots):
            return [_PENDING] * advance
        ranked = self._rank(name, number, seated, advance=advance)
        return [*ranked[:advance]] if ranked else [_PENDING] * advance

    def _reach(self, entrant: str, number: int, place: int = 4) -> None:
        """Note the round an entrant is in, or its place, from 1, where it went out."""
        stage = 4 * number + 4 - place
        self.stages[entrant] = max(self.stages.get(entrant, 0), stage)

    def _rank(
        self, name: str, number: int, entrants: tuple[str, ...], *, advance: int
    ) -> list[str]:
        """Return the entrants best first, or nothing while results are missing."""
        ranked = self._judge(name, number, entrants, advance=advance)
        for place, entrant in enumerate(ranked, start=1):
            if place <= advance:
                self._reach(entrant, number + 1)
            else:
                self._reach(entrant, number, place)
        return ranked

    def _judge(
        self, name: str, number: int, entrants: tuple[str, ...], *, advance: int
    ) -> list[str]:
        seeds = {entrant: at for at, entrant in enumerate(self.competition.entrants)}
        seated = tuple(sorted(entrants, key=seeds.__getitem__))
        played = self._play(name, number, seated, self.competition.options.boards)
        if played is None:
            return []
        keys = {e: (played.points(i), played.set_score(i)) for i, e in enumerate(seated)}
        ranked = sorted(seated, key=lambda e: (keys[e], -seeds[e]), reverse=True)
        if keys[ranked[advance - 1]] != keys[ranked[advance]]:
            return ranked
        more = self._play(f"{name}x", number, seated, 1)
        if more is None:
            return []
        extra = {e: (more.points(i), more.set_score(i)) for i, e in enumerate(seated)}
        return sorted(seated, key=lambda e: (keys[e], extra[e], -seeds[e]), reverse=True)

    def _play(
        self, name: str, number: int, entrants: tuple[str, ...], boards: int
    ) -> PlayedMatch | None:
        match = PlannedMatch(
            id=f"{self.competition.id}.{name}",
            round=number,
            table=self._tables[number],
            entrants=entrants,
            boards=boards,
        )
        self.matches.append(match)
        return result_of(match, self.results)


def _first_slots(entrants: Sequence[str]) -> list[_Slot]:
    size = 1 << (len(entrants) - 1).bit_length()
    filled: list[_Slot] = [*entrants, *[_BYE] * (size - len(entrants))]
    return [filled[seed - 1] for seed in seeding(size)]


def _pairs(slots: Sequence[_Slot]) -> list[tuple[_Slot, _Slot]]:
    return list(zip(slots[::2], slots[1::2], strict=True))


def _single(bracket: _Bracket) -> _Slot:
    slots = _first_slots(bracket.competition.entrants)
    number = 0
    while len(slots) > 1:
        number += 1
        slots = [
            bracket.duel(f"r{number}.t{table}", number, a, b)[0]
            for table, (a, b) in enumerate(_pairs(slots), start=1)
        ]
    return slots[0]


def _double(bracket: _Bracket) -> _Slot:
    """Play both brackets; winners' round w is round 2w - 2 (the first: 1), losers' m is m + 1."""
    slots, stage = _first_slots(bracket.competition.entrants), 0
    below: list[_Slot] = []
    losers_stage = 0
    while len(slots) > 1:
        stage += 1
        ended = [
            bracket.duel(f"w{stage}.t{table}", max(1, 2 * stage - 2), a, b)
            for table, (a, b) in enumerate(_pairs(slots), start=1)
        ]
        slots, dropped = [winner for winner, _ in ended], [loser for _, loser in ended]
        if stage == 1:
            below = dropped
        else:
            # Reversed, so that who drops out does not meet again whom they just met.
            met = list(zip(below, dropped[::-1], strict=True))
            losers_stage += 1
            below = _losers_round(bracket, losers_stage, met)
        if len(below) > 1:
            losers_stage += 1
            below = _losers_round(bracket, losers_stage, _pairs(below))
    final = 2 * stage
    winner, loser = bracket.duel("f1", final, slots[0], below[0])
    if winner in {slots[0], _PENDING}:
        return winner
    return bracket.duel("f2", final + 1, winner, loser)[0]


def _losers_round(bracket: _Bracket, stage: int, met: Sequence[tuple[_Slot, _Slot]]) -> list[_Slot]:
    return [
        bracket.duel(f"l{stage}.t{table}", stage + 1, a, b)[0]
        for table, (a, b) in enumerate(met, start=1)
    ]


def _fours(bracket: _Bracket) -> _Slot:
    slots = _preliminaries(bracket)
    number = int(len(bracket.competition.entrants) > len(slots))
    tables = len(slots) // 4
    # Serpentine: each table has a seed of every quarter, and the best tables meet last.
    order = [seed - 1 for seed in seeding(tables)]
    quarters = [slots[at : at + tables] for at in range(0, len(slots), tables)]
    fours = [
        [quarter[table if k % 2 == 0 else -1 - table] for k, quarter in enumerate(quarters)]
        for table in order
    ]
    while len(fours) > 1:
        number += 1
        through = [
            bracket.table(f"r{number}.t{table}", number, four)
            for table, four in enumerate(fours, start=1)
        ]
        fours = [a + b for a, b in list(pairwise(through))[::2]]
    number += 1
    return bracket.table(f"r{number}.t1", number, fours[0], advance=1)[0]


def _preliminaries(bracket: _Bracket) -> list[_Slot]:
    """Return 4, 8, 16 ... slots in order of seed, after round 1 has made them so few."""
    entrants = bracket.competition.entrants
    target = 1 << (len(entrants).bit_length() - 1)
    surplus = len(entrants) - target
    if surplus % 2 and surplus > 1:
        through = [*[2] * ((surplus - 3) // 2), 1]
    else:
        through = [*[2] * (surplus // 2), *[3] * (surplus % 2)]
    first = len(entrants) - 4 * len(through)
    playing = entrants[first:]
    count = len(through)
    ranked = [
        bracket.table(
            f"r1.t{table + 1}",
            1,
            [playing[table], *(playing[k * count + table] for k in (1, 2, 3))],
            advance=advance,
        )
        for table, advance in enumerate(through)
    ]
    best_first = [places[k] for k in range(3) for places in ranked if k < len(places)]
    return [*entrants[:first], *best_first]
