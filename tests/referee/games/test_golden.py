"""Golden playthroughs: a change of the rules, the texts or the card luck shows here.

``python tests/referee/games/test_golden.py`` writes them anew; read the difference before it is
committed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from referee.games import games, parse_ruleset
from referee.games.conformance import playthrough

FOLDER = Path(__file__).parent / "golden"
RULESETS = (
    "pese-katesh:floors=1",
    "pese-katesh:floors=1,teams=yes",
    "quasenbo",
    "quasenbo-magnus",
    "quasenbo-magnus:excuse=yes,pawns=yes",
    "quasenbo:courts=yes,double=yes,pawns=yes,players=6",
    "quasenbo:double=yes,players=3",
    "quasenbo:hand=18",
    "quasenbo:hand=7,players=5",
)


def golden_text(ruleset: str) -> str:
    """Return the playthrough of a ruleset; its seed is the ruleset's own text."""
    return playthrough(parse_ruleset(ruleset), seed=ruleset.encode())


def golden_file(ruleset: str) -> Path:
    """Return where the golden copy lies."""
    return FOLDER / f"{ruleset.replace(':', '.')}.txt"


@pytest.mark.parametrize("ruleset", RULESETS)
def test_a_playthrough_is_as_it_was(ruleset: str) -> None:
    """Every event, observation, legal action and the outcome are those of the golden copy."""
    assert golden_text(ruleset) == golden_file(ruleset).read_text(encoding="utf-8")


def test_every_game_has_a_golden_playthrough() -> None:
    """A game that is registered without one fails here."""
    assert {info.name for info in games()} == {text.partition(":")[0] for text in RULESETS}


def test_there_is_no_golden_copy_that_nothing_compares() -> None:
    """Every file in the folder belongs to a ruleset above."""
    assert set(FOLDER.iterdir()) == set(map(golden_file, RULESETS))


if __name__ == "__main__":
    for one in RULESETS:
        golden_file(one).write_text(golden_text(one), encoding="utf-8")
