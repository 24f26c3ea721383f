from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import InputError
from arena.ratings import elo


def micro(points: str) -> int:
    """Return Elo points written as text in micro-Elo."""
    return int(Fraction(points) * elo.MICRO)


def test_win_by_the_favourite_of_two() -> None:
    """The favourite's win moves both ratings by the same 7.688096 Elo."""
    after = elo.update([micro("1200"), micro("1000")], elo.scores_from_places([[1, 2]]), k=[32, 32])
    assert [micro("1207.688096"), micro("992.311904")] == after


def test_three_in_a_finishing_order() -> None:
    """Three entrants share one K over two opponents each."""
    before = [micro("1200"), micro("900"), micro("1000")]
    after = elo.update(before, elo.scores_from_places([[1, 2, 3]]), k=[32] * 3)
    assert [micro("1206.259728"), micro("907.825360"), micro("985.914912")] == after


def test_four_equals_round_half_away_from_zero() -> None:
    """Four equals at K 40 show the rounding of each pair, up and down alike."""
    after = elo.update([elo.START] * 4, elo.scores_from_places([[1, 2, 3, 4]]), k=[40] * 4)
    assert [
        micro("1520.000001"),
        micro("1506.666667"),
        micro("1493.333333"),
        micro("1479.999999"),
    ] == after


def test_table_is_exact() -> None:
    """Each entry is the nearest integer, decided in whole numbers by 400th powers."""
    for d, entry in enumerate(elo.TABLE):
        low = Fraction(2 * elo.MICRO, 2 * entry + 1) - 1
        high = Fraction(2 * elo.MICRO, 2 * entry - 1) - 1
        assert low**400 < Fraction(1, 10**d) < high**400, d


def test_table_has_the_values_known_by_hand() -> None:
    """Nothing apart is one half; 400 apart is 10/11, 800 apart 100/101."""
    assert (elo.TABLE[0], elo.TABLE[400], elo.TABLE[800]) == (500_000, 909_091, 990_099)
    assert len(elo.TABLE) == 802


def test_expected_is_linear_between_points_and_rounded_down() -> None:
    """Half a point of lead is half of the step from 500,000 to 501,439."""
    assert elo.TABLE[1] == 501_439
    assert elo.expected(micro("0.5")) == 500_719
    assert elo.expected(-micro("0.5")) == 499_281


@given(st.integers(-(10**10), 10**10))
def test_expected_is_antisymmetric_and_bounded(difference: int) -> None:
    """What one side expects, the other does not."""
    assert elo.expected(difference) + elo.expected(-difference) == elo.MICRO
    assert 0 < elo.expected(difference) < elo.MICRO


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**9))
def test_expected_never_falls_as_the_lead_grows(difference: int, more: int) -> None:
    """A larger lead never expects less."""
    assert elo.expected(difference) <= elo.expected(difference + more)


def test_leads_beyond_the_limit_count_as_the_limit() -> None:
    """2000 points ahead expects what 800 ahead does."""
    assert elo.expected(2000 * elo.MICRO) == elo.expected(800 * elo.MICRO) == elo.TABLE[800]


def test_lua_table_holds_the_table_in_seven_digits() -> None:
    """Entry d is found by its offset alone."""
    text = elo.lua_table()
    assert len(text) == 802 * 7
    assert list(elo.TABLE) == [int(text[at : at + 7]) for at in range(0, len(text), 7)]


def test_scores_are_means_over_games() -> None:
    """A win, a draw and a loss of first against second average to one half."""
    scores = elo.scores_from_places([[1, 2, 3], [1, 1, 3], [2, 1, 3]])
    assert scores == [[0, 500_000, 10**6], [500_000, 0, 10**6], [0, 0, 0]]


def test_scores_round_halves_to_even() -> None:
    """One draw and 63 losses are 7812.5 millionths, which rounds to 7812."""
    games = [[1, 1]] + [[2, 1]] * 63
    assert elo.scores_from_places(games)[0][1] == 7812
    assert elo.scores_from_places(games)[1][0] == 992_188


def test_scores_of_the_swapped_entrants_are_the_swapped_scores() -> None:
    """The rounding favours nobody: listing the entrants the other way round mirrors the matrix."""
    games = [[1, 1]] + [[2, 1]] * 63
    mirrored = elo.scores_from_places([game[::-1] for game in games])
    assert mirrored[1][0] == elo.scores_from_places(games)[0][1]


@pytest.mark.parametrize("places", [[], [[]], [[1]], [[1, 2], [1, 2, 3]]])
def test_places_that_make_no_match_are_refused(places: list[list[int]]) -> None:
    """No game, a lone entrant and games of different sizes are the caller's fault."""
    with pytest.raises(InputError):
        elo.scores_from_places(places)


@pytest.mark.parametrize(
    ("entrants", "first", "then"), [(2, 40, 16), (3, 52, 26), (4, 64, 32), (6, 64, 32)]
)
def test_k_falls_after_thirty_matches(entrants: int, first: int, then: int) -> None:
    """K is the provisional one up to the thirtieth rated match, then the settled one."""
    assert [elo.k_factor(entrants, n) for n in (0, 29, 30, 999)] == [first, first, then, then]


def test_k_refuses_a_lone_entrant() -> None:
    """There is no rating match of one."""
    with pytest.raises(InputError, match="two entrants or more"):
        elo.k_factor(1, 0)


def test_floor_holds_and_the_bank_pays_for_it() -> None:
    """A loser at the floor stays there, and the bank takes what the winner gained."""
    before = [elo.FLOOR, elo.FLOOR]
    after = elo.update(before, elo.scores_from_places([[1, 2]]), k=[40, 40])
    assert after == [micro("120"), elo.FLOOR]
    assert elo.bank_change(before, after) == -micro("20")


@st.composite
def matches(draw: st.DrawFn) -> tuple[list[int], list[list[int]], list[int]]:
    """Draw ratings, scores and factors of a match of two to six entrants."""
    n = draw(st.integers(2, 6))
    ratings = draw(st.lists(st.integers(elo.FLOOR, 3 * 10**9), min_size=n, max_size=n))
    game = st.lists(st.integers(1, n), min_size=n, max_size=n)
    places = draw(st.lists(game, min_size=1, max_size=7))
    k = draw(st.lists(st.sampled_from([16, 26, 32, 40, 52, 64]), min_size=n, max_size=n))
    return ratings, elo.scores_from_places(places), k


@given(st.lists(matches(), min_size=1, max_size=10))
def test_ratings_and_bank_sum_to_zero(
    played: list[tuple[list[int], list[list[int]], list[int]]],
) -> None:
    """Whatever the K factors and the floor do, ratings and bank always sum to nothing."""
    ladder = [elo.FLOOR + elo.START * (i % 2) for i in range(6)]
    bank = -sum(ladder)
    for _, scores, k in played:
        before = ladder[: len(k)]
        after = elo.update(before, scores, k=k)
        bank += elo.bank_change(before, after)
        ladder[: len(k)] = after
        assert sum(ladder) + bank == 0
        assert min(ladder) >= elo.FLOOR


@given(matches())
def test_equal_k_away_from_the_floor_creates_nothing(
    match: tuple[list[int], list[list[int]], list[int]],
) -> None:
    """With one K for all, what some gain is exactly what the others lose."""
    ratings, scores, k = match
    lifted = [rating + elo.START for rating in ratings]
    after = elo.update(lifted, scores, k=[k[0]] * len(k))
    assert elo.bank_change(lifted, after) == 0


@given(matches(), st.data())
def test_order_of_the_entrants_does_not_matter(
    match: tuple[list[int], list[list[int]], list[int]], data: st.DataObject
) -> None:
    """Entrants listed in another order get the same ratings."""
    ratings, scores, k = match
    n = len(ratings)
    order = data.draw(st.sampled_from(list(permutations(range(n)))[:120]))
    shuffled = elo.update(
        [ratings[i] for i in order],
        [[scores[i][j] for j in order] for i in order],
        k=[k[i] for i in order],
    )
    plain = elo.update(ratings, scores, k=k)
    assert shuffled == [plain[i] for i in order]


@given(matches())
def test_draws_between_equals_change_nothing(
    match: tuple[list[int], list[list[int]], list[int]],
) -> None:
    """Equal ratings and equal places are what was expected."""
    ratings, _, k = match
    equal = [ratings[0]] * len(ratings)
    assert elo.update(equal, elo.scores_from_places([[1] * len(equal)]), k=k) == equal


@pytest.mark.parametrize(
    ("ratings", "scores", "k"),
    [
        ([elo.START], [[0]], [40]),
        ([elo.START] * 2, [[0, 1]], [40, 40]),
        ([elo.START] * 2, [[0, 10**6], [0, 0]], [40]),
        ([elo.START] * 2, [[0, 10**6 + 1], [0, 0]], [40, 40]),
    ],
)
def test_shapes_that_disagree_are_refused(
    ratings: list[int], scores: list[list[int]], k: list[int]
) -> None:
    """Missing rows, factors or scores out of range are named before anything is computed."""
    with pytest.raises(InputError):
        elo.update(ratings, scores, k=k)
