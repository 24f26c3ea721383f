from collections import Counter
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import InputError
from arena.formats import league
from arena.formats.model import Options
from arena.formats.schedule import next_matches


def named(n: int) -> list[str]:
    """Return entrants e00, e01, ... from the strongest."""
    return [f"e{number:03}" for number in range(n)]


@given(st.integers(1, 200))
def test_divisions_are_of_eight_to_sixteen(n: int) -> None:
    """Any number of entrants is cut in order, into sizes that differ by one at most."""
    cut = league.divisions(named(n))
    assert list(chain(*cut)) == named(n)
    sizes = [len(division) for division in cut]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= league.LARGEST
    assert min(sizes) >= min(n, league.SMALLEST)


def test_a_season_is_a_double_round_robin() -> None:
    """Within a division everyone meets everyone twice, with the seats swapped."""
    first, second = league.season("gold", 3, league.divisions(named(18)), options=Options(boards=4))
    assert (first.id, second.id) == ("gold.s3.d1", "gold.s3.d2")
    met = Counter(match.entrants for match in next_matches(first, {}).planned)
    assert len(met) == 9 * 8
    assert set(met.values()) == {1}


def test_four_at_a_table_play_whist() -> None:
    """A division of four-handed games meets three times each."""
    (only,) = league.season("g", 1, [named(12)], options=Options(table_size=4))
    assert len(next_matches(only, {}).planned) == 33


def test_two_go_up_and_two_down() -> None:
    """The last two of the upper division change places with the first two of the lower."""
    upper, lower = named(18)[:9], named(18)[9:]
    changed = league.levelled(league.moved([upper, lower], moves=2))
    assert changed == [
        [*upper[:7], *lower[:2]],
        [*upper[7:], *lower[2:]],
    ]


def test_a_leaver_s_place_goes_to_the_best_below() -> None:
    """When one leaves the upper division, the best of those relegated stays in it."""
    upper, lower = named(18)[:9], named(18)[9:]
    changed = league.levelled(league.moved([upper, lower], moves=1, leavers={upper[0]}))
    assert changed == [[*upper[1:8], lower[0], upper[8]], lower[1:]]


def test_newcomers_start_at_the_bottom() -> None:
    """They join the lowest division, which is cut in two when it outgrows sixteen."""
    changed = league.levelled(league.moved([named(16)], moves=2, newcomers=["new"]))
    assert changed == league.divisions([*named(16), "new"])
    assert changed[-1][-1] == "new"


def test_a_small_bottom_joins_the_division_above() -> None:
    """Too few for a division of their own, they join the one above if it has the room."""
    upper, lower = named(16)[:8], named(16)[8:]
    changed = league.levelled(league.moved([upper, lower], moves=0, leavers=lower[:3]))
    assert changed == [upper + lower[3:]]


def test_a_bottom_that_fills_no_table_is_cut_anew_with_the_division_above() -> None:
    """The division above has no room, and nobody may be left without a game."""
    before = [named(16), ["last"]]
    after = league.levelled(before)
    assert after == league.divisions([*named(16), "last"])
    assert league.levelling(before, after) == (
        "division 2 would have 1 bot, too few for a table: divisions 1 and 2 are cut anew"
    )
    three = [named(16), ["x", "y", "z"]]
    assert league.levelled(three) == three
    assert league.levelling(three, three) == ""
    assert [len(each) for each in league.levelled(three, table_size=4)] == [9, 10]


def test_what_was_levelled_is_told() -> None:
    """A bottom that joined the division above, and one that was cut."""
    small = [named(8), ["x", "y"]]
    assert league.levelling(small, league.levelled(small)) == (
        "division 2 would have 2 bots, too few for one of its own: they play in division 1"
    )
    large = [named(8), named(20)]
    assert league.levelling(large, league.levelled(large)) == (
        "division 2 would have 20 bots, too many for one: divisions 2 to 3 are made of them"
    )


@given(
    st.lists(st.integers(1, 16), min_size=1, max_size=5),
    st.integers(0, 9),
    st.sets(st.integers(0, 79)),
    st.integers(0, 20),
)
def test_nobody_is_lost_or_doubled(
    sizes: list[int], moves: int, leaving: set[int], joining: int
) -> None:
    """Whatever moves, everyone who stays and everyone new is in exactly one division."""
    entrants = named(sum(sizes))
    ranked = [entrants[sum(sizes[:at]) : sum(sizes[: at + 1])] for at in range(len(sizes))]
    leavers = {f"e{number:03}" for number in leaving}
    newcomers = [f"n{number}" for number in range(joining)]
    changed = league.levelled(
        league.moved(ranked, moves=moves, leavers=leavers, newcomers=newcomers)
    )
    assert Counter(chain(*changed)) == Counter(set(entrants) - leavers | set(newcomers))
    assert all(len(division) <= league.LARGEST for division in changed)


def test_negative_moves_are_refused() -> None:
    """Nobody goes up less than not at all."""
    with pytest.raises(InputError, match="moves"):
        league.levelled(league.moved([named(8)], moves=-1))
