"""Whole tournaments in one command, on an arena that the command brings with it."""

from pathlib import Path

import pytest

from arena.formats.model import Format
from tests.integration.competitions.whole import Whole, four, play

pytestmark = [pytest.mark.redis, pytest.mark.slow]

FORMATS = [
    Whole(format=Format.SWISS, matches=9, clones=3),
    Whole(format=Format.DOUBLE_ELIMINATION, matches=6, clones=2),
    Whole(format=Format.GAUNTLET, matches=5, clones=3),
    Whole(format=Format.GROUPS, matches=3, clones=2, options={"groups": 2, "advance": 1}),
    four(Format.SWISS, 3, clones=3),
    four(Format.SINGLE_ELIMINATION, 2, clones=3),
]
"""The rest of `SIXTEEN` takes longer: ``tests/benchmarks/tournaments.py`` plays it."""


@pytest.mark.parametrize("whole", FORMATS, ids=lambda whole: whole.name)
def test_a_format_crowns_the_better_bot(whole: Whole, tmp_path: Path) -> None:
    """Copies of a good bot and of a weak one play; the command ends, and a good one has won."""
    play(whole, tmp_path).check(whole)
