import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis

from arena.config import Settings
from arena.context import Arena
from arena.db.presence import Announcement, Presence
from arena.metrics import Metrics
from arena.queue.models import MatchSpec
from arena.queue.queues import Queues
from arena.scheduler.scheduler import LadderPlan, Scheduler, SchedulerOptions
from tests.service_kit import eventually, make_bot

pytestmark = pytest.mark.redis

RULESETS = ("quasenbo", "pese-katesh")


@pytest.fixture
async def queues(redis: Redis, tmp_path: Path) -> Queues:
    """Two ladders of four bots each, and a worker of three slots that never plays."""
    queues = Queues(redis)
    registry = Arena.over(redis, Settings(data_dir=tmp_path)).registry
    await registry.add_owner("house")
    for name in ("ada", "bob", "cid", "dan"):
        await registry.add_folder(
            make_bot(tmp_path, name, rulesets=RULESETS), owner="house", house=True
        )
        for ruleset in RULESETS:
            await queues.open_ladder(ruleset)
            await queues.ladder(ruleset).enter(name)
    announcement = Announcement(name="w", kind="worker", slots=3, metrics_port=1)
    await Presence(redis).announce(announcement)
    return queues


@asynccontextmanager
async def scheduling(
    redis: Redis, folder: Path, *, most_matches: int | None = None
) -> AsyncIterator[None]:
    """Run a scheduler."""
    scheduler = Scheduler(
        Arena.over(redis, Settings(data_dir=folder)),
        metrics=Metrics(),
        metrics_port=1,
        options=SchedulerOptions(
            name="s",
            plan=lambda _: LadderPlan(boards=2, time_control="5+0.05"),
            most_matches=most_matches,
        ),
    )
    stopping = asyncio.Event()
    running = asyncio.create_task(scheduler.run(stopping))
    try:
        yield
    finally:
        stopping.set()
        await running


async def waiting(queues: Queues) -> list[MatchSpec]:
    """Return every match that waits, in the order of their numbers."""
    found = []
    for ruleset in RULESETS:
        texts = await queues._redis.hvals(f"{{l:{ruleset}}}:spec")
        found += [MatchSpec.from_json(text) for text in texts]
    return sorted(found, key=lambda spec: spec.id)


async def test_queues_hold_twice_the_slots_and_no_more(
    redis: Redis, queues: Queues, tmp_path: Path
) -> None:
    """Six tables a ladder for three slots: three matches of two tables, one match of four."""
    async with scheduling(redis, tmp_path):

        async def filled() -> bool:
            return len(await waiting(queues)) >= 4

        await eventually(filled)
        await asyncio.sleep(1)
        specs = await waiting(queues)
    assert [spec.id for spec in specs] == [f"ladder-{number:06d}" for number in range(1, 5)]
    assert sorted(spec.ruleset for spec in specs) == ["pese-katesh", *["quasenbo"] * 3]
    assert {spec.cost for spec in specs} == {4, 8}
    assert len({spec.seed for spec in specs}) == 4


async def test_no_more_matches_than_asked_for(redis: Redis, queues: Queues, tmp_path: Path) -> None:
    """The sequence ends with the last number."""
    async with scheduling(redis, tmp_path, most_matches=2):

        async def filled() -> bool:
            return len(await waiting(queues)) == 2

        await eventually(filled)
        await asyncio.sleep(1)
        assert len(await waiting(queues)) == 2


async def test_a_number_whose_match_was_never_queued_is_used(
    redis: Redis, queues: Queues, tmp_path: Path
) -> None:
    """A scheduler died between taking number 1 and queueing its match."""
    await redis.zadd("{arena}:ladder-numbers", {"quasenbo": 1})
    async with scheduling(redis, tmp_path, most_matches=2):

        async def filled() -> bool:
            return len(await waiting(queues)) == 2

        await eventually(filled)
    assert [spec.id for spec in await waiting(queues)] == ["ladder-000001", "ladder-000002"]


async def test_a_number_whose_match_was_queued_is_not_used_again(
    redis: Redis, queues: Queues, tmp_path: Path
) -> None:
    """The next scheduler goes on behind it, on whatever ladder."""
    async with scheduling(redis, tmp_path, most_matches=1):

        async def filled() -> bool:
            return len(await waiting(queues)) == 1

        await eventually(filled)
    async with scheduling(redis, tmp_path, most_matches=3):

        async def three() -> bool:
            return len(await waiting(queues)) == 3

        await eventually(three)
    ids = [spec.id for spec in await waiting(queues)]
    assert ids == ["ladder-000001", "ladder-000002", "ladder-000003"]


async def test_a_paused_flow_is_left_alone(redis: Redis, queues: Queues, tmp_path: Path) -> None:
    """An operator who paused a ladder's flow gets no more of its matches."""
    await queues.queue("quasenbo").pause("ladder")
    async with scheduling(redis, tmp_path):

        async def filled() -> bool:
            return len(await waiting(queues)) >= 1

        await eventually(filled)
        await asyncio.sleep(1)
        assert [spec.ruleset for spec in await waiting(queues)] == ["pese-katesh"]
