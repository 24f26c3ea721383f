"""Sums over sets: the fit that the sets themselves would give."""

import json
import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import InputError
from arena.ratings.bradley_terry import ScoredSet, fit
from arena.ratings.set_sums import SetSums

NAMES = ["ada", "bob", "cid", "dan", "eve", "fay"]


def drawn(seed: int, count: int, size: int) -> list[tuple[list[str], list[float]]]:
    """Return sets of random tables of so many entrants."""
    generator = random.Random(seed)
    pairs = size * (size - 1) // 2
    return [
        (generator.sample(NAMES, size), [generator.randrange(9) / 8 for _ in range(pairs)])
        for _ in range(count)
    ]


@given(st.integers(0, 10**6), st.integers(1, 60), st.sampled_from([2, 3, 4]))
def test_the_fit_is_that_of_the_sets(seed: int, count: int, size: int) -> None:
    """Strengths, covariance and notes agree, however the entrants of a table are ordered."""
    sums, sets = SetSums(), []
    for number, (entrants, scores) in enumerate(drawn(seed, count, size)):
        sums.add(entrants, scores)
        places = combinations([NAMES.index(name) for name in entrants], 2)
        sets.append(
            ScoredSet(number, tuple((i, j, s) for (i, j), s in zip(places, scores, strict=True)))
        )
    found, expected = sums.fit(NAMES), fit(sets, entrants=len(NAMES))
    assert np.allclose(found.elo, expected.elo, atol=1e-6)
    assert np.allclose(found.covariance, expected.covariance, rtol=1e-6, atol=1e-4)
    assert found.clusters == expected.clusters
    assert found.groups == expected.groups


def test_what_is_taken_away_leaves_no_trace() -> None:
    """Adding and taking away in another order gives the fit without it."""
    kept, gone = drawn(1, 40, 2), drawn(2, 20, 2)
    sums, clean = SetSums(), SetSums()
    for entrants, scores in kept + gone:
        sums.add(entrants, scores)
    for entrants, scores in reversed(gone):
        sums.add(entrants[::-1], [1 - score for score in scores], times=-1)
    for entrants, scores in kept:
        clean.add(entrants, scores)
    assert np.allclose(sums.fit(NAMES).elo, clean.fit(NAMES).elo, atol=1e-9)
    assert sums.fit(NAMES).notes == clean.fit(NAMES).notes
    assert len(sums) == len(clean)


def test_sums_survive_json() -> None:
    """A scheduler that follows goes on with them."""
    sums = SetSums()
    for entrants, scores in drawn(3, 30, 4):
        sums.add(entrants, scores)
    again = SetSums.of(json.loads(json.dumps(list(sums.document()))))
    assert again._tables.keys() == sums._tables.keys()
    assert np.array_equal(again.fit(NAMES).elo, sums.fit(NAMES).elo)


def test_sets_of_strangers_are_left_out() -> None:
    """A fit of some entrants is made of the sets among them."""
    sums = SetSums()
    sums.add(["ada", "bob"], [1.0])
    sums.add(["ada", "cid"], [0.0])
    assert sums.fit(["ada", "bob"]).clusters == (1, 1)


def test_a_table_without_sense_is_refused() -> None:
    """Nobody plays against itself, and each pair has one score."""
    with pytest.raises(InputError, match="different entrants"):
        SetSums().add(["ada", "ada"], [0.5])
    with pytest.raises(InputError, match="a score a pair"):
        SetSums().add(["ada", "bob"], [0.5, 0.5])
