"""The sequential test between two versions of a bot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from arena.cli import build
from arena.cli.compare import half_points
from arena.errors import InputError
from referee.games.replay import ReplayGame
from referee.outcome import Forfeit, ForfeitReason, Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Sequence

BOTS = Path(__file__).parents[3] / "sample_bots"


def compare(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Run ``arena compare`` in this process; return its exit code and its JSON."""
    code = build("compare")(["compare", *words, "--json"], standalone_mode=False) or 0
    return code, json.loads(capsys.readouterr().out)


def test_a_better_version_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    """The heuristic beats the random bot, and the test stops by itself."""
    words = (str(BOTS / "quasenbo_heuristic"), str(BOTS / "random"), "--ruleset", "quasenbo")
    code, found = compare(capsys, *words, "--seed", "a", "--elo1", "60")
    assert code == 0
    assert found["verdict"] == "elo1"
    assert found["llr"] >= found["upper"]
    assert sum(found["counts"]) == found["boards"]


def test_an_equal_version_is_not_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    """A deterministic bot splits every set with itself, whatever the cards."""
    same = str(BOTS / "first_legal")
    words = (same, same, "--ruleset", "quasenbo", "--seed", "a", "--max-boards", "20")
    code, found = compare(capsys, *words, "--batch", "20")
    assert code == 1
    assert found["score"] == 0.5
    assert found["counts"] == [0, 0, 20, 0, 0]


def test_four_seats_are_shared_by_two_sides(capsys: pytest.CaptureFixture[str]) -> None:
    """With four seats every board is a set of four games between two copies each."""
    bots = (str(BOTS / "random"), str(BOTS / "first_legal"))
    words = (*bots, "--ruleset", "pese-katesh:floors=1", "--max-boards", "3", "--batch", "3")
    _, found = compare(capsys, *words, "--seed", "a")
    assert found["games"] == 12
    assert len(found["counts"]) == 9


def test_an_odd_number_of_seats_is_refused() -> None:
    """Two sides cannot share three seats."""
    bot = str(BOTS / "random")
    with pytest.raises(InputError, match="even number"):
        build("compare")(
            ["compare", bot, bot, "--ruleset", "quasenbo:players=3"], standalone_mode=False
        )


@pytest.mark.parametrize(
    ("points", "forfeiting", "expected"),
    [((-3, 0), [], 0), ((0, -1), [], 2), ((-2, -2), [], 1), ((0, 0), [1], 2), ((0, 0), [0], 0)],
)
def test_who_forfeits_has_lost_and_else_points_decide(
    points: tuple[int, int], forfeiting: Sequence[int], expected: int
) -> None:
    """NEW is entrant 0, in seat 0 here."""
    game = ReplayGame(
        board=0,
        table=0,
        seats=(0, 1),
        actions=(),
        times=(),
        forfeits=tuple(Forfeit(seat, ForfeitReason.CRASH, "", 0) for seat in forfeiting),
        termination=Termination.FINISHED,
        outcome=Outcome(points=points, places=(1, 2)),
    )
    assert half_points(game) == expected
