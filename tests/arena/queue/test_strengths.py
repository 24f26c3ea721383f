"""The batch column of a ladder: it follows the log, and outlives its scheduler."""

import pytest
from redis.asyncio import Redis

from arena.queue import rebuild
from arena.queue.log_entries import LoggedResult
from arena.queue.strengths import LadderStrengths, published
from arena.ratings.bradley_terry import ScoredSet, fit
from arena.ratings.half_points import board_scores
from tests.arena.competitions.hall import Hall
from tests.arena.queue.making import make_spec

pytestmark = pytest.mark.redis

BOTS = ["ada", "bob", "cid"]


async def play(hall: Hall, first: int, count: int) -> None:
    """Play rated ladder matches between changing pairs."""
    queue = hall.queues.queue("quasenbo")
    for number in range(first, first + count):
        one, other = BOTS[number % 3], BOTS[(number + 1) % 3]
        spec = make_spec(f"ladder-{number:06d}", f"{one}@1", f"{other}@1")
        await queue.enqueue(spec, flow_weight=1, cap=1000, epoch=None)
    await hall.play()


def follower(hall: Hall) -> LadderStrengths:
    """Return what another scheduler would follow the ladder with."""
    return LadderStrengths(hall.redis, hall.queues.ladder("quasenbo"))


async def test_the_column_is_the_fit_of_all_results(hall: Hall) -> None:
    """Whatever was added when, strengths are those that a look at all history would give."""
    await hall.add_bots(BOTS)
    strengths = follower(hall)
    for first in (0, 10, 20):
        await play(hall, first, 10)
        assert await strengths.update()
    assert not await strengths.update()
    entries = await hall.queues.ladder("quasenbo").entries()
    results = [entry for entry in entries if isinstance(entry, LoggedResult)]
    sets = [
        ScoredSet(
            (result.match_id, board),
            ((BOTS.index(result.bots[0]), BOTS.index(result.bots[1]), scores[0]),),
        )
        for result in results
        for board, scores in enumerate(board_scores(result))
    ]
    expected = fit(sets, entrants=3)
    column = strengths.column()
    for at, bot in enumerate(BOTS):
        strength = column[bot].strength
        assert strength is not None
        assert strength.elo == pytest.approx(expected.elo[at], abs=1e-6)
        assert strength.error == pytest.approx(expected.error(at), abs=1e-3)
        assert column[bot].matches == 20


async def test_a_scheduler_goes_on_where_the_last_one_was(hall: Hall, redis: Redis) -> None:
    """It reads the sums and the log's end, and publishes the same column."""
    await hall.add_bots(BOTS)
    await play(hall, 0, 20)
    first = follower(hall)
    await first.update()
    await first.publish(first.column())
    await play(hall, 20, 10)
    second, afresh = follower(hall), LadderStrengths(redis, hall.queues.ladder("quasenbo"))
    await second.update()
    await redis.delete("{l:quasenbo}:strength-sums")
    await afresh.update()
    assert second.sequence == afresh.sequence
    await second.publish(second.column())
    shown = await published(redis, "quasenbo", [*BOTS, "nobody"])
    assert shown.keys() == set(BOTS)
    assert await published(redis, "quasenbo", []) == {}
    for bot, line in afresh.column().items():
        strength = shown[bot].strength
        assert line.strength is not None
        assert strength is not None
        assert strength.elo == pytest.approx(line.strength.elo, abs=1e-6)
        assert shown[bot].matches == line.matches


async def test_an_annulled_match_is_taken_away(hall: Hall) -> None:
    """The column is then the one that would stand without it."""
    await hall.add_bots(BOTS)
    await play(hall, 0, 15)
    without = follower(hall)
    await without.update()
    await play(hall, 15, 1)
    strengths = follower(hall)
    await strengths.update()
    assert await rebuild.annul(hall.queues.ladder("quasenbo"), "ladder-000015", reason="a test")
    await strengths.update()
    for bot, line in strengths.column().items():
        before = without.column()[bot]
        assert line.matches == before.matches
        assert line.strength is not None
        assert before.strength is not None
        assert line.strength.elo == pytest.approx(before.strength.elo, abs=1e-6)
