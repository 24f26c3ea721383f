from collections import defaultdict
from pathlib import Path

import pytest

from referee.games import parse_ruleset
from referee.match.runner import MatchResult
from tests.sample_bots.playing import forfeits, make_quick, play, points, printed, wins

QUICK = 0.003
"""Seconds a turn that a bot which searches gets in a test."""


def points_by_board(result: MatchResult) -> list[list[int]]:
    """Return, for each board, the points that each entrant made in all rotations."""
    sums: dict[int, list[int]] = defaultdict(lambda: [0] * len(result.replay.entrants))
    for game in result.replay.games:
        for entrant, gain in zip(game.seats, game.outcome.points, strict=True):
            sums[game.board][entrant] += gain
    return [row for _, row in sorted(sums.items())]


@pytest.mark.parametrize(
    "ruleset",
    [
        "quasenbo",
        "quasenbo:double=yes",
        "quasenbo:courts=yes,excuse=no,players=3",
        "quasenbo:courts=yes,pawns=yes,players=4",
        "quasenbo:players=5",
        "quasenbo:double=yes,pawns=yes,players=6",
        "quasenbo-magnus",
        "quasenbo-magnus:double=yes,excuse=yes,players=3",
    ],
)
async def test_every_bot_plays_every_kind_of_quasenbo(ruleset: str, tmp_path: Path) -> None:
    """No bot forfeits, whatever the options and however many play."""
    search = make_quick(tmp_path, "quasenbo_search", seconds=QUICK)
    bots: list[Path | str] = [search, "quasenbo_heuristic", "random", "first_legal"] * 2
    entrants = parse_ruleset(ruleset).entrants
    result = await play(ruleset, *bots[:entrants], boards=6, rotations=1)
    assert not forfeits(result), printed(result)


@pytest.mark.parametrize("ruleset", ["pese-katesh:floors=1", "pese-katesh:teams=yes"])
async def test_every_bot_plays_pese_katesh(ruleset: str, tmp_path: Path) -> None:
    """No bot forfeits, alone or in a team."""
    search = make_quick(tmp_path, "pese_katesh_search", seconds=QUICK)
    bots: list[Path | str] = [search, "pese_katesh_heuristic", "random", "first_legal"]
    result = await play(ruleset, *bots[: parse_ruleset(ruleset).entrants], boards=2, rotations=1)
    assert not forfeits(result), printed(result)


@pytest.mark.parametrize("ruleset", ["quasenbo", "quasenbo:double=yes", "quasenbo-magnus"])
async def test_the_quasenbo_heuristic_beats_random(ruleset: str) -> None:
    """The heuristic wins six games of ten against random actions."""
    result = await play(ruleset, "quasenbo_heuristic", "random", boards=100)
    assert not forfeits(result)
    assert wins(result)[0] >= 120


async def test_the_pese_katesh_heuristic_beats_random() -> None:
    """The heuristic makes points where three random bots lose many."""
    bots = ("pese_katesh_heuristic", "random", "random", "random")
    result = await play("pese-katesh:floors=1", *bots, boards=8, rotations=1)
    assert not forfeits(result)
    heuristic, *others = points(result)
    assert heuristic > 0 > max(others)


@pytest.mark.parametrize(
    ("ruleset", "bot"),
    [
        ("quasenbo", "quasenbo_heuristic"),
        ("quasenbo:players=3", "quasenbo_heuristic"),
        ("quasenbo", "random"),
        ("pese-katesh:floors=1,teams=yes", "pese_katesh_heuristic"),
    ],
)
async def test_copies_of_a_bot_split_every_set(ruleset: str, bot: str) -> None:
    """All rotations of a board give copies of a reproducible bot exactly the same points."""
    result = await play(ruleset, bot, boards=10)
    assert not forfeits(result)
    assert all(len(set(row)) == 1 for row in points_by_board(result))


async def test_four_equal_bots_make_minus_eight_a_floor() -> None:
    """A floor is worth -32 points, of which equal bots get a quarter each over all rotations."""
    result = await play("pese-katesh:floors=1", "pese_katesh_heuristic", boards=2)
    assert not forfeits(result)
    assert points_by_board(result) == [[-8 * 4] * 4] * 2


async def test_the_pese_katesh_search_beats_random(tmp_path: Path) -> None:
    """The search makes far more points than three random bots."""
    search = make_quick(tmp_path, "pese_katesh_search", seconds=QUICK)
    bots = (search, "random", "random", "random")
    result = await play("pese-katesh:floors=1", *bots, boards=6, rotations=1)
    assert not forfeits(result), printed(result)
    searcher, *others = points(result)
    assert searcher > max(others)


async def test_the_quasenbo_search_beats_random(tmp_path: Path) -> None:
    """The search wins most games against random actions, even when it has no time to think."""
    search = make_quick(tmp_path, "quasenbo_search", seconds=0.001)
    result = await play("quasenbo:courts=yes,double=yes,pawns=yes", search, "random", boards=80)
    assert not forfeits(result), printed(result)
    searcher, random = wins(result)
    assert searcher > random
