"""Every transition of a queue, and every answer it can give."""

import asyncio
import secrets
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from redis.asyncio import Redis

from arena.errors import InputError
from arena.queue.match_queue import MatchQueue
from arena.queue.models import (
    Committed,
    Enqueued,
    FlowCounts,
    MatchCounts,
    MatchPhase,
    Renewed,
    RetryPolicy,
    Returned,
)
from tests.arena.queue.making import (
    LONG,
    RULESET,
    enqueue,
    lease_or_none,
    make_result,
    make_spec,
    play,
    take,
)

pytestmark = pytest.mark.redis

SHORT = timedelta(milliseconds=5)
NO_WAIT = RetryPolicy(backoff=timedelta(0))


@pytest.fixture
def queue(redis: Redis) -> MatchQueue:
    """A queue whose retries do not wait."""
    return MatchQueue(redis, RULESET, policy=NO_WAIT)


async def test_a_leased_match_is_the_one_enqueued(queue: MatchQueue) -> None:
    """The spec survives the queue, with its time of creation filled in."""
    spec = make_spec(metadata={"reason": "placement of ädele"})
    await enqueue(queue, spec)
    lease = await take(queue)
    assert lease.spec.created_time_ms > 1_700_000_000_000
    assert lease.spec == replace(spec, created_time_ms=lease.spec.created_time_ms)
    assert (lease.attempt, lease.voids) == (1, 0)
    assert lease.deadline_ms - lease.spec.created_time_ms >= 30_000


async def test_an_empty_queue_gives_no_lease(queue: MatchQueue) -> None:
    """Nothing ready, no lease."""
    assert await lease_or_none(queue) is None


async def test_a_match_is_leased_once(queue: MatchQueue) -> None:
    """Two workers that race never hold the same match, and together they get all."""
    await enqueue(queue, *(make_spec(f"m{number}") for number in range(50)))

    async def worker(name: str) -> list[str]:
        taken = []
        while lease := await queue.lease(name, token=secrets.token_hex(16), duration=LONG):
            taken.append(lease.match_id)
        return taken

    first, second = await asyncio.gather(worker("w1"), worker("w2"))
    assert first
    assert second
    assert sorted(first + second) == sorted(f"m{number}" for number in range(50))


async def test_an_id_is_queued_once(queue: MatchQueue) -> None:
    """A match that waits, is played or is done is a duplicate."""
    spec = make_spec()

    async def again() -> Enqueued:
        return await queue.enqueue(spec, flow_weight=1, cap=10, epoch=None)

    assert await again() is Enqueued.QUEUED
    assert await again() is Enqueued.DUPLICATE
    lease = await take(queue)
    assert await again() is Enqueued.DUPLICATE
    await queue.commit(lease, make_result())
    assert await again() is Enqueued.DUPLICATE


async def test_the_cap_counts_waiting_matches(queue: MatchQueue) -> None:
    """At the cap the queue is full, until a match is leased."""
    await enqueue(queue, make_spec("m1"), make_spec("m2"))
    third = make_spec("m3")
    assert await queue.enqueue(third, flow_weight=1, cap=2, epoch=None) is Enqueued.FULL
    await take(queue)
    assert await queue.enqueue(third, flow_weight=1, cap=2, epoch=None) is Enqueued.QUEUED


async def test_a_foreign_match_is_refused(queue: MatchQueue) -> None:
    """A match of another ruleset does not enter the queue."""
    with pytest.raises(InputError, match="does not belong"):
        await enqueue(queue, make_spec(ruleset="pese-katesh"))


async def test_an_older_epoch_is_refused(queue: MatchQueue) -> None:
    """Whatever scheduler comes with a newer epoch shuts out the older one; challenges pass."""

    async def add(match_id: str, epoch: int | None) -> Enqueued:
        return await queue.enqueue(make_spec(match_id), flow_weight=1, cap=10, epoch=epoch)

    assert await add("m1", 3) is Enqueued.QUEUED
    assert await add("m2", 2) is Enqueued.STALE_EPOCH
    assert await add("m2", 3) is Enqueued.QUEUED
    assert await queue.fence(5)
    assert not await queue.fence(4)
    assert await add("m3", 4) is Enqueued.STALE_EPOCH
    assert await add("m3", None) is Enqueued.QUEUED


async def test_a_renewed_lease_lives_on(queue: MatchQueue) -> None:
    """Renewal moves the deadline, so that nothing is reaped."""
    await enqueue(queue, make_spec())
    lease = await take(queue, duration=SHORT)
    assert await queue.renew(lease, duration=LONG) is Renewed.OK
    await asyncio.sleep(0.01)
    assert (await queue.reap()).requeued == ()
    assert await queue.phase(lease.match_id) is MatchPhase.LEASED


async def test_an_expired_lease_counts_as_an_attempt(queue: MatchQueue) -> None:
    """Reaped matches wait again; the third expiry makes them dead, visibly."""
    await enqueue(queue, make_spec())
    for attempt in (1, 2, 3):
        await queue.reap()
        lease = await take(queue, duration=SHORT, worker="w7")
        assert lease.attempt == attempt
        await asyncio.sleep(0.01)
        reaped = await queue.reap()
        assert reaped.dead == (("ladder-000001",) if attempt == 3 else ())
        assert reaped.requeued == (() if attempt == 3 else ("ladder-000001",))
        assert reaped.expired == 1
        assert await queue.renew(lease, duration=LONG) is Renewed.LOST
    (dead,) = await queue.dead()
    assert (dead.attempts, dead.voids) == (3, 0)
    assert dead.reason == "lease expired at worker w7"
    assert dead.spec.seed == make_spec().seed
    assert await lease_or_none(queue) is None


async def test_leasing_reaps_by_itself(queue: MatchQueue) -> None:
    """Without anybody who reaps, a worker that asks gets the expired match in the end."""
    await enqueue(queue, make_spec())
    await take(queue, duration=SHORT)
    await asyncio.sleep(0.01)
    assert await lease_or_none(queue) is None
    assert (await take(queue)).attempt == 2


async def test_an_expired_match_waits_for_its_back_off(redis: Redis) -> None:
    """A match whose lease expired is delayed, four times as long after the second time."""
    queue = MatchQueue(redis, RULESET, policy=RetryPolicy(backoff=timedelta(hours=1)))
    delayed = f"{{l:{RULESET}}}:delayed"
    await enqueue(queue, make_spec("m1"))
    waits = []
    for _ in range(2):
        await take(queue, duration=SHORT)
        await asyncio.sleep(0.01)
        await queue.reap()
        assert await queue.phase("m1") is MatchPhase.DELAYED
        assert await lease_or_none(queue) is None
        seconds, _ = await redis.time()
        waits.append(round((float(await redis.zscore(delayed, "m1") or 0) / 1000 - seconds) / 3600))
        await redis.zadd(delayed, {"m1": 1})
    assert waits == [1, 4]


async def test_a_released_match_is_leased_next_and_uncounted(queue: MatchQueue) -> None:
    """A release costs no attempt and no place in the queue."""
    await enqueue(queue, make_spec("m1"), make_spec("m2"))
    lease = await take(queue)
    assert await queue.release(lease, reason="draining") is Returned.QUEUED
    assert await queue.release(lease, reason="draining") is Returned.LOST
    again = await take(queue)
    assert (again.match_id, again.attempt) == ("m1", 1)


async def test_voids_count_apart_from_attempts(queue: MatchQueue) -> None:
    """A void match keeps its seed and its attempts; the third void makes it dead."""
    await enqueue(queue, make_spec())
    answers = []
    for voids in range(3):
        await queue.reap()
        lease = await take(queue)
        assert (lease.attempt, lease.voids) == (1, voids)
        assert lease.spec.seed == make_spec().seed
        answers.append(await queue.void(lease, reason="referee lag"))
    assert answers == [Returned.QUEUED, Returned.QUEUED, Returned.DEAD]
    assert await queue.void(lease, reason="referee lag") is Returned.LOST
    (dead,) = await queue.dead()
    assert (dead.attempts, dead.voids, dead.reason) == (0, 3, "referee lag")


async def test_a_dead_match_can_be_retried_or_purged(queue: MatchQueue) -> None:
    """An operator queues a dead match anew, or forgets it."""
    await enqueue(queue, make_spec())
    assert not await queue.retry("ladder-000001")
    for _ in range(2):
        for _ in range(3):
            await queue.reap()
            await queue.void(await take(queue), reason="referee lag")
        assert await queue.phase("ladder-000001") is MatchPhase.DEAD
        assert await queue.retry("ladder-000001")
        assert not await queue.purge("ladder-000001")
    for _ in range(3):
        await queue.reap()
        await queue.void(await take(queue), reason="referee lag")
    assert await queue.purge("ladder-000001")
    assert await queue.phase("ladder-000001") is None
    await enqueue(queue, make_spec())


async def test_a_commit_ends_the_match(queue: MatchQueue) -> None:
    """A committed match is done, and nothing of it waits or is leased."""
    await enqueue(queue, make_spec())
    reply = await queue.commit(await take(queue), make_result())
    assert reply.answer is Committed.COMMITTED
    assert reply.logged is not None
    assert reply.logged.changes == (20_000_000, -20_000_000)
    assert await queue.phase("ladder-000001") is MatchPhase.DONE
    assert await queue.counts() == MatchCounts(0, 0, 0, 0, 0, 1)


async def test_a_commit_delivered_twice_counts_once(queue: MatchQueue) -> None:
    """The second delivery is answered with the first one's result."""
    await enqueue(queue, make_spec())
    lease = await take(queue)
    first = await queue.commit(lease, make_result())
    second = await queue.commit(lease, make_result())
    assert second.answer is Committed.ALREADY
    assert second.logged == first.logged
    assert (await queue.counts()).done == 1


async def test_another_result_under_the_same_lease_is_a_conflict(queue: MatchQueue) -> None:
    """A lease commits one result; a different digest is refused."""
    await enqueue(queue, make_spec())
    lease = await take(queue)
    await queue.commit(lease, make_result(1_000_000))
    assert (await queue.commit(lease, make_result(0))).answer is Committed.CONFLICT


async def test_a_stale_token_is_refused_everywhere(queue: MatchQueue) -> None:
    """After a re-lease the first worker can do nothing, before and after the second's commit."""
    await enqueue(queue, make_spec())
    stale = await take(queue, duration=SHORT)
    await asyncio.sleep(0.01)
    await queue.reap()
    await queue.reap()
    assert (await queue.commit(stale, make_result())).answer is Committed.STALE
    lease = await take(queue)
    assert (await queue.commit(stale, make_result())).answer is Committed.STALE
    assert await queue.renew(stale, duration=LONG) is Renewed.LOST
    assert await queue.release(stale, reason="") is Returned.LOST
    assert await queue.void(stale, reason="") is Returned.LOST
    assert (await queue.commit(lease, make_result())).answer is Committed.COMMITTED
    assert (await queue.commit(stale, make_result())).answer is Committed.STALE


async def test_a_late_commit_counts_while_nobody_else_has_the_match(queue: MatchQueue) -> None:
    """An expired lease that was not reaped yet still commits."""
    await enqueue(queue, make_spec())
    lease = await take(queue, duration=SHORT)
    await asyncio.sleep(0.01)
    assert (await queue.commit(lease, make_result())).answer is Committed.COMMITTED


async def test_a_waiting_match_can_be_cancelled(queue: MatchQueue) -> None:
    """A cancelled match is never leased and its id is free again."""
    await enqueue(queue, make_spec())
    assert await queue.cancel("ladder-000001")
    assert not await queue.cancel("ladder-000001")
    assert await lease_or_none(queue) is None
    assert await queue.counts() == MatchCounts(0, 0, 0, 0, 0, 0)
    await enqueue(queue, make_spec())


async def test_a_leased_match_can_be_cancelled(queue: MatchQueue) -> None:
    """Its worker learns of it at every turn, and the release forgets it."""
    await enqueue(queue, make_spec())
    lease = await take(queue)
    assert await queue.cancel(lease.match_id)
    assert await queue.phase(lease.match_id) is MatchPhase.CANCELLED
    assert await queue.renew(lease, duration=LONG) is Renewed.CANCELLED
    assert (await queue.commit(lease, make_result())).answer is Committed.CANCELLED
    assert await queue.release(lease, reason="cancelled") is Returned.CANCELLED
    assert await queue.phase(lease.match_id) is None


async def test_a_cancelled_match_whose_worker_died_is_reaped_away(queue: MatchQueue) -> None:
    """When nobody lets go of it, the expiry of the lease forgets it."""
    await enqueue(queue, make_spec())
    lease = await take(queue, duration=SHORT)
    await queue.cancel(lease.match_id)
    await asyncio.sleep(0.01)
    reaped = await queue.reap()
    assert (reaped.requeued, reaped.dead, reaped.expired) == ((), (), 1)
    assert await queue.phase(lease.match_id) is None


async def test_a_flow_can_be_cancelled(queue: MatchQueue) -> None:
    """All matches of the flow go, those of others stay."""
    await enqueue(queue, *(make_spec(f"t{number}", flow="t:cup") for number in range(3)))
    await enqueue(queue, make_spec("m1"))
    leased = await take(queue)
    assert await queue.cancel_flow("t:cup") == 3
    assert set(await queue.flows()) == {"ladder"}
    left = leased if leased.match_id == "m1" else await take(queue)
    assert left.match_id == "m1"
    assert await lease_or_none(queue) is None


async def test_a_bots_matches_can_be_cancelled(queue: MatchQueue) -> None:
    """A bot that leaves takes its waiting and running matches along."""
    await enqueue(queue, make_spec("m1"), make_spec("m2", "bob@1", "cyd@2"))
    await enqueue(queue, make_spec("m3", "ada@2", "cyd@2"))
    assert await queue.cancel_bot("ada") == 2
    assert (await take(queue)).match_id == "m2"


async def test_a_paused_flow_waits(queue: MatchQueue) -> None:
    """Paused matches are not leased, whenever they come; resuming keeps their order."""
    cup = [make_spec(f"t{number}", flow="t:cup") for number in range(4)]
    await enqueue(queue, *cup[:2])
    first = await take(queue)
    await enqueue(queue, make_spec("m1"))
    assert await queue.pause("t:cup") == 1
    await enqueue(queue, *cup[2:])
    assert await queue.release(first, reason="draining") is Returned.QUEUED
    assert (await queue.counts()).paused == 4
    assert (await take(queue)).match_id == "m1"
    assert await lease_or_none(queue) is None
    assert (await queue.flows())["t:cup"].paused
    assert await queue.resume("t:cup") == 4
    assert await queue.resume("t:cup") == 0
    assert [(await take(queue)).match_id for _ in range(4)] == ["t0", "t1", "t2", "t3"]


async def test_paused_matches_do_not_fill_the_queue(queue: MatchQueue) -> None:
    """The cap leaves out what an operator holds back."""
    await enqueue(queue, make_spec("t1", flow="t:cup"), make_spec("t2", flow="t:cup"))
    await queue.pause("t:cup")
    await enqueue(queue, make_spec("m1"), cap=1)
    full = await queue.enqueue(make_spec("m2"), flow_weight=1, cap=1, epoch=None)
    assert full is Enqueued.FULL


async def test_flows_tell_where_their_matches_stand(queue: MatchQueue) -> None:
    """Weight, waiting, leased and dead matches are counted by flow."""
    await enqueue(queue, make_spec("m1"), make_spec("m2"), weight=3)
    await take(queue)
    assert await queue.flows() == {
        "ladder": FlowCounts(weight=3, paused=False, waiting=1, leased=1, dead=0)
    }


async def test_flows_share_by_weight(queue: MatchQueue) -> None:
    """Over many leases each flow's games are in proportion to its weight, within 5 %."""
    flows = {"ladder": (3, 16), "t:cup": (1, 4), "l:first": (2, 10)}
    for flow, (weight, cost) in flows.items():
        specs = (
            make_spec(f"{flow[:3]}{number}".replace(":", "-"), flow=flow, cost=cost)
            for number in range(weight * 2400 // cost)
        )
        await enqueue(queue, *specs, weight=weight)
    games = dict.fromkeys(flows, 0)
    while sum(games.values()) < 7200:
        lease = await take(queue)
        games[lease.spec.flow] += lease.spec.cost
    shares = {flow: games[flow] / sum(games.values()) * 6 / flows[flow][0] for flow in flows}
    assert all(abs(share - 1) < 0.05 for share in shares.values()), shares


async def test_a_large_tournament_does_not_starve_a_ladder(queue: MatchQueue) -> None:
    """A ladder's match that comes after 200 of a tournament is leased among the first."""
    await enqueue(queue, *(make_spec(f"t{number}", flow="t:cup") for number in range(200)))
    await take(queue)
    await enqueue(queue, make_spec("m1"))
    assert "m1" in {(await take(queue)).match_id for _ in range(2)}


async def test_the_head_of_the_queue_tells_its_age(queue: MatchQueue) -> None:
    """The age is 0 without a ready match and grows with one."""
    assert await queue.oldest_seconds() == 0
    await enqueue(queue, make_spec())
    await asyncio.sleep(0.02)
    assert 0.01 <= await queue.oldest_seconds() < 100


async def test_nothing_of_a_done_match_stays_but_its_result(
    queue: MatchQueue, redis: Redis
) -> None:
    """Spec, state and lease are gone after the commit."""
    await play(queue, "m1", ("ada@1", "bob@1"), 500_000)
    keys: list[Any] = await redis.keys("*")
    names = {key.decode().rpartition(":")[2] for key in keys}
    assert names == {"done", "log", "rating", "games", "ladder", "meta", "flows"}


async def test_bad_arguments_are_refused_before_the_server(queue: MatchQueue) -> None:
    """Names, tokens, weights and results that do not fit raise the caller's error."""
    with pytest.raises(InputError, match="worker"):
        await queue.lease("two words", token=secrets.token_hex(16), duration=LONG)
    with pytest.raises(InputError, match="token"):
        await queue.lease("w1", token="short", duration=LONG)
    with pytest.raises(InputError, match="weight"):
        await queue.enqueue(make_spec(), flow_weight=0, cap=1, epoch=None)
    with pytest.raises(InputError, match="flow"):
        await queue.pause("everything")
    await enqueue(queue, make_spec())
    with pytest.raises(InputError, match="entrants"):
        await queue.commit(await take(queue), make_result(entrants=3))
