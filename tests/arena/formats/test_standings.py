from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.formats.model import TIED, WON, Plan, PlannedMatch, PlayedMatch
from arena.formats.standings import standings


def played(*results: tuple[str, str, int]) -> tuple[Plan, dict[str, PlayedMatch]]:
    """Return a plan and its results, from lines of first, second, score of the first."""
    matches = tuple(
        PlannedMatch(id=str(number), round=number, table=1, entrants=(first, second), boards=1)
        for number, (first, second, _) in enumerate(results)
    )
    scores = {
        str(number): PlayedMatch(str(number), ((0, score), (WON - score, 0)))
        for number, (_, _, score) in enumerate(results)
    }
    return Plan(matches, finished=True), scores


def order(entrants: str, *results: tuple[str, str, int], **options: Any) -> str:
    """Return the entrants, named by single letters, as ranked."""
    plan, scores = played(*results)
    return "".join(line.entrant for line in standings(entrants, plan, scores, **options))


def test_points_come_first() -> None:
    """Two wins are more than one, however high the one was."""
    narrow = TIED + 1
    lines = [("a", "b", narrow), ("a", "c", narrow), ("c", "b", WON)]
    assert order("abc", *lines) == "acb"


def test_a_table_of_four_gives_a_point_an_opponent() -> None:
    """Places 1, 2, 2, 4 give 3, 1 1/2, 1 1/2 and 0 points."""
    scores = (
        (0, WON, WON, WON),
        (0, 0, TIED, WON),
        (0, TIED, 0, WON),
        (0, 0, 0, 0),
    )
    match = PlannedMatch("1", 1, 1, ("a", "b", "c", "d"), 1)
    lines = standings("abcd", Plan((match,), finished=True), {"1": PlayedMatch("1", scores)})
    assert {line.entrant: line.points for line in lines} == {"a": 3, "b": 1.5, "c": 1.5, "d": 0}


def test_head_to_head_decides_between_two() -> None:
    """Of two on equal points, who won their match is first, whatever else they scored."""
    lines = [("a", "b", TIED + 1), ("b", "c", WON), ("c", "a", WON), ("d", "c", WON)]
    lines += [("a", "d", TIED + 1), ("b", "d", WON), ("b", "e", TIED - 1), ("a", "e", TIED - 1)]
    plan, scores = played(*lines)
    table = {line.entrant: line for line in standings("abcde", plan, scores)}
    assert table["a"].points == table["b"].points == 2
    assert table["a"].rank < table["b"].rank
    assert table["a"].set_score < table["b"].set_score


def test_head_to_head_needs_all_to_have_met() -> None:
    """Among three of whom two never met, the meetings decide nothing."""
    lines = [("a", "b", WON), ("b", "c", WON), ("c", "d", WON)]
    plan, scores = played(*lines)
    table = {line.entrant: line for line in standings("abc", plan, scores)}
    # All three have a point; Sonneborn-Berger then favours who beat one with a point.
    assert [table[e].sonneborn_berger for e in "abc"] == [1, 1, 0]
    assert table["c"].rank == 3


def test_sonneborn_berger_decides_a_circle() -> None:
    """Three who beat each other in a circle are told apart by whom else they beat."""
    lines = [("a", "b", WON), ("b", "c", WON), ("c", "a", WON)]
    lines += [("a", "d", WON), ("b", "e", WON), ("c", "e", TIED), ("c", "d", TIED), ("d", "e", WON)]
    lines += [("a", "e", 0), ("b", "d", 0)]
    plan, scores = played(*lines)
    table = {line.entrant: line for line in standings("abcde", plan, scores)}
    assert [table[e].points for e in "abc"] == [2, 2, 2]
    ranked = sorted("abc", key=lambda e: table[e].rank)
    assert ranked == sorted("abc", key=lambda e: -table[e].sonneborn_berger)


def test_set_score_decides_next() -> None:
    """Equal in all of these, the higher sum of scores is first."""
    assert order("abcd", ("a", "b", TIED + 1), ("c", "d", WON)) == "cabd"


def test_strength_decides_before_the_lot() -> None:
    """A batch rating separates who is equal in every result."""
    assert order("ab", ("a", "b", TIED), strengths={"a": 1400, "b": 1600}) == "ba"
    assert order("ab", ("a", "b", TIED), strengths={"a": 1600, "b": 1400}) == "ab"


def test_the_lot_is_seeded() -> None:
    """The same seed draws the same order, and some seeds draw another."""
    drawn = {order("abcd", lot=str(seed)) for seed in range(40)}
    assert order("abcd", lot="x") == order("dcba", lot="x")
    assert len(drawn) > 10


@given(st.lists(st.tuples(st.sampled_from([*permutations("abcd", 2)]), st.integers(0, 4))))
@settings(max_examples=60)
def test_points_and_scores_are_conserved(results: list[tuple[tuple[str, str], int]]) -> None:
    """Every match between two gives out one point and one game."""
    plan, scores = played(*[(*pair, quarter * WON // 4) for pair, quarter in results])
    lines = standings("abcd", plan, scores)
    assert sum(line.points for line in lines) == len(results)
    assert sum(line.set_score for line in lines) == len(results) * WON
    assert sum(line.played for line in lines) == 2 * len(results)


@given(st.permutations([*combinations("abcd", 2)]), st.permutations("abcd"))
@settings(max_examples=30)
def test_order_of_results_does_not_matter(
    pairs: list[tuple[str, str]], entrants: list[str]
) -> None:
    """Matches and entrants in any order give the same standings."""
    lines = [(first, second, (ord(first) * ord(second)) % 5 * WON // 4) for first, second in pairs]
    fixed = sorted(lines)
    assert order("".join(entrants), *lines, lot="7") == order("abcd", *fixed, lot="7")


@pytest.mark.parametrize("entrants", ["a", "ab"])
def test_nothing_played_is_a_table_of_zeroes(entrants: str) -> None:
    """Before the first result everyone stands with nothing."""
    lines = standings(entrants, Plan((), finished=False), {})
    assert {(line.points, line.set_score, line.played) for line in lines} == {(0, 0, 0)}
