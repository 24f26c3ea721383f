"""Counting the leases that expired: each once, by whichever process puts it back."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from redis.asyncio import Redis

from arena.config import Settings
from arena.context import Arena
from arena.metrics import Metrics
from arena.queue.match_queue import MatchQueue
from arena.queue.models import Lease, MatchPhase
from arena.scheduler.scheduler import LadderPlan, Scheduler, SchedulerOptions
from arena.worker.worker import Worker, WorkerOptions
from referee.sandbox.sandbox import PlainSandbox
from tests.arena.queue.making import RULESET, enqueue, make_spec, take
from tests.service_kit import eventually

pytestmark = pytest.mark.redis


@pytest.fixture
def metrics() -> Metrics:
    """The metrics of the process that is tested."""
    return Metrics()


def counted(metrics: Metrics) -> float | None:
    """Return how many expired leases the process has counted."""
    return metrics.registry.get_sample_value("arena_lease_expirations_total")


async def expire(queue: MatchQueue, *matches: str) -> None:
    """Queue matches, and let the leases of a worker that died run out."""
    await enqueue(queue, *map(make_spec, matches))
    for _ in matches:
        await take(queue, duration=timedelta(seconds=1), worker="dead")
    await asyncio.sleep(1.01)


def make_worker(arena: Arena, metrics: Metrics) -> Worker:
    """Return a worker that has not begun."""
    return Worker(
        arena,
        sandbox=PlainSandbox(why="none here"),
        metrics=metrics,
        metrics_port=0,
        options=WorkerOptions(name="w1", slots=1, cores=1, parallel_games=lambda _: 1),
    )


async def test_a_void_after_an_expiry_is_no_other_expiry(
    redis: Redis, tmp_path: Path, metrics: Metrics
) -> None:
    """The attempt that an expiry cost stays counted at the match, the expiry counts once."""
    arena = Arena.over(redis, Settings(data_dir=tmp_path, backoff=timedelta(0)))
    worker, queues = make_worker(arena, metrics), arena.queues
    await queues.open_ladder(RULESET)
    queue = queues.queue(RULESET)
    await expire(queue, "m1")

    async def leased() -> Lease:
        while True:
            if (lease := await worker._lease()) is not None:
                return lease

    for give_back in (queue.void, queue.release, queue.void):
        lease = await leased()
        assert lease.attempt == 2
        await give_back(lease, reason="referee lag")
    assert counted(metrics) == 1


async def test_an_expiry_found_at_a_lease_counts_though_its_match_is_dead(
    redis: Redis, tmp_path: Path, metrics: Metrics
) -> None:
    """The match never comes round again, and its expiry is counted all the same."""
    arena = Arena.over(redis, Settings(data_dir=tmp_path, attempts=1))
    worker, queues = make_worker(arena, metrics), arena.queues
    await queues.open_ladder(RULESET)
    await expire(queues.queue(RULESET), "m1")
    assert await worker._lease() is None
    assert await queues.queue(RULESET).phase("m1") is MatchPhase.DEAD
    assert counted(metrics) == 1


async def test_a_scheduler_counts_what_it_reaps(
    redis: Redis, tmp_path: Path, metrics: Metrics
) -> None:
    """Matches that wait again count as those that are dead do."""
    arena = Arena.over(redis, Settings(data_dir=tmp_path))
    queues = arena.queues
    await queues.open_ladder(RULESET)
    await expire(queues.queue(RULESET), "m1", "m2")
    scheduler = Scheduler(
        arena,
        metrics=metrics,
        metrics_port=0,
        options=SchedulerOptions(
            name="s", plan=lambda _: LadderPlan(boards=2, time_control="5+0.05"), most_matches=0
        ),
    )
    stopping = asyncio.Event()
    running = asyncio.create_task(scheduler.run(stopping))

    async def counts() -> bool:
        return counted(metrics) == 2

    await eventually(counts)
    stopping.set()
    await running
