"""``arena queue``: what waits, what is given up, and how full the archive is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from arena.cli.connection import Arena, ask
from arena.cli.console import DataDir, Json, RedisUrl, out, print_json
from arena.errors import NotFoundError
from arena.metrics import QUEUE_STATES

if TYPE_CHECKING:
    from arena.queue.match_queue import MatchQueue

Matches = Annotated[
    list[str] | None, typer.Argument(help="Dead matches, by id; all of them without any.")
]
Ruleset = Annotated[str, typer.Option("--ruleset", help="Only this ladder.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    queue = typer.Typer(name="queue", help="See what waits, mend what died.", no_args_is_help=True)
    queue.command(name="show")(show)
    queue.command(name="retry")(retry)
    queue.command(name="purge")(purge)
    app.add_typer(queue)


def show(*, data_dir: DataDir = None, redis_url: RedisUrl = None, json: Json = False) -> None:
    """Show how many matches stand where, the dead ones with their reason, and what is stored."""
    document = ask(_read, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json(document)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("ladder", *QUEUE_STATES, "done", "oldest"):
        table.add_column(heading, justify="left" if heading == "ladder" else "right")
    for ruleset, facts in document["ladders"].items():
        counts = [str(facts[state]) for state in (*QUEUE_STATES, "done")]
        table.add_row(ruleset, *counts, f"{facts['oldest_seconds']:.1f} s")
    out.print(table)
    for each in document["dead"]:
        out.print(
            f"dead: {each['match']} of {each['ruleset']}, {each['attempts']} attempts, "
            f"{each['voids']} voids: {each['reason']}",
            markup=False,
        )
    for kind, usage in document["archive"].items():
        bound = f" of {usage['bound_bytes']}" if usage["bound_bytes"] else ""
        out.print(f"{kind}: {usage['files']} files, {usage['bytes']}{bound} bytes", markup=False)
    cache = document["cache"]
    bound = f" of {cache['bound_bytes']}" if cache["bound_bytes"] else ""
    out.print(f"unpacked here: {cache['bots']} bots, {cache['bytes']}{bound} bytes", markup=False)
    if document["owner_bytes"]:
        out.print(f"bots of one owner: at most {document['owner_bytes']} bytes", markup=False)


async def _read(arena: Arena) -> dict[str, Any]:
    ladders, dead = {}, []
    for ruleset in await arena.queues.rulesets():
        queue = arena.queues.queue(ruleset)
        counts = await queue.counts()
        ladders[ruleset] = {
            **{state: getattr(counts, state) for state in (*QUEUE_STATES, "done")},
            "oldest_seconds": await queue.oldest_seconds(),
        }
        dead += [
            {
                "match": each.spec.id,
                "ruleset": ruleset,
                "attempts": each.attempts,
                "voids": each.voids,
                "reason": each.reason,
                "time": each.time.isoformat(),
            }
            for each in await queue.dead()
        ]
    bounds = {"replays": arena.settings.replay_bytes, "logs": arena.settings.log_bytes}
    usage = await asyncio.to_thread(arena.archive.usage)
    unpacked = await asyncio.to_thread(arena.archive.cache.sizes)
    return {
        "ladders": ladders,
        "dead": dead,
        "archive": {
            kind: {
                "files": each.files,
                "bytes": each.size_bytes,
                "bound_bytes": bounds.get(kind, 0),
            }
            for kind, each in usage.items()
        },
        "cache": {
            "bots": len(unpacked),
            "bytes": sum(unpacked.values()),
            "bound_bytes": arena.settings.cache_bytes,
        },
        "owner_bytes": arena.settings.owner_bytes,
    }


def retry(
    matches: Matches = None,
    *,
    ruleset: Ruleset = "",
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Queue dead matches again, their attempts and voids forgotten."""

    async def question(arena: Arena) -> list[str]:
        return await _each_dead(arena, ruleset, matches or [], again=True)

    _report("queued again", ask(question, data_dir=data_dir, redis_url=redis_url), json=json)


def purge(
    matches: Matches = None,
    *,
    ruleset: Ruleset = "",
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Forget dead matches."""

    async def question(arena: Arena) -> list[str]:
        return await _each_dead(arena, ruleset, matches or [], again=False)

    _report("forgotten", ask(question, data_dir=data_dir, redis_url=redis_url), json=json)


def _report(what: str, done: list[str], *, json: bool) -> None:
    if json:
        print_json({"matches": done})
    else:
        out.print(f"{len(done)} {what}{': ' if done else ''}{' '.join(done)}", markup=False)


async def _each_dead(arena: Arena, ruleset: str, matches: list[str], *, again: bool) -> list[str]:
    """Queue again or forget; nothing is done when one of the matches is not dead."""
    rulesets = [await arena.ruleset(ruleset)] if ruleset else await arena.queues.rulesets()
    dead: dict[str, MatchQueue] = {}
    for each in rulesets:
        queue = arena.queues.queue(each)
        dead |= {match.spec.id: queue for match in await queue.dead()}
    missing = [match for match in matches if match not in dead]
    if missing:
        raise NotFoundError(f"{missing[0]} is not a dead match; `arena queue show` lists them")
    done = []
    for match in matches or list(dead):
        queue = dead[match]
        if await (queue.retry(match) if again else queue.purge(match)):
            done.append(match)
    return done
