"""Whole tournaments in one command, on an arena that the command brings with it."""

from pathlib import Path

import pytest

from arena.formats.model import Format
from tests.integration.competitions.whole import SIXTEEN, Whole, four, play

pytestmark = [pytest.mark.redis, pytest.mark.slow]

SMALLER = [
    Whole(format=Format.ROUND_ROBIN, matches=28, clones=4),
    Whole(format=Format.SWISS, matches=12, clones=4),
    Whole(format=Format.DOUBLE_ELIMINATION, matches=14, clones=4),
    Whole(format=Format.GROUPS, matches=15, clones=4, options={"groups": 2}),
    four(Format.ROUND_ROBIN, 14, clones=4),
    four(Format.SWISS, 6, clones=4),
    four(Format.SINGLE_ELIMINATION, 3, clones=4),
    four(Format.GROUPS, 7, clones=4, groups=2),
]
"""With sixteen entrants they take longer; ``tests/benchmarks/tournaments.py`` plays them so."""

QUICK = [each for each in SIXTEEN if each.processes <= 64]


@pytest.mark.parametrize("whole", [*QUICK, *SMALLER], ids=lambda whole: whole.name)
def test_a_format_crowns_the_better_bot(whole: Whole, tmp_path: Path) -> None:
    """Copies of a good bot and of a weak one play; the command ends, and a good one has won."""
    play(whole, tmp_path).check(whole)
