"""Every registered game keeps the promises of the conformance suite."""

from itertools import product

import pytest

from referee.errors import InvalidRulesetError
from referee.games import games, parse_ruleset
from referee.games.conformance import check_game

PRESETS = [info.name for info in games()]
QUASENBO = [
    f"{name}:players={players},double={double},excuse={excuse},pawns={extra},courts={extra}"
    for name, players, double, excuse, extra in product(
        ("quasenbo", "quasenbo-magnus"), "23456", ("no", "yes"), ("no", "yes"), ("no", "yes")
    )
]
CORNERS = [
    "quasenbo:hand=1",
    "quasenbo:hand=18",
    "quasenbo:players=5,hand=7",
    "quasenbo-magnus:players=5,hand=7",
    "quasenbo:players=6,hand=7,pawns=yes,courts=yes",
    "pese-katesh:floors=1",
    "pese-katesh:floors=1,teams=yes",
]


@pytest.mark.parametrize("ruleset", [*QUASENBO, *CORNERS])
def test_a_choice_of_options_keeps_every_promise(ruleset: str) -> None:
    """The suite passes for the game that the options make."""
    check_game(parse_ruleset(ruleset), seed=ruleset.encode())


@pytest.mark.parametrize("seed", [b"a", b"b"])
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_keeps_every_promise(preset: str, seed: bytes) -> None:
    """The suite passes for every game as it is registered."""
    check_game(parse_ruleset(preset), seed=seed)


@pytest.mark.parametrize("info", games(), ids=PRESETS)
def test_every_value_of_every_option_makes_a_game_or_says_why_not(info: object) -> None:
    """A single option either builds a game under its canonical name or is refused."""
    for option in info.options:  # type: ignore[attr-defined]
        for value in option.values:
            text = f"{info.name}:{option.name}={value}"  # type: ignore[attr-defined]
            try:
                game = parse_ruleset(text)
            except InvalidRulesetError as error:
                assert "hand may be" in str(error)  # noqa: PT017 - most values are accepted
            else:
                assert parse_ruleset(game.ruleset) == game
