"""A server that is killed and comes back: nothing is lost, nothing counts twice."""

import asyncio
import secrets
from datetime import timedelta

import pytest
from redis.exceptions import RedisError

from arena.db.connection import connect
from arena.queue.ladder import Ladder
from arena.queue.match_queue import MatchQueue
from arena.queue.models import Committed, Lease, Renewed, RetryPolicy
from arena.queue.rebuild import replay
from tests.arena.queue.making import LONG, RULESET, enqueue, make_result, make_spec, take
from tests.redis_server import RedisServer

pytestmark = pytest.mark.redis


async def test_a_killed_server_keeps_every_answered_step(durable_server: RedisServer) -> None:
    """Queued, leased and done matches, the log and the ratings are there again."""
    redis = await connect(durable_server.url)
    queue, ladder = MatchQueue(redis, RULESET), Ladder(redis, RULESET)
    await enqueue(queue, *(make_spec(f"m{number}") for number in range(6)))
    done, leased = await take(queue), await take(queue)
    first = await queue.commit(done, make_result())
    before = await ladder.snapshot(), await queue.counts()
    durable_server.kill()
    durable_server.start()
    assert (await ladder.snapshot(), await queue.counts()) == before
    again = await queue.commit(done, make_result())
    assert (again.answer, again.logged) == (Committed.ALREADY, first.logged)
    assert await queue.renew(leased, duration=LONG) is Renewed.OK
    assert (await queue.commit(leased, make_result())).answer is Committed.COMMITTED
    assert (await replay(ladder)).equal
    await redis.aclose()


async def test_a_lease_across_a_restart_is_no_attempt(durable_server: RedisServer) -> None:
    """The worker could not renew while the server was down: the match waits again, uncounted."""
    redis = await connect(durable_server.url)
    queue = MatchQueue(redis, RULESET, policy=RetryPolicy(backoff=timedelta(0)))
    durable_server.settle()
    await enqueue(queue, make_spec("m1"))
    await take(queue, duration=timedelta(milliseconds=100))
    durable_server.kill()
    await asyncio.sleep(0.1)
    durable_server.start()
    reaped = await queue.reap()
    assert (reaped.requeued, reaped.expired) == (("m1",), 0)
    assert (await take(queue)).attempt == 1
    await redis.aclose()


async def test_kills_in_the_middle_of_work_double_nothing(durable_server: RedisServer) -> None:
    """Workers that repeat unanswered commits end with each match once in the log."""
    redis = await connect(durable_server.url)
    queue, ladder = MatchQueue(redis, RULESET), Ladder(redis, RULESET)
    ids = [f"m{number}" for number in range(120)]
    await enqueue(queue, *map(make_spec, ids))

    async def worker(name: str) -> None:
        while (lease := await _lease(queue, name)) is not None:
            await _until_answered(queue, lease)

    async def chaos() -> None:
        for _ in range(3):
            await asyncio.sleep(0.05)
            durable_server.kill()
            durable_server.start()

    await asyncio.gather(worker("w1"), worker("w2"), chaos())
    # A lease whose answer was lost with the server stays leased until it expires.
    counts = await queue.counts()
    assert counts.ready == 0
    assert counts.done + counts.leased == 120
    entries = await ladder.latest(1000)
    assert len({entry.match_id for entry in entries}) == len(entries) == counts.done
    assert (await replay(ladder)).equal
    await redis.aclose()


async def _lease(queue: MatchQueue, worker: str) -> Lease | None:
    while True:
        try:
            return await queue.lease(worker, token=secrets.token_hex(16), duration=LONG)
        except (RedisError, OSError):
            await asyncio.sleep(0.01)


async def _until_answered(queue: MatchQueue, lease: Lease) -> None:
    while True:
        try:
            reply = await queue.commit(lease, make_result())
        except (RedisError, OSError):
            await asyncio.sleep(0.01)
            continue
        assert reply.answer in {Committed.COMMITTED, Committed.ALREADY}
        return
