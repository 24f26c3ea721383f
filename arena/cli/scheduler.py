"""``arena scheduler``: keep the queues filled."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from redis.exceptions import RedisError

from arena.cli.service import ServiceOptions, part, run_part
from arena.db.presence import Presence
from arena.processes.lifecycle import is_orphan, process_name
from arena.scheduler.housekeeping import run_housekeeping
from arena.scheduler.scheduler import LadderPlan, Scheduler, SchedulerOptions
from referee.tasks import cancel

if TYPE_CHECKING:
    from arena.config import Settings
    from arena.context import Arena

EMBEDDED = "ARENA_EMBEDDED"
"""Environment: the server is a child of the supervisor and shall not outlive it either."""


def scheduler(
    *,
    matches: Annotated[
        int | None,
        typer.Option("--matches", min=1, help="Schedule so many ladder matches in all, no more."),
    ] = None,
    options: ServiceOptions,
) -> None:
    """Keep every ladder's queue filled; one of several is active."""
    run_part(options.settings(), partial(_schedule, matches=matches))


async def _schedule(settings: Settings, stopping: asyncio.Event, *, matches: int | None) -> None:
    def plan(ruleset: str) -> LadderPlan:
        terms = settings.ladder(ruleset)
        return LadderPlan(
            boards=terms.boards, time_control=terms.time_control, cap=settings.queue_cap
        )

    async with part(settings, stopping) as (arena, metrics, port):
        options = SchedulerOptions(
            name=process_name("scheduler"),
            plan=plan,
            most_matches=matches,
        )
        scheduler = Scheduler(arena, metrics=metrics, metrics_port=port, options=options)
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(run_housekeeping(arena))
            await scheduler.run(stopping)
            await cancel(keeping)
        if os.environ.get(EMBEDDED):
            # The parent tells of its end a moment before it has ended.
            await asyncio.sleep(0.2)
            if is_orphan():
                await _end_server(arena)


async def _end_server(arena: Arena) -> None:
    """End the embedded server of a supervisor that was killed, once the workers have let go."""
    with suppress(TimeoutError, RedisError):
        async with asyncio.timeout(10):
            workers = Presence(arena.redis)
            while await workers.slots():  # noqa: ASYNC110 -- other processes set no event
                await asyncio.sleep(0.1)
    with suppress(RedisError):
        await arena.redis.shutdown(nosave=True)
