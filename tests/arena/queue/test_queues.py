"""All ladders together, and the active scheduler."""

import asyncio
import secrets
from datetime import timedelta

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as LostConnectionError

from arena.db.connection import connect
from arena.errors import ArenaError, InputError
from arena.queue.models import Enqueued
from arena.queue.queues import Queues
from arena.scheduler.leadership import Leadership
from tests.arena.queue.making import LONG, enqueue, make_spec

pytestmark = pytest.mark.redis

RULESETS = ("pese-katesh", "quasenbo", "quasenbo:double=yes,players=3")


async def _lease(queues: Queues) -> tuple[str, int] | None:
    lease = await queues.lease("w1", token=secrets.token_hex(16), duration=LONG)
    return (lease.spec.ruleset, lease.spec.cost) if lease else None


async def test_ladders_are_listed(redis: Redis) -> None:
    """Opening a ladder twice lists it once."""
    queues = Queues(redis)
    for ruleset in (*RULESETS, *RULESETS):
        await queues.open_ladder(ruleset)
    assert await queues.rulesets() == sorted(RULESETS)
    assert queues.queue("quasenbo") is queues.queue("quasenbo")
    assert queues.ladder("quasenbo") is queues.ladder("quasenbo")


async def test_a_ladder_of_another_schema_is_refused(redis: Redis) -> None:
    """Keys that this version cannot read are not touched."""
    await redis.hset("{l:quasenbo}:meta", "schema", "7")
    with pytest.raises(ArenaError, match="schema b'7'"):
        await Queues(redis).open_ladder("quasenbo")


async def test_workers_share_themselves_over_ladders_by_games(redis: Redis) -> None:
    """With matches of different cost waiting everywhere, each ladder gets the same games."""
    queues = Queues(redis)
    costs = dict(zip(RULESETS, (4, 16, 6), strict=True))
    for ruleset, cost in costs.items():
        await queues.open_ladder(ruleset)
        specs = (make_spec(f"m{n}", ruleset=ruleset, cost=cost) for n in range(2000 // cost))
        await enqueue(queues.queue(ruleset), *specs)
    games = dict.fromkeys(RULESETS, 0)
    while sum(games.values()) < 3000:
        leased = await _lease(queues)
        assert leased is not None
        games[leased[0]] += leased[1]
    assert all(abs(count / 1000 - 1) < 0.05 for count in games.values()), games


async def test_a_lease_is_not_lost_with_what_it_is_charged(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis went away between the lease and its share: the worker has the match, and plays it."""
    queues = Queues(redis)
    await queues.open_ladder("quasenbo")
    await enqueue(queues.queue("quasenbo"), make_spec("m1", ruleset="quasenbo", cost=4))
    run = queues._scripts.run

    async def lost(name: str, *arguments: str | bytes | int) -> object:
        if name == "share":
            raise LostConnectionError
        return await run(name, *arguments)

    monkeypatch.setattr(queues._scripts, "run", lost)
    assert await _lease(queues) == ("quasenbo", 4)


async def test_a_worker_takes_what_there_is(redis: Redis) -> None:
    """An empty ladder that is next does not keep a worker from the others."""
    queues = Queues(redis)
    for ruleset in RULESETS:
        await queues.open_ladder(ruleset)
    assert await _lease(queues) is None
    await enqueue(queues.queue("quasenbo"), make_spec("m1"), make_spec("m2"))
    assert await _lease(queues) == ("quasenbo", 16)
    only = await queues.lease(
        "w1", token=secrets.token_hex(16), duration=LONG, rulesets={"pese-katesh"}
    )
    assert only is None


async def test_an_idle_ladder_saves_nothing_up(redis: Redis) -> None:
    """A ladder that had no matches for long shares from now on, no more."""
    queues = Queues(redis)
    for ruleset in RULESETS[:2]:
        await queues.open_ladder(ruleset)
        specs = (make_spec(f"m{n}", ruleset=ruleset) for n in range(100))
        if ruleset == "quasenbo":
            await enqueue(queues.queue(ruleset), *specs)
    for _ in range(50):
        await _lease(queues)
    specs = (make_spec(f"n{n}", ruleset="pese-katesh") for n in range(100))
    await enqueue(queues.queue("pese-katesh"), *specs)
    taken = [await _lease(queues) for _ in range(10)]
    assert 4 <= taken.count(("quasenbo", 16)) <= 6


async def test_one_scheduler_is_active(redis: Redis) -> None:
    """Another stands by until the first resigns; then the epoch grows."""
    first, second = Leadership(redis, "first"), Leadership(redis, "second")
    assert await first.acquire(duration=LONG) == 1
    assert await second.acquire(duration=LONG) is None
    assert await first.acquire(duration=LONG) == 1
    assert await first.renew(epoch=1, duration=LONG)
    await second.resign()
    assert await second.acquire(duration=LONG) is None
    await first.resign()
    assert await second.acquire(duration=LONG) == 2
    assert not await first.renew(epoch=1, duration=LONG)


async def test_a_silent_scheduler_loses_the_right(redis: Redis) -> None:
    """After its deadline another becomes active, and the old one's matches are refused."""
    queues = Queues(redis)
    await queues.open_ladder("quasenbo")
    first, second = Leadership(redis, "first"), Leadership(redis, "second")
    old = await first.acquire(duration=timedelta(milliseconds=5))
    await asyncio.sleep(0.01)
    assert old is not None
    assert not await first.renew(epoch=old, duration=LONG)
    new = await second.acquire(duration=LONG)
    assert new == old + 1
    await queues.fence(new)
    answer = await queues.queue("quasenbo").enqueue(make_spec(), flow_weight=1, cap=10, epoch=old)
    assert answer is Enqueued.STALE_EPOCH


async def test_nobody_at_the_address_is_told() -> None:
    """The error names the address, without the password."""
    with pytest.raises(InputError, match=r"redis://127\.0\.0\.1:9/0") as caught:
        await connect("redis://user:secret@127.0.0.1:9/0", within=timedelta(seconds=1))
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="no address"):
        await connect("localhost")
