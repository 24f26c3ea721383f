from collections import Counter
from functools import cache
from itertools import combinations

import pytest

from arena.errors import InputError
from arena.formats import whist

SIZES = [*range(4, 26), 29, 30, 37, 41, 49]
WHIST_SIZES = [n for n in SIZES if whist.is_exact(n) and n not in {6, 7}]

Rounds = list[list[tuple[int, ...]]]


@cache
def rounds_of(n: int) -> Rounds:
    """Return the rounds of n entrants; the annealed ones take a moment."""
    return whist.rounds(n)


def meetings(rounds: Rounds) -> Counter[frozenset[int]]:
    """Count how often each pair meets at a table."""
    return Counter(
        frozenset(pair) for tables in rounds for table in tables for pair in combinations(table, 2)
    )


def across(rounds: Rounds) -> Counter[frozenset[int]]:
    """Count how often each pair sits across."""
    return Counter(
        frozenset(table[side::2]) for tables in rounds for table in tables for side in (0, 1)
    )


def pairs(n: int) -> set[frozenset[int]]:
    """Return all pairs of n entrants."""
    return {frozenset(pair) for pair in combinations(range(n), 2)}


@pytest.mark.parametrize("n", SIZES)
def test_nobody_sits_twice_in_a_round(n: int) -> None:
    """Every table seats four different entrants, and no two tables share one."""
    for tables in rounds_of(n):
        seated = [entrant for table in tables for entrant in table]
        assert {len(table) for table in tables} == {4}
        assert len(seated) == len(set(seated)) <= n
        assert set(seated) <= set(range(n))


@pytest.mark.parametrize("n", WHIST_SIZES)
def test_everyone_meets_everyone_thrice_once_across(n: int) -> None:
    """The whist property: three tables with everyone, at one of them across."""
    rounds = rounds_of(n)
    assert meetings(rounds) == dict.fromkeys(pairs(n), 3)
    assert across(rounds) == dict.fromkeys(pairs(n), 1)
    assert len(rounds) == (n if n % 4 else n - 1)


def test_the_exact_sizes() -> None:
    """The published starters, those found by search, primes 4k + 1 and squares are exact."""
    assert WHIST_SIZES == [4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 29, 37, 41, 49]


@pytest.mark.parametrize(("n", "tables"), [(5, 5), (6, 15), (7, 35)])
def test_up_to_seven_play_all_tables(n: int, tables: int) -> None:
    """Few entrants meet in every possible four."""
    played = [frozenset(table) for (table,) in rounds_of(n)]
    assert len(played) == len(set(played)) == tables
    assert len(set(meetings(rounds_of(n)).values())) == 1


@pytest.mark.parametrize("n", [6, 7])
def test_all_tables_spread_the_byes(n: int) -> None:
    """At no time has one entrant played two tables more than another."""
    played = Counter[int](dict.fromkeys(range(n), 0))
    for (table,) in rounds_of(n):
        played.update(table)
        assert max(played.values()) - min(played.values()) <= 2
    assert len(set(played.values())) == 1


@pytest.mark.parametrize("n", [n for n in SIZES if not whist.is_exact(n)])
def test_annealed_meetings_are_nearly_equal(n: int) -> None:
    """Other numbers: everyone plays equally often, and pairs meet twice to four times."""
    rounds = rounds_of(n)
    played = Counter(entrant for tables in rounds for table in tables for entrant in table)
    assert len(set(played.values())) == 1
    met = meetings(rounds)
    assert set(met) == pairs(n)
    assert set(met.values()) <= {2, 3, 4}
    assert max(across(rounds).values()) <= 2


@pytest.mark.parametrize("n", SIZES)
def test_nobody_keeps_a_seat(n: int) -> None:
    """Everyone's four seats come up nearly equally often."""
    sat = Counter(
        (entrant, seat)
        for tables in rounds_of(n)
        for table in tables
        for seat, entrant in enumerate(table)
    )
    for entrant in range(n):
        seats = [sat[entrant, seat] for seat in range(4)]
        assert max(seats) - min(seats) <= 3


def test_the_seed_decides_the_annealing() -> None:
    """The same seed gives the same schedule, another one another."""
    assert whist.rounds(14, seed=3) == whist.rounds(14, seed=3)
    assert whist.rounds(14, seed=3) != whist.rounds(14, seed=4)


@pytest.mark.parametrize(("n", "size"), [(1, 4), (4, 4), (10, 12), (14, 16), (22, 24), (26, 29)])
def test_exact_size_is_the_next_one(n: int, size: int) -> None:
    """House bots fill up to the next number with an exact schedule."""
    assert whist.exact_size(n) == size


def test_three_are_too_few() -> None:
    """A table needs four."""
    with pytest.raises(InputError, match="four"):
        whist.rounds(3)
