from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import InputError
from arena.formats import round_robin


def test_six_are_bergers_table() -> None:
    """Six entrants meet as in the printed table, first seat first."""
    # Source: the FIDE Handbook's Berger tables for 5 or 6.
    printed = "1-6 2-5 3-4 | 6-4 5-3 1-2 | 2-6 3-1 4-5 | 6-5 1-4 2-3 | 3-6 4-2 5-1"
    ours = " | ".join(
        " ".join(f"{first + 1}-{second + 1}" for first, second in tables)
        for tables in round_robin.rounds(6)
    )
    assert ours == printed


@given(st.integers(2, 41))
def test_everyone_meets_everyone_once(n: int) -> None:
    """Every pair stands in exactly one table, and nobody twice in a round."""
    rounds = round_robin.rounds(n)
    met = Counter(frozenset(table) for tables in rounds for table in tables)
    assert met == Counter(frozenset(pair) for pair in combinations(range(n), 2))
    for tables in rounds:
        seated = [entrant for table in tables for entrant in table]
        assert len(seated) == len(set(seated)) == n - n % 2


@given(st.integers(1, 20))
def test_byes_are_one_each(half: int) -> None:
    """With an odd number, everyone sits out exactly one round."""
    n = 2 * half + 1
    byes = [
        set(range(n)) - {e for table in tables for e in table} for tables in round_robin.rounds(n)
    ]
    assert sorted(bye for (bye,) in byes) == list(range(n))


@given(st.integers(2, 41))
def test_seats_are_balanced(n: int) -> None:
    """First and second seats differ by at most one for everyone."""
    lead = Counter[int]()
    for tables in round_robin.rounds(n):
        for first, second in tables:
            lead.update({first: 1, second: -1})
    assert all(abs(balance) <= 1 for balance in lead.values())


@given(st.integers(2, 20))
def test_a_second_cycle_swaps_the_seats(n: int) -> None:
    """In a double round robin every pair meets once in each order."""
    met = Counter(table for tables in round_robin.rounds(n, cycles=2) for table in tables)
    assert set(met.values()) == {1}
    assert len(met) == n * (n - 1)


@pytest.mark.parametrize(("n", "cycles"), [(1, 1), (0, 1), (4, 0)])
def test_too_few_are_refused(n: int, cycles: int) -> None:
    """One entrant meets nobody."""
    with pytest.raises(InputError):
        round_robin.rounds(n, cycles=cycles)
