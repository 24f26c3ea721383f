"""``arena up``, ``arena scheduler``, ``arena worker``: run the service, or a part of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import structlog
import typer
from redis.exceptions import RedisError

from arena.cli.console import DataDir, RedisUrl, progress_console
from arena.config import load
from arena.context import Arena, connected
from arena.db.connection import connect
from arena.db.presence import Presence
from arena.errors import InputError
from arena.files import ADMIN_FILE
from arena.metrics import Metrics
from arena.processes.lifecycle import PARENT, is_orphan, process_name, run_until_told, set_up_log
from arena.processes.sandbox import sandbox_of
from arena.processes.supervisor import running
from arena.scheduler.housekeeping import keep_cache, run_housekeeping
from arena.scheduler.scheduler import LadderPlan, Scheduler, SchedulerOptions
from arena.worker.worker import Worker, WorkerOptions
from referee.tasks import cancel, is_set_within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.config import Settings
    from arena.processes.supervisor import Supervisor

EMBEDDED = "ARENA_EMBEDDED"
"""Environment: the server is a child of the supervisor and shall not outlive it either."""

Slots = Annotated[
    int | None, typer.Option("--slots", min=1, help="Tables played at once; one per core.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """Options that every process of the service takes."""

    data_dir: DataDir = None
    redis_url: RedisUrl = None
    metrics_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Of /metrics; the first free one from 7490 up."),
    ] = None
    config: Annotated[Path | None, typer.Option(help="Instead of ./arena.toml.")] = None

    def settings(self, **others: Any) -> Settings:
        """Return the settings of the service, with these and other options."""
        chosen = asdict(self)
        return load(chosen.pop("config"), **chosen, **others)


def run_part(settings: Settings, main: Callable[[Settings, asyncio.Event], Any]) -> None:
    """Run a process of the service until it is told to stop."""
    set_up_log()
    run_until_told(lambda stopping: main(settings, stopping))


def up(
    *,
    workers: Annotated[
        int | None, typer.Option("--workers", min=0, help="Worker processes; 1.")
    ] = None,
    slots: Slots = None,
    options: ServiceOptions,
) -> None:
    """Run the whole arena on this machine until Ctrl-C."""
    run_part(options.settings(workers=workers, slots=slots), _up)


async def _up(settings: Settings, stopping: asyncio.Event) -> None:
    async with running(settings, serving=True) as supervisor:
        telling = asyncio.create_task(_tell_addresses(settings, supervisor))
        try:
            await supervisor.watch(stopping)
        finally:
            await cancel(telling)
        progress_console.print("Draining; Ctrl-C once more gives up what is being played.")
    progress_console.print("The arena has stopped.")


async def _tell_addresses(settings: Settings, supervisor: Supervisor) -> None:
    """Print the addresses of all processes, once all have announced them."""
    redis = await connect(supervisor.url)
    try:
        workers = Presence(redis)
        alive = await workers.alive()
        while len(alive) < 3 + settings.workers:
            await asyncio.sleep(0.1)
            alive = await workers.alive()
    finally:
        await redis.aclose()
    folder = settings.data_dir.resolve()
    lines = [f"The arena runs in {folder}", f"  Redis    {supervisor.url}"]
    for each in alive:
        if each.kind == "api":
            lines.append(f"  API      {each.address}")
            lines.append(f"  token    {folder / ADMIN_FILE}  for `arena login`")
    metrics = f"  metrics  http://{settings.host}"
    lines += [f"{metrics}:{each.metrics_port}/metrics  {each.name}" for each in alive]
    lines.append("Add bots with `arena bot add DIR`, see them with `arena ladder`; Ctrl-C stops.")
    progress_console.print("\n".join(lines), soft_wrap=True)


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
    async with part(settings, stopping) as (arena, metrics, port):
        options = SchedulerOptions(
            name=process_name("scheduler"),
            plan=lambda ruleset: ladder_plan(settings, ruleset),
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


def ladder_plan(settings: Settings, ruleset: str) -> LadderPlan:
    """Return the boards, the time control and the queue's cap of a ladder."""
    ladder = settings.ladder(ruleset)
    assert ladder.boards is not None
    assert ladder.time_control is not None
    return LadderPlan(
        boards=ladder.boards, time_control=ladder.time_control, cap=settings.queue_cap
    )


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
            options=worker_options(settings),
        )
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(keep_cache(arena, in_use=playing.in_use))
            await playing.run(stopping)
            await cancel(keeping)


def worker_options(settings: Settings) -> WorkerOptions:
    """Return a worker's options."""

    def parallel_games(ruleset: str) -> int:
        games = settings.ladder(ruleset).parallel_games
        assert games is not None
        return games

    return WorkerOptions(
        name=process_name("worker"),
        slots=settings.slots or settings.cores,
        cores=settings.cores,
        parallel_games=parallel_games,
        grace=settings.grace,
        lease=settings.lease,
        renewal=settings.renewal,
        silence=settings.silence,
        allows_unsandboxed=settings.allow_unsandboxed_bots,
    )


@asynccontextmanager
async def part(
    settings: Settings, stopping: asyncio.Event
) -> AsyncIterator[tuple[Arena, Metrics, int]]:
    """Serve metrics and connect, for as long as a part of the service runs.

    Yields the arena, the metrics, and their port; ``stopping`` ends the wait for Redis.
    """
    metrics = Metrics()
    explicit = "metrics_port" in settings.model_fields_set
    server = metrics.serve(host=settings.host, port=settings.metrics_port if explicit else None)
    try:
        await _wait_for_server(settings, stopping)
        async with connected(settings) as arena:
            yield arena, metrics, server.port
    finally:
        server.close()


async def _wait_for_server(settings: Settings, stopping: asyncio.Event) -> None:
    """Wait until Redis answers, if a supervisor has started this process."""
    while os.environ.get(PARENT) and not is_orphan() and not stopping.is_set():
        try:
            await (await connect(settings.redis_url, within=timedelta(seconds=2))).aclose()
        except InputError as error:
            structlog.get_logger().warning("redis not reached", error=str(error))
            await is_set_within(stopping, 1)
        else:
            return
