"""``arena ladder-rebuild``: check that the ratings of ladders follow from their logs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.backend.backend import Backend
from arena.cli.console import (
    EXIT_FAILED,
    DataDir,
    Json,
    RedisUrl,
    complain,
    out,
    print_json,
)
from arena.cli.loop import run_async
from arena.config import load
from arena.context import connected
from arena.queue import rebuild

if TYPE_CHECKING:
    from arena.config import Settings
    from arena.queue.rebuild import ReplayReport


def ladder_rebuild(
    ruleset: Annotated[str, typer.Argument(help="A ladder; all without it.")] = "",
    *,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Recompute ratings from the log and compare.

    Runs where the data is, without the API; exit 1 when a ladder does not follow from its log.
    """
    reports = run_async(_replay(load(data_dir=data_dir, redis_url=redis_url), ruleset))
    if json:
        print_json({"ladders": {each: _document(report) for each, report in reports.items()}})
    for each, report in reports.items():
        if not json:
            verdict = "live = replayed" if report.equal else "live and replayed differ"
            out.print(
                f"{each}: {report.sequence} entries, {report.annulled} annulled, sum + bank "
                f"{report.balance}: {verdict}"
            )
        for difference in report.differences:
            complain(
                f"{each}: {difference.name} is {difference.live}, "
                f"the log says {difference.replayed}"
            )
    if not all(report.equal for report in reports.values()):
        raise typer.Exit(EXIT_FAILED)


async def _replay(settings: Settings, ruleset: str) -> dict[str, ReplayReport]:
    async with connected(settings) as arena:
        return {
            each: await rebuild.replay(arena.queues.ladder(each), arena.archive)
            for each in await Backend.of(arena).rulesets(ruleset)
        }


def _document(report: ReplayReport) -> dict[str, Any]:
    return {
        "equal": report.equal,
        "entries": report.sequence,
        "annulled": report.annulled,
        "balance": report.balance,
        "differences": [asdict(each) for each in report.differences],
    }
