"""``arena pipeline``: run trials of submitted versions, and send webhooks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from arena.check.run import CheckOptions
from arena.cli.service import ServiceOptions, part, run_part
from arena.db.presence import Announcement, announced
from arena.pipeline.pipeline import Pipeline, PipelineOptions, yield_to_matches
from arena.pipeline.trial import TrialOptions, ValidationPlan
from arena.processes.lifecycle import process_name
from arena.processes.sandbox import sandbox_of
from arena.scheduler.housekeeping import keep_cache
from arena.webhooks.sender import DeliveryOptions, WebhookSender
from arena.webhooks.store import Webhooks
from referee.clock import TimeControl
from referee.tasks import cancel

if TYPE_CHECKING:
    from arena.config import Settings

VALIDATION_BOARDS = 2
"""The most boards of a validation match, each in all its rotations."""


def pipeline(
    *,
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, help="Versions tried at the same time; 2.")
    ] = None,
    options: ServiceOptions,
) -> None:
    """Run trials of submitted versions.

    Suspends faulty versions and sends webhooks, too. Several may run.
    """
    yield_to_matches()
    run_part(options.settings(trials=trials), _run)


async def _run(settings: Settings, stopping: asyncio.Event) -> None:
    async with part(settings, stopping) as (arena, _, port):
        sandbox = await sandbox_of(settings)
        structlog.get_logger().info("sandbox found", tier=sandbox.tier, why=sandbox.why)
        pipeline = Pipeline(
            arena,
            sandbox=sandbox,
            options=PipelineOptions(
                slots=settings.trials, cores=settings.cores, trial=trial_options(settings)
            ),
        )
        sender = WebhookSender(
            Webhooks(arena.redis, allows_http=settings.webhook_http),
            DeliveryOptions(
                allows_http=settings.webhook_http, allows_private=settings.webhook_private
            ),
        )
        announcement = Announcement(
            name=process_name("pipeline"), kind="pipeline", slots=0, metrics_port=port
        )
        async with announced(arena.redis, announcement), asyncio.TaskGroup() as group:
            posting = group.create_task(sender.run(stopping))
            keeping = group.create_task(keep_cache(arena))
            await pipeline.run(stopping)
            await cancel(keeping)
            await posting


def trial_options(settings: Settings) -> TrialOptions:
    """Return how a version is tried: by its ladders' clocks and numbers of open games."""

    def plan(ruleset: str) -> ValidationPlan:
        ladder = settings.ladder(ruleset)
        return ValidationPlan(
            boards=min(ladder.boards, VALIDATION_BOARDS),
            control=TimeControl.parse(ladder.time_control),
            parallel_games=ladder.parallel_games,
        )

    return TrialOptions(
        plan=plan,
        check=CheckOptions(control=TimeControl.parse(settings.time_control)),
        allows_unsandboxed=settings.allow_unsandboxed_bots,
    )
