"""What the commands that run a process of the service share."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import structlog
import typer

from arena.cli.console import DataDir, RedisUrl
from arena.config import load
from arena.context import Arena, connected
from arena.db.connection import connect
from arena.errors import InputError
from arena.metrics import Metrics
from arena.processes.lifecycle import PARENT, is_orphan, run_until_told, set_up_log
from referee.tasks import is_set_within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.config import Settings


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
        typer.Option(min=0, max=65535, help="Of /metrics; from 7490 up in `arena up`."),
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
