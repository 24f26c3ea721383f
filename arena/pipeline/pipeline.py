"""Tries submitted versions: built, checked, played against house bots, then accepted or rejected.

The version that plays goes on playing until a new one has been accepted. Everything that a process
does here may end at any moment and is done again by another one: see `arena.bots.trials`.
"""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import structlog

from arena.bots.placement import update_ladders
from arena.bots.trials import Trials
from arena.context import Arena
from arena.db.claim_queue import Claim
from arena.db.retry import UNREACHABLE
from arena.errors import is_full
from arena.pipeline.suspension import Follower
from arena.pipeline.trial import Trial, TrialFailedError, TrialOptions
from referee.match.runner import Referee
from referee.sandbox.sandbox import Sandbox
from referee.tasks import cancel, is_set_within

NICE: Final = 5
"""Rated matches on the same machine come first."""

ATTEMPTS: Final = 5
"""How often a version is tried when the arena itself fails."""

_PAUSE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """The options of a pipeline.

    Attributes:
        slots: versions at the same time.
        cores: bots that may think at the same time.
        renewal: the time between two renewals.
        wait: before a retry after a fault of the arena; twice as long after each further one.
        full_disk_wait: before each retry after a full disk.
        grace: how long a stopping process goes on with what it tries.
    """

    slots: int
    cores: int
    trial: TrialOptions
    renewal: timedelta = timedelta(seconds=10)
    wait: timedelta = timedelta(seconds=5)
    full_disk_wait: timedelta = timedelta(seconds=10)
    grace: timedelta = timedelta(seconds=20)


class Pipeline:
    """Tries versions, suspends faulty ones, and keeps bots on their ladders, until told to stop."""

    def __init__(self, arena: Arena, *, sandbox: Sandbox, options: PipelineOptions) -> None:
        self._arena = arena
        self._trials = Trials(arena.redis)
        self._options = options
        self._follower = Follower(
            arena.redis, registry=arena.registry, queues=arena.queues, archive=arena.archive
        )
        self._referee = Referee(sandbox=sandbox, cores=options.cores, tables=2 * options.slots)
        self._running: set[asyncio.Task[None]] = set()
        self._log: Any = structlog.get_logger()

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until ``stopping`` is set and what is being tried is settled or given back."""
        self._log.info("pipeline started", slots=self._options.slots)
        async with asyncio.TaskGroup() as group:
            for step in (self._start_trial, self._place_bots, self._follow):
                group.create_task(self._repeat(step, stopping))
        if self._running:
            await asyncio.wait(self._running, timeout=self._options.grace.total_seconds())
        await asyncio.gather(*(cancel(task) for task in self._running))
        self._referee.monitor.stop_sampling()
        self._log.info("pipeline stopped")

    async def _repeat(self, step: Callable[[], Awaitable[bool]], stopping: asyncio.Event) -> None:
        """Repeat a step until it is time to stop; pause whenever it found nothing to do."""
        while not stopping.is_set():
            try:
                found = await step()
            except UNREACHABLE as error:
                self._log.warning("step failed", error=str(error))
                found = False
            if not found:
                await is_set_within(stopping, _PAUSE)

    async def _follow(self) -> bool:
        for version in await self._follower.follow():
            self._log.info("version suspended", version=version)
        return False

    async def _place_bots(self) -> bool:
        for name in await self._trials.placements():
            await update_ladders(self._arena.registry, self._arena.queues, name)
            await self._trials.placed(name)
            # Once more, for what changed between the two.
            await update_ladders(self._arena.registry, self._arena.queues, name)
        return False

    async def _start_trial(self) -> bool:
        if len(self._running) >= self._options.slots:
            return False
        claim = await self._trials.claim(
            token=secrets.token_hex(16), duration=self._options.trial.claim
        )
        if claim is None:
            return False
        task = asyncio.create_task(self._run_trial(claim))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return True

    async def _run_trial(self, claim: Claim) -> None:
        """Try one version, and keep the claim meanwhile."""
        log = self._log.bind(version=claim.id, attempt=claim.attempt)
        trial = Trial(self._arena, claim, referee=self._referee, options=self._options.trial)
        work = asyncio.create_task(self._try(trial, claim, log))
        keep = asyncio.create_task(self._keep(claim))
        try:
            await asyncio.wait({work, keep}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                with suppress(*UNREACHABLE):  # then the claim expires
                    work.result()
        except asyncio.CancelledError:
            await cancel(work)
            with suppress(*UNREACHABLE):
                if await self._trials.give_back(claim, wait=timedelta(0), counts=False):
                    log.info("trial given back")
            raise
        finally:
            await cancel(work)
            await cancel(keep)

    async def _try(self, trial: Trial, claim: Claim, log: Any) -> None:
        """Try a version; retry or give up for whatever is not the bot's fault."""
        try:
            if claim.attempt > ATTEMPTS:
                verdict = await trial.give_up("every process that tried it ended")
            else:
                verdict = await trial.run()
        except TrialFailedError as error:
            verdict = await trial.give_up(str(error))
        except Exception as error:  # whatever it is, no bot may pay for it
            log.warning("trial failed", error=repr(error), exc_info=error)
            await self._fail(trial, claim, error)
        else:
            log.info("trial ended", verdict=str(verdict))

    async def _fail(self, trial: Trial, claim: Claim, error: Exception) -> None:
        """Queue a version again after a fault of ours, with backoff, or give it up."""
        wait = self._options.wait * 2 ** (claim.attempt - 1)
        # When nobody answers, the claim expires.
        with suppress(*UNREACHABLE):
            if is_full(error):
                await self._trials.give_back(claim, wait=self._options.full_disk_wait, counts=False)
            elif claim.attempt < ATTEMPTS:
                await self._trials.give_back(claim, wait=wait, counts=True)
            else:
                await trial.give_up(str(error))

    async def _keep(self, claim: Claim) -> None:
        """Renew a claim; return when it was lost."""
        renewal = self._options.renewal.total_seconds()
        while True:
            await asyncio.sleep(renewal)
            with suppress(*UNREACHABLE):
                if not await self._trials.renew(claim, duration=self._options.trial.claim):
                    return


def yield_to_matches() -> None:
    """Lower this process's priority, and that of all bots that it will start."""
    os.nice(NICE)
