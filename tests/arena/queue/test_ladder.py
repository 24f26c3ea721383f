"""Ratings, standings and the log."""

import random
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import pytest
from redis.asyncio import Redis

from arena.db.scripts import library
from arena.queue.ladder import Ladder
from arena.queue.log_entries import Entered
from arena.queue.match_queue import MatchQueue
from arena.queue.models import Forfeits, Standing
from arena.ratings import elo
from referee.outcome import ForfeitReason, Termination
from tests.arena.queue.making import (
    RULESET,
    assert_balanced,
    enqueue,
    make_result,
    make_spec,
    play,
    take,
)

pytestmark = pytest.mark.redis


@pytest.fixture
def queue(redis: Redis) -> MatchQueue:
    """The queue that feeds the ladder."""
    return MatchQueue(redis, RULESET)


@pytest.fixture
def ladder(redis: Redis) -> Ladder:
    """An empty ladder."""
    return Ladder(redis, RULESET)


async def test_a_bot_enters_once_at_1500(ladder: Ladder) -> None:
    """Entering again changes nothing, and the bank pays."""
    assert await ladder.enter("ada")
    assert not await ladder.enter("ada")
    assert await ladder.rating("ada") == Standing("ada", 1_500_000_000, 1)
    assert (await ladder.snapshot()).bank == -1_500_000_000
    assert await ladder.rating("bob") is None


async def test_a_withdrawn_bot_keeps_its_rating(queue: MatchQueue, ladder: Ladder) -> None:
    """It leaves the standings, even when a late match is committed, and may come back."""
    await play(queue, "m1", ("ada@1", "bob@1"))
    assert await ladder.withdraw("ada")
    await play(queue, "m2", ("ada@1", "bob@1"))
    assert [each.bot for each in await ladder.standings()] == ["bob"]
    standing = await ladder.rating("ada")
    assert standing is not None
    assert standing.place is None
    assert standing.rating > 1_520_000_000
    assert await ladder.enter("ada")
    assert await ladder.standings(0, 1) == [Standing("ada", standing.rating, 1)]
    assert await ladder.size() == 2


async def test_a_committed_result_reads_back_whole(queue: MatchQueue, ladder: Ladder) -> None:
    """Whatever the worker reported stands in the log."""
    spec = make_spec("t-1", "ada@1", "bob@12", "cyd@3", flow="t:cup")
    result = make_result(
        333_333,
        1_000_000,
        0,
        entrants=3,
        terminations={Termination.FINISHED: 500, Termination.FORFEIT: 3},
        forfeits=(Forfeits(1, ForfeitReason.TIMEOUT, 300),),
        sets=(0, 35, 4),
        points=(-24, 0, 1000),
        played=timedelta(seconds=83, milliseconds=5),
    )
    await enqueue(queue, spec)
    await queue.commit(await take(queue), result)
    logged = await ladder.result("t-1")
    assert logged is not None
    assert logged.sequence == 4
    assert (logged.match_id, logged.flow, logged.rated) == ("t-1", "t:cup", True)
    assert (logged.entrants, logged.bots) == (spec.entrants, spec.bots)
    assert logged.pair_scores == result.pair_scores
    assert tuple(map(tuple, logged.scores)) == result.scores
    assert logged.digest == result.digest[:8]
    assert (logged.terminations, logged.games) == (result.terminations, 503)
    assert (logged.forfeits, logged.sets) == (result.forfeits, result.sets)
    assert (logged.points, logged.played) == (result.points, result.played)
    assert abs(logged.time - datetime.now(UTC)) < timedelta(minutes=1)
    assert sum(logged.changes) == 0
    assert logged.annulled is None


async def test_an_unrated_match_changes_no_rating(queue: MatchQueue, ladder: Ladder) -> None:
    """It is logged, but neither ratings nor counts know of it."""
    await enqueue(queue, make_spec("c1", flow="challenge", rated=False))
    reply = await queue.commit(await take(queue), make_result())
    assert reply.logged is not None
    assert (reply.logged.changes, reply.logged.rated) == ((), False)
    snapshot = await ladder.snapshot()
    assert (snapshot.ratings, snapshot.games) == ({}, {})


async def test_a_new_version_inherits_the_rating_and_is_provisional_again(
    queue: MatchQueue, ladder: Ladder
) -> None:
    """K is 40 for a version's first 30 rated matches, then 16, then 40 again for the next."""
    for number in range(30):
        await play(queue, f"a{number}", ("ada@1", "bob@1"), 500_000)
    settled = await ladder.ratings(["ada", "bob"])
    assert settled == {"ada": elo.START, "bob": elo.START}
    await play(queue, "b", ("ada@1", "bob@2"), 1_000_000)
    assert await ladder.ratings(["ada", "bob"]) == {
        "ada": elo.START + 8_000_000,
        "bob": elo.START - 20_000_000,
    }
    assert await ladder.rated_matches(["ada@1", "bob@1", "bob@2", "bob@3"]) == {
        "ada@1": 31,
        "bob@1": 30,
        "bob@2": 1,
        "bob@3": 0,
    }
    await assert_balanced(ladder)


async def test_the_floor_is_paid_by_the_bank(
    queue: MatchQueue, ladder: Ladder, redis: Redis
) -> None:
    """A rating never falls below 100, and the sum with the bank stays 0."""
    await ladder.enter("ada")
    await ladder.enter("bob")
    low: Any = {"ada": elo.FLOOR + 1, "bob": elo.FLOOR + 1}
    await redis.hset(f"{{l:{RULESET}}}:rating", mapping=low)
    await redis.hset(f"{{l:{RULESET}}}:meta", "bank", str(-2 * (elo.FLOOR + 1)))
    await play(queue, "m1", ("ada@1", "bob@1"), 0)
    assert await ladder.ratings(["ada"]) == {"ada": elo.FLOOR}
    await assert_balanced(ladder)


async def test_results_are_listed_newest_first(queue: MatchQueue, ladder: Ladder) -> None:
    """Pages of the log go backwards; entries go forwards without gaps."""
    for number in range(5):
        await play(queue, f"m{number}", ("ada@1", "bob@1"))
    first = await ladder.latest(2)
    assert [each.match_id for each in first] == ["m4", "m3"]
    second = await ladder.latest(2, before=first[-1].sequence)
    assert [each.match_id for each in second] == ["m2", "m1"]
    entries = await ladder.entries(after=0, count=3)
    assert [entry.sequence for entry in entries] == [1, 2, 3]
    assert [entry.bot for entry in entries if isinstance(entry, Entered)] == ["ada", "bob"]
    found = await ladder.results_of(["m3", "nothing", "m1"])
    assert {name: each.match_id for name, each in found.items()} == {"m3": "m3", "m1": "m1"}
    assert await ladder.results_of([]) == {}


RATE_MANY = """
local out, at = {}, 1
while at <= #ARGV do
  local n, ratings, scores, k = tonumber(ARGV[at]), {}, {}, {}
  for i = 1, n do
    ratings[i], k[i] = tonumber(ARGV[at + i]), k_factor(n, tonumber(ARGV[at + n + i]))
  end
  for pair = 1, n * (n - 1) / 2 do
    scores[pair] = tonumber(ARGV[at + 2 * n + pair])
  end
  for _, rating in ipairs(update(ratings, scores, k)) do
    out[#out + 1] = string.format('%.0f', rating)
  end
  at = at + 1 + 2 * n + n * (n - 1) / 2
end
return out
"""


async def test_lua_and_python_rate_alike(redis: Redis) -> None:
    """On 10,000 random matches of 2 to 6 entrants every rating agrees to the last digit."""
    chance = random.Random(2)
    rate = redis.register_script(library("elo") + RATE_MANY)
    for _ in range(10):
        arguments: list[int] = []
        expected: list[int] = []
        for _ in range(1000):
            entrants = chance.randint(2, 6)
            # The whole width: leads beyond 800 Elo, ratings at the floor, whole Elo points.
            ratings = [chance.choice((elo.FLOOR, elo.START, _any(chance))) for _ in range(entrants)]
            played = [chance.randint(0, 60) for _ in range(entrants)]
            scores = [chance.randint(0, elo.MICRO) for _ in combinations(range(entrants), 2)]
            arguments += [entrants, *ratings, *played, *scores]
            k = [elo.k_factor(entrants, matches) for matches in played]
            matrix = make_result(*scores, entrants=entrants).scores
            expected += elo.update(ratings, matrix, k=k)
        assert [int(rating) for rating in await rate(args=arguments)] == expected


def _any(chance: random.Random) -> int:
    return chance.randint(elo.FLOOR, 3000 * elo.MICRO)


async def test_commits_rate_as_the_reference(queue: MatchQueue, ladder: Ladder) -> None:
    """300 matches of changing bots and versions arrive at the reference's ratings and counts."""
    chance = random.Random(3)
    bots = [f"bot{number}" for number in range(8)]
    ratings = dict.fromkeys(bots, elo.START)
    games: dict[str, int] = {}
    for number in range(300):
        names = chance.sample(bots, chance.randint(2, 6))
        versions = tuple(f"{name}@{number // 150 + 1}" for name in names)
        scores = [chance.choice((0, 333_333, 500_000, elo.MICRO)) for _ in combinations(names, 2)]
        await play(queue, f"m{number}", versions, *scores)
        k = [elo.k_factor(len(names), games.get(version, 0)) for version in versions]
        matrix = make_result(*scores, entrants=len(names)).scores
        after = elo.update([ratings[name] for name in names], matrix, k=k)
        ratings.update(zip(names, after, strict=True))
        games.update((version, games.get(version, 0) + 1) for version in versions)
        await assert_balanced(ladder)
    snapshot = await ladder.snapshot()
    assert (snapshot.ratings, snapshot.games) == (ratings, games)


async def test_published_values_come_out_of_the_commit(queue: MatchQueue, ladder: Ladder) -> None:
    """Four newcomers in order: 1532 less a millionth's rounding, as the Python reference says."""
    reply = await _four(queue)
    assert reply == tuple(
        after - elo.START
        for after in elo.update([elo.START] * 4, elo.scores_from_places([[1, 2, 3, 4]]), k=[64] * 4)
    )
    assert [each.bot for each in await ladder.standings()] == ["ada", "bob", "cyd", "dan"]


async def _four(queue: MatchQueue) -> tuple[int, ...]:
    await enqueue(queue, make_spec("m1", "ada@1", "bob@1", "cyd@1", "dan@1"))
    reply = await queue.commit(await take(queue), make_result(entrants=4))
    assert reply.logged is not None
    return reply.logged.changes
