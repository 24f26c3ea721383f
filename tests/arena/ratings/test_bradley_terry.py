import math
import random
from itertools import combinations, permutations

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from arena.errors import InputError
from arena.ratings import bradley_terry as bt
from arena.ratings.bradley_terry import ScoredSet, fit


def wins(table: dict[tuple[int, int], int]) -> list[ScoredSet]:
    """Return single games as sets of their own, from wins of i over j."""
    return [
        ScoredSet((pair, number), ((*pair, 1.0),))
        for pair, count in table.items()
        for number in range(count)
    ]


def test_sixty_to_forty() -> None:
    """60 wins of 100 are 70.4365 Elo, and the sandwich is the binomial error of the logit."""
    found = fit(wins({(0, 1): 60, (1, 0): 40}), entrants=2, ridge=0, small_sample=False)
    lead, se = found.difference(0, 1)
    assert lead == pytest.approx(70.4365, abs=5e-5)
    assert se == pytest.approx(35.4600, abs=5e-5)
    assert se == pytest.approx(bt.ELO_PER_UNIT / math.sqrt(100 * 0.6 * 0.4))
    assert found.cfs(0, 1) == pytest.approx(0.9765, abs=5e-5)


def test_small_samples_widen_the_error() -> None:
    """By default the covariance grows by G / (G - 1)."""
    sets = wins({(0, 1): 60, (1, 0): 40})
    plain = fit(sets, entrants=2, ridge=0, small_sample=False).difference(0, 1).se
    wider = fit(sets, entrants=2, ridge=0).difference(0, 1).se
    assert plain is not None
    assert wider == pytest.approx(plain * math.sqrt(100 / 99))


def test_four_teams() -> None:
    """The encyclopaedia's example gives its published strengths, of geometric mean 1."""
    # Source: the worked example of Wikipedia's article "Bradley-Terry model".
    table = {(0, 1): 2, (0, 3): 1, (1, 0): 3, (1, 2): 5, (2, 1): 3, (2, 3): 1, (3, 0): 4, (3, 2): 3}
    found = fit(wins(table), entrants=4, ridge=0)
    strengths = np.exp(found.elo / bt.ELO_PER_UNIT)
    assert strengths == pytest.approx([0.640, 1.043, 0.660, 2.270], abs=6e-4)


def test_journals() -> None:
    """Citations between statistics journals give the published strengths."""
    # Source: A. Agresti, "Categorical Data Analysis", after S. Stigler, "Citation Patterns in the
    # Journals of Statistics and Probability" (1994): rows are cited by columns.
    cited = [[714, 730, 498, 221], [33, 425, 68, 17], [320, 813, 1072, 142], [284, 276, 325, 188]]
    table = {(i, j): cited[i][j] for i in range(4) for j in range(4) if i != j}
    theta = fit(wins(table), entrants=4, ridge=0).elo / bt.ELO_PER_UNIT
    assert theta[1:] - theta[0] == pytest.approx([-2.94907, -0.47957, 0.26895], abs=5e-6)


@given(st.integers(2, 7), st.integers(0, 2**32), st.floats(0.02, 2))
@settings(max_examples=25)
def test_choix_agrees(n: int, seed: int, ridge: float) -> None:
    """The strengths are those of an independent library, with the same penalty."""
    generator = random.Random(seed)
    results = [generator.choice([*permutations(range(n), 2)]) for _ in range(n * 12)]
    sets = [ScoredSet(k, ((i, j, 1.0),)) for k, (i, j) in enumerate(results)]
    theta = fit(sets, entrants=n, ridge=ridge).elo / bt.ELO_PER_UNIT
    # choix penalises alpha * sum theta**2, without the one half.
    oracle = choix.opt_pairwise(n, results, alpha=ridge / 2, tol=1e-10)
    assert theta == pytest.approx(oracle - oracle.mean(), abs=2e-4)


def test_ridge_is_worth_a_virtual_draw() -> None:
    """Near the average, the default ridge moves a strength as one draw against it would."""
    sets = wins({(0, 1): 21, (1, 0): 20, (0, 2): 21, (2, 0): 20})
    pulled = fit(sets, entrants=3).elo[0]
    plain = fit(sets, entrants=3, ridge=0).elo[0]
    # A fixed average entrant at 0 that draws once with each of the three.
    draws = [ScoredSet(("draw", i), ((i, 3, 0.5),)) for i in range(3)]
    drawn = fit([*sets, *draws], entrants=4, ridge=0).elo
    assert plain - pulled == pytest.approx(plain - (drawn[0] - drawn[3]), rel=0.01)
    assert 0 < pulled < plain


def test_order_and_cluster_names_do_not_matter() -> None:
    """Shuffled sets under other names give the same strengths and errors."""
    sets = wins({(0, 1): 7, (1, 0): 5, (1, 2): 6, (2, 0): 9, (0, 2): 4})
    other = [ScoredSet(f"board {k}", one.pairs) for k, one in enumerate(reversed(sets))]
    first, second = fit(sets, entrants=3), fit(other, entrants=3)
    assert first.elo == pytest.approx(second.elo)
    assert first.covariance == pytest.approx(second.covariance)


def test_results_twice_in_one_cluster_teach_nothing_new() -> None:
    """A copy of every set under the same board leaves strengths and errors as they were."""
    sets = wins({(0, 1): 7, (1, 0): 5, (1, 2): 6, (2, 1): 9})
    once, twice = (fit(s, entrants=3, ridge=0) for s in (sets, sets + sets))
    assert once.elo == pytest.approx(twice.elo)
    assert once.covariance == pytest.approx(twice.covariance)


def test_covariance_is_of_differences_only() -> None:
    """Strengths sum to 0 and so do the rows of their covariance."""
    found = fit(wins({(0, 1): 7, (1, 0): 5, (1, 2): 6, (2, 0): 9}), entrants=3)
    assert found.elo.sum() == pytest.approx(0, abs=1e-9)
    assert found.covariance.sum(axis=0) == pytest.approx([0] * 3, abs=1e-6)


def test_places_become_pairs() -> None:
    """A set of three entrants gives the mean of each pair over its rotations."""
    scored = ScoredSet.of("b", entrants=[4, 0, 2], places=[[1, 2, 3], [2, 1, 3], [1, 1, 3]])
    assert scored.pairs == ((4, 0, 0.5), (4, 2, 1.0), (0, 2, 1.0))
    with pytest.raises(InputError, match="2 entrants need as many places"):
        ScoredSet.of("b", entrants=[4, 0], places=[[1, 2, 3]])


def test_unbeaten_entrants_get_words() -> None:
    """Who never gave a point away has no finite error, and nor has the pair."""
    found = fit(wins({(0, 1): 20, (0, 2): 20, (1, 2): 12, (2, 1): 8}), entrants=3)
    assert len(set(found.groups)) > 1
    assert "gave the rest no point" in found.notes[0]
    assert found.error(0) is None
    assert (found.difference(0, 1).se, found.margin(0, 1), found.cfs(0, 1)) == (None, None, None)
    assert found.difference(0, 1).elo > 300


def test_the_rest_keeps_its_errors() -> None:
    """An unbeaten entrant does not cost the others their error bars among themselves."""
    found = fit(wins({(0, 1): 20, (0, 2): 20, (1, 2): 12, (2, 1): 8}), entrants=3)
    assert found.notes[1:] == ("", "")
    assert found.cfs(1, 2) == pytest.approx(0.81, abs=0.02)
    assert found.error(1) == pytest.approx(found.error(2))


def test_losing_everything_gets_words() -> None:
    """Two entrants of whom one won all are separated both ways."""
    found = fit(wins({(0, 1): 20}), entrants=2)
    assert "no upper end" in found.notes[0]
    assert "no lower end" in found.notes[1]


def test_strangers_get_words() -> None:
    """Two pools that never met have no difference to state."""
    found = fit(wins({(0, 1): 9, (1, 0): 9, (2, 3): 9, (3, 2): 9, (1, 2): 0}), entrants=5)
    assert found.notes[0] == ""
    assert "no results lead" in found.notes[2]
    assert found.notes[4] == "unplayed: no set yet"
    assert found.difference(0, 2).se is None
    assert found.difference(2, 3).se is not None


def test_few_sets_get_words() -> None:
    """Seven independent sets are too thin for an error, eight are enough."""
    seven = fit(wins({(0, 1): 4, (1, 0): 3}), entrants=2)
    assert seven.notes[0] == "thin: 7 independent sets, an error needs 8"
    assert (seven.error(0), seven.cfs(0, 1)) == (None, None)
    assert fit(wins({(0, 1): 4, (1, 0): 4}), entrants=2).notes == ("", "")


def test_sets_all_alike_get_words() -> None:
    """Bots that split every set show no spread, so no error is made up from it."""
    found = fit([ScoredSet(k, ((0, 1, 0.5),)) for k in range(30)], entrants=2)
    assert found.difference(0, 1) == (0, None)
    assert found.notes == ("alike: every set said the same",) * 2


def test_separated_without_ridge_is_refused() -> None:
    """Plain maximum likelihood has no maximum there, and the error says what helps."""
    with pytest.raises(InputError, match="ridge above 0"):
        fit(wins({(0, 1): 20}), entrants=2, ridge=0)


@pytest.mark.parametrize(
    "pairs", [((0, 2, 1.0),), ((0, 0, 1.0),), ((-1, 0, 1.0),), ((0, 1, 1.5),), ((0, 1, math.nan),)]
)
def test_pairs_out_of_range_are_refused(pairs: tuple[tuple[int, int, float], ...]) -> None:
    """Unknown entrants and impossible scores are the caller's fault."""
    with pytest.raises(InputError):
        fit([ScoredSet(0, pairs)], entrants=2)


@pytest.mark.parametrize("degrees", [7, 9, 15, 40, 1000])
def test_student95_is_students_t(degrees: int) -> None:
    """The expansion is within a thousandth of the exact quantile."""
    assert bt.student95(degrees) == pytest.approx(student.ppf(0.975, degrees), abs=1e-3)


def test_lopsided_results_converge() -> None:
    """One loss in ten thousand games is far out, and still found."""
    found = fit(wins({(0, 1): 9999, (1, 0): 1}), entrants=2, ridge=0)
    assert found.difference(0, 1).elo == pytest.approx(400 * math.log10(9999), abs=1e-6)


def tournament(
    generator: np.random.Generator, theta: np.ndarray, *, boards: int, luck: float
) -> list[ScoredSet]:
    """Play duplicate sets whose pairs are exactly Bradley-Terry, with luck that the boards share.

    Performance is strength plus Gumbel noise, so each game's pairs are logistic; with chance
    ``luck`` a seat's noise is the board's own, the same for whoever sits there.
    """
    n = len(theta)
    games = generator.gumbel(size=(boards, n, n))
    shared = np.broadcast_to(generator.gumbel(size=(boards, 1, n)), games.shape)
    noise = np.where(generator.random(games.shape) < luck, shared, games)
    seats = (np.arange(n)[None, :] + np.arange(n)[:, None]) % n
    performance = theta + np.take_along_axis(noise, np.broadcast_to(seats, games.shape), axis=2)
    pairs = list(combinations(range(n), 2))
    scores = [(performance[:, :, i] > performance[:, :, j]).mean(axis=1) for i, j in pairs]
    return [
        ScoredSet(
            board, tuple((*pair, float(s[board])) for pair, s in zip(pairs, scores, strict=True))
        )
        for board in range(boards)
    ]


@pytest.mark.parametrize(
    ("strengths", "boards"),
    [((0.3, -0.3), 16), ((0.8, -0.8), 50), ((0.8, 0.2, -0.3, -0.7), 12), ((0.5, 0.2, 0, -0.7), 40)],
)
def test_intervals_cover(strengths: tuple[float, ...], boards: int) -> None:
    """95 % intervals of differences hold the true one in 93 to 97 % of tournaments."""
    generator = np.random.default_rng(20261129)
    theta = np.array(strengths)
    inside, total = 0, 0
    for _ in range(1500):
        found = fit(tournament(generator, theta, boards=boards, luck=0.7), entrants=len(theta))
        for i, j in combinations(range(len(theta)), 2):
            true = (theta[i] - theta[j]) * bt.ELO_PER_UNIT
            margin = found.margin(i, j)
            assert margin is not None
            inside += abs(found.difference(i, j).elo - true) <= margin
            total += 1
    assert 0.93 <= inside / total <= 0.97
