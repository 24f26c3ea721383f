import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import InputError
from arena.ratings import sprt
from arena.ratings.sprt import GameCounts, PairCounts, SprtVerdict

# Reference values: fastchess's test suite (elo_test.cpp, sprt_test.cpp), to its 1 % or better.


@pytest.mark.parametrize(
    ("counts", "published"),
    [
        (PairCounts(34, 54, 31, 32, 64, 75), (55.58, 27.65, 57.94, 28.28, 100.00)),
        (PairCounts(332, 433, 457, 41, 333, 334), (-8.64, 10.33, -9.17, 10.96, 5.05)),
        (GameCounts(136, 96, 111), (40.70, 30.43, 49.77, 36.77, 99.60)),
    ],
)
def test_estimates_have_the_published_values(
    counts: sprt.Counts, published: tuple[float, ...]
) -> None:
    """Elo, normalised Elo and likelihood of superiority agree to the digits published."""
    found = sprt.estimate(counts)
    assert found.los is not None
    numbers = (found.elo, found.elo_error, found.nelo, found.nelo_error, 100 * found.los)
    assert numbers == pytest.approx(published, abs=0.005)
    assert found.note == ""


@pytest.mark.parametrize(
    ("counts", "nelo", "nelo_error"),
    [(GameCounts(76, 89, 123), -20.76, 40.13), (GameCounts(34, 356, 0), -508.44, 34.48)],
)
def test_normalised_elo_of_single_games(counts: GameCounts, nelo: float, nelo_error: float) -> None:
    """Single games divide by their own deviation, not by a pair's."""
    found = sprt.estimate(counts)
    assert (found.nelo, found.nelo_error) == pytest.approx((nelo, nelo_error), abs=0.005)


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "ratio"),
    [
        (GameCounts(21404, 21184, 40708), 0.5, 2.5, -1.57),
        (GameCounts(57433, 57030, 106593), 0, 2, -2.59),
        (PairCounts(223, 9863, 20279, 1000, 10037, 246), 0.5, 2.5, -3.07),
        (PairCounts(871, 26175, 55003, 980, 26678, 821), 0, 2, -4.98),
    ],
)
def test_ratios_have_the_published_values(
    counts: sprt.Counts, elo0: float, elo1: float, ratio: float
) -> None:
    """The generalised test's log-likelihood ratio agrees to the digits published."""
    assert sprt.llr(counts, elo0=elo0, elo1=elo1) == pytest.approx(ratio, abs=0.005)


def test_nothing_played_decides_nothing() -> None:
    """Before the first pair the ratio is 0, and an estimate is refused."""
    assert sprt.llr(PairCounts(), elo0=0, elo1=20) == 0
    with pytest.raises(InputError, match="at least one"):
        sprt.estimate(PairCounts())


@pytest.mark.parametrize(
    ("counts", "elo"),
    [
        (PairCounts(ww=12), math.inf),
        (PairCounts(ll=12), -math.inf),
        (GameCounts(wins=3), math.inf),
        (PairCounts(wl=5, dd=7), 0.0),
        (PairCounts(wd=1), pytest.approx(190.85, abs=0.01)),
    ],
)
def test_results_all_alike_give_no_error_bar(counts: sprt.Counts, elo: float) -> None:
    """Without spread the Elo stands alone, and a sentence says why."""
    found = sprt.estimate(counts)
    assert found.elo == elo
    assert [found.elo_error, found.nelo, found.nelo_error, found.los] == [None] * 4
    assert "no spread" in found.note


def test_interval_beyond_certainty_has_no_width() -> None:
    """An interval that reaches a score of 1 has no upper Elo, which is said."""
    found = sprt.estimate(PairCounts(ww=9, wd=1))
    assert found.elo == pytest.approx(636.4, abs=0.1)
    assert found.elo_error is None
    assert found.los is not None
    assert "no end" in found.note


def test_a_clean_sweep_decides_soon() -> None:
    """Winning every pair ends the test after a few dozen, though no other score was ever seen."""
    ratios = [sprt.llr(PairCounts(ww=n), elo0=0, elo1=20) for n in (10, 100)]
    assert 0 < ratios[0] < ratios[1]
    assert sprt.verdict(ratios[1]) is SprtVerdict.ELO1


def test_drawn_pairs_speak_against_a_lead() -> None:
    """Only split boards are evidence for no lead."""
    assert sprt.verdict(sprt.llr(PairCounts(wl=3000), elo0=0, elo1=20)) is SprtVerdict.ELO0


def test_bounds_are_walds() -> None:
    """With 5 % both ways the bounds are ln 19 below and above."""
    assert sprt.bounds(alpha=0.05, beta=0.05) == pytest.approx((-math.log(19), math.log(19)))
    assert sprt.bounds(alpha=0.01, beta=0.1) == pytest.approx(
        (math.log(0.1 / 0.99), math.log(0.9 / 0.01))
    )


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (-3, SprtVerdict.ELO0),
        (-2.9, SprtVerdict.CONTINUE),
        (0, SprtVerdict.CONTINUE),
        (3, SprtVerdict.ELO1),
    ],
)
def test_verdict_waits_for_a_bound(ratio: float, verdict: SprtVerdict) -> None:
    """The test goes on between the bounds."""
    assert sprt.verdict(ratio) is verdict


def test_sets_of_two_games_are_pairs() -> None:
    """A win and a draw is the same pair as a draw and a win: three half points."""
    counts = sprt.SetCounts(games_each=2)
    for half_points in (3, 3, 2, 2, 2, 0, 1, 4):
        counts.add(half_points)
    assert counts.cells() == PairCounts(ll=1, ld=1, wl=2, dd=1, wd=2, ww=1).cells()


def test_other_half_points_are_no_set() -> None:
    """Two games give no five half points."""
    with pytest.raises(InputError, match="0 to 4 half points"):
        sprt.SetCounts(games_each=2).add(5)


@pytest.mark.parametrize(("alpha", "beta"), [(0, 0.05), (0.05, 0), (0.5, 0.5)])
def test_impossible_error_rates_are_refused(alpha: float, beta: float) -> None:
    """Chances of error are above 0 and together below 1."""
    with pytest.raises(InputError, match="chances"):
        sprt.bounds(alpha=alpha, beta=beta)


@pytest.mark.parametrize(("elo0", "elo1"), [(5, 5), (20, 0), (0, 3000), (0, math.nan)])
def test_impossible_hypotheses_are_refused(elo0: float, elo1: float) -> None:
    """The first hypothesis lies below the second, both within reach."""
    with pytest.raises(InputError, match="elo0 must be below elo1"):
        sprt.llr(PairCounts(wl=1), elo0=elo0, elo1=elo1)


def test_negative_counts_are_refused() -> None:
    """A count below 0 is a slip of the caller."""
    with pytest.raises(InputError, match="start from 0"):
        PairCounts(ld=-1)
    with pytest.raises(InputError, match="start from 0"):
        GameCounts(wins=-1)


counts_of_pairs = st.builds(PairCounts, *[st.integers(0, 5000)] * 6)


@given(counts_of_pairs, st.floats(-50, 50), st.floats(0.5, 50))
def test_swapping_the_bots_negates_everything(
    counts: PairCounts, elo0: float, width: float
) -> None:
    """Seen from the other bot, the ratio of the mirrored hypotheses is the negated one."""
    swapped = PairCounts(counts.ww, counts.wd, counts.wl, counts.dd, counts.ld, counts.ll)
    ratio = sprt.llr(counts, elo0=elo0, elo1=elo0 + width)
    mirrored = sprt.llr(swapped, elo0=-elo0 - width, elo1=-elo0)
    assert mirrored == pytest.approx(-ratio, abs=1e-6, rel=1e-6)


@given(counts_of_pairs.filter(lambda c: c != PairCounts()))
def test_a_win_more_never_lowers_the_estimate(counts: PairCounts) -> None:
    """One more pair won cannot lower the Elo."""
    more = PairCounts(counts.ll, counts.ld, counts.wl, counts.dd, counts.wd, counts.ww + 1)
    assert sprt.estimate(counts).elo <= sprt.estimate(more).elo


@given(st.floats(-1500, 1500))
def test_score_and_elo_are_inverse(elo: float) -> None:
    """An Elo lead and its mean score say the same."""
    assert sprt.elo_from_score(sprt.score_from_elo(elo)) == pytest.approx(elo, abs=1e-6)


def test_the_test_errs_as_seldom_as_it_says() -> None:
    """With the first hypothesis true, far fewer than one test in ten accepts the second."""
    generator = random.Random(20261129)
    accepted = 0
    for _ in range(100):
        counts = [0] * 5
        decision = SprtVerdict.CONTINUE
        while decision is SprtVerdict.CONTINUE:
            for drawn in generator.choices(range(5), weights=[1, 2, 4, 2, 1], k=50):
                counts[drawn] += 1
            ll, ld, dd, wd, ww = counts
            pairs = PairCounts(ll=ll, ld=ld, dd=dd, wd=wd, ww=ww)
            decision = sprt.verdict(sprt.llr(pairs, elo0=0, elo1=40))
        accepted += decision is SprtVerdict.ELO1
    assert accepted <= 10
