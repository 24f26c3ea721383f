"""``arena worker``: play matches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from arena.cli.service import ServiceOptions, Slots, part, run_part
from arena.processes.lifecycle import process_name
from arena.processes.sandbox import sandbox_of
from arena.scheduler.housekeeping import keep_cache
from arena.worker.worker import Worker, WorkerOptions
from referee.tasks import cancel

if TYPE_CHECKING:
    from arena.config import Settings


def worker(*, slots: Slots = None, options: ServiceOptions) -> None:
    """Play matches; run as many workers as there are machines."""
    run_part(options.settings(slots=slots), _work)


async def _work(settings: Settings, stopping: asyncio.Event) -> None:
    async with part(settings, stopping) as (arena, metrics, port):
        playing = Worker(
            arena,
            sandbox=await sandbox_of(settings),
            metrics=metrics,
            metrics_port=port,
            options=WorkerOptions(
                name=process_name("worker"),
                slots=settings.slots or settings.cores,
                cores=settings.cores,
                parallel_games=lambda ruleset: settings.ladder(ruleset).parallel_games,
                grace=settings.grace,
                lease=settings.lease,
                renewal=settings.renewal,
                silence=settings.silence,
                allows_unsandboxed=settings.allow_unsandboxed_bots,
            ),
        )
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(keep_cache(arena, in_use=playing.in_use))
            await playing.run(stopping)
            await cancel(keeping)
