"""A pipeline over a real server, without a network, with bots that an author might submit."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from arena.archive.archive import Archive
from arena.bots.registry import AddedVersion, BotState, Registry, Version, VersionState
from arena.bots.submissions import Submissions
from arena.bots.trials import Trials
from arena.check.run import CheckOptions
from arena.config import Settings
from arena.context import Arena
from arena.pipeline.pipeline import Pipeline, PipelineOptions
from arena.pipeline.trial import TrialOptions, ValidationPlan
from arena.queue.queues import Queues
from arena.uploads import pack_folder
from arena.version_id import bot_of
from arena.webhooks.store import Webhooks
from referee.clock import TimeControl
from referee.sandbox.sandbox import PlainSandbox, Sandbox
from tests.arena.check.making import HONEST, bot_folder
from tests.sample_bots.playing import NeverLate

CONTROL = TimeControl.parse("2+0.05")
LOOK = 0.05
SETTLED = {VersionState.ACCEPTED, VersionState.REJECTED}
TRIAL = TrialOptions(
    plan=lambda _: ValidationPlan(boards=1, control=CONTROL, parallel_games=4),
    check=CheckOptions(control=CONTROL, build_limit=timedelta(seconds=20)),
    allows_unsandboxed=True,
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """What the tests look at, with short ways to say what they do."""

    arena: Arena
    redis: Redis
    registry: Registry
    archive: Archive
    queues: Queues
    submissions: Submissions
    trials: Trials
    webhooks: Webhooks
    top: Path

    def pipeline(
        self, *, sandbox: Sandbox | None = None, trial: TrialOptions = TRIAL, slots: int = 2
    ) -> Pipeline:
        """Return a pipeline that has not been started."""
        pipeline = Pipeline(
            self.arena,
            sandbox=sandbox or PlainSandbox(),
            options=PipelineOptions(
                slots=slots, cores=2, trial=trial, wait=timedelta(0), grace=timedelta(0),
                renewal=timedelta(seconds=1),
            ),
        )  # fmt: skip
        pipeline._referee.monitor = NeverLate()
        return pipeline

    @asynccontextmanager
    async def running(
        self, *, sandbox: Sandbox | None = None, trial: TrialOptions = TRIAL
    ) -> AsyncIterator[None]:
        """Run a pipeline meanwhile."""
        stopping = asyncio.Event()
        task = asyncio.create_task(self.pipeline(sandbox=sandbox, trial=trial).run(stopping))
        try:
            yield
        finally:
            stopping.set()
            await task

    async def submit(self, folder: Path, *, owner: str = "ada") -> AddedVersion:
        """Submit a folder as the author's tool does."""
        await self.registry.add_owner(owner)
        return await self.submissions.store_upload(io.BytesIO(pack_folder(folder)), owner=owner)

    async def settled(self, version: str) -> Version:
        """Return a version once it has been accepted or rejected."""
        async with asyncio.timeout(60):
            while (found := await self.registry.version(version)).state not in SETTLED:  # noqa: ASYNC110 -- likewise
                await asyncio.sleep(LOOK)
        return found

    async def tried(self, folder: Path, *, owner: str = "ada") -> Version:
        """Submit a folder, and return its version once it has been accepted or rejected."""
        return await self.settled((await self.submit(folder, owner=owner)).version.id)

    async def placed(self, bot: str, ruleset: str = "quasenbo", *, there: bool = True) -> None:
        """Wait until a bot is on a ladder, or off it."""
        ladder = self.queues.ladder(ruleset)
        async with asyncio.timeout(20):
            while (bot in [each.bot for each in await ladder.standings()]) is not there:  # noqa: ASYNC110 -- Redis sets no event
                await asyncio.sleep(LOOK)

    async def told(self) -> list[str]:
        """Return the kinds of the events that wait to be posted, sorted."""
        bodies: Any = await self.redis.hvals("{arena}:event-bodies")
        return sorted(json.loads(body)["kind"] for body in bodies)

    def bot(self, code: str = HONEST, *lines: str, **facts: str) -> Path:
        """Write the folder of a bot; each call makes a new one."""
        number = len(list(self.top.iterdir()))
        place = self.top / str(number)
        place.mkdir()
        return bot_folder(place, code, *lines, **facts)

    async def is_active(self, version: str) -> bool:
        """Return whether a version is the one that plays."""
        bot = await self.registry.bot(bot_of(version))
        return bot.active_version == version and bot.state is BotState.ACTIVE


@pytest.fixture
def line(redis: Redis, tmp_path: Path) -> Line:
    """An empty arena."""
    arena = Arena.over(redis, Settings(data_dir=tmp_path))
    (tmp_path / "bots").mkdir()
    return Line(
        arena=arena,
        redis=redis,
        registry=arena.registry,
        archive=arena.archive,
        queues=arena.queues,
        submissions=Submissions(redis, arena.registry, arena.archive),
        trials=Trials(redis),
        webhooks=Webhooks(redis),
        top=tmp_path / "bots",
    )
