"""The clock over real streams: a bot is charged its own time, however many games it holds."""

from pathlib import Path
from statistics import median

import pytest

from referee.games.replay import TurnTimes
from referee.match.runner import MatchResult
from tests.referee.real_bots import FIRST, make_plan, play, write_bot

pytestmark = pytest.mark.flaky(reruns=2)  # the machine's own time is judged


def turns_of(result: MatchResult, entrant: int) -> list[TurnTimes]:
    """Return the times of every turn of one entrant."""
    return [
        times
        for game in result.replay.games
        for times in game.times
        if times is not None and game.seats[times.seat] == entrant
    ]


@pytest.mark.parametrize("parallel_games", [1, 8, 32])
async def test_a_turn_is_charged_its_own_time_and_not_the_queue(
    tmp_path: Path, parallel_games: int
) -> None:
    """With 32 games a turn waits for 31 others; charged is what the bot took for it alone."""
    sleeper = write_bot(tmp_path / "sleeper", "time.sleep(0.03)\n" + FIRST)
    plan = make_plan(
        "quasenbo",
        sleeper,
        write_bot(tmp_path / "other"),
        boards=min(parallel_games, 16),
        rotations=1,
        control="60",
        parallel_games=parallel_games,
    )
    result = await play(plan)
    turns = turns_of(result, 0)
    charged = [turn.charged / 1e6 for turn in turns]
    thought = [turn.think / 1e6 for turn in turns]
    assert min(thought) >= 0.03
    assert sum(charged) >= 0.9 * sum(thought)
    assert median(charged) < 4 * median(thought)


async def test_a_fast_turn_does_not_pay_for_a_slow_one(tmp_path: Path) -> None:
    """Answers that left before a slow turn began are not held back by it."""
    uneven = write_bot(tmp_path / "uneven", "if self.asked % 5 == 4: time.sleep(0.2)\n" + FIRST)
    plan = make_plan(
        "quasenbo",
        uneven,
        write_bot(tmp_path / "other"),
        boards=8,
        rotations=1,
        control="60",
        parallel_games=8,
    )
    turns = turns_of(await play(plan), 0)
    fast = [turn.charged / 1e6 for turn in turns if turn.think < 100_000]
    slow = [turn.charged / 1e6 for turn in turns if turn.think >= 200_000]
    assert len(slow) >= len(turns) // 5 - 1
    assert median(slow) > 0.15
    assert median(fast) < 0.1
