"""``arena up``: run the whole service on this machine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.console import progress_console
from arena.cli.service import ServiceOptions, Slots, run_part
from arena.db.connection import connect
from arena.db.presence import Presence
from arena.files import ADMIN_FILE
from arena.processes.supervisor import running
from referee.tasks import cancel

if TYPE_CHECKING:
    from arena.config import Settings
    from arena.processes.supervisor import Supervisor


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
