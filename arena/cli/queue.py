"""``arena queue``: what waits, what is given up, and how full the archive is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer

from arena.cli.connection import ask, ruleset_of
from arena.cli.console import DataDir, Json, RedisUrl, out, print_json
from arena.cli.tables import Column, table
from arena.cli.tables import show as show_table
from arena.context import Arena
from arena.errors import NotFoundError
from arena.metrics import QUEUE_STATES
from arena.queue.match_queue import MatchQueue

Matches = Annotated[
    list[str] | None, typer.Argument(help="Dead matches, by id; all of them without any.")
]
COLUMNS = (
    Column("ladder", shortens=True),
    Column("ready", right=True),
    Column("delayed", right=True, leaves=4),
    Column("paused", right=True, leaves=5),
    Column("leased", right=True, leaves=1),
    Column("dead", right=True),
    Column("done", right=True, leaves=2),
    Column("oldest", right=True, leaves=3),
)
Ruleset = Annotated[str, typer.Option("--ruleset", help="Only this ladder.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    queue = typer.Typer(name="queue", help="See what waits, mend what died.", no_args_is_help=True)
    queue.command(name="show")(show)
    queue.command(
        name="retry", help="Queue dead matches again, their attempts and voids forgotten."
    )(_for_dead(MatchQueue.retry, done="queued again"))
    queue.command(name="purge", help="Forget dead matches.")(
        _for_dead(MatchQueue.purge, done="forgotten")
    )
    app.add_typer(queue)


def show(*, data_dir: DataDir = None, redis_url: RedisUrl = None, json: Json = False) -> None:
    """Show how many matches stand where, the dead ones with their reason, and what is stored."""
    document = ask(_read, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json(document)
        return
    rows = [
        (
            ruleset,
            *(str(facts[state]) for state in (*QUEUE_STATES, "done")),
            f"{facts['oldest_seconds']:.1f} s",
        )
        for ruleset, facts in document["ladders"].items()
    ]
    show_table(table(COLUMNS, rows))
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


def _for_dead(
    act: Callable[[MatchQueue, str], Awaitable[bool]], *, done: str
) -> Callable[..., None]:
    """Return a command that does something to dead matches.

    Args:
        act: does it to one; False when the match is not dead any more.
        done: what then has been done to it, in words.
    """

    def command(
        matches: Matches = None,
        *,
        ruleset: Ruleset = "",
        data_dir: DataDir = None,
        redis_url: RedisUrl = None,
        json: Json = False,
    ) -> None:
        async def question(arena: Arena) -> list[str]:
            dead = await _dead(arena, ruleset, matches or [])
            return [match for match, queue in dead.items() if await act(queue, match)]

        found = ask(question, data_dir=data_dir, redis_url=redis_url)
        if json:
            print_json({"matches": found})
        else:
            out.print(f"{len(found)} {done}{': ' if found else ''}{' '.join(found)}", markup=False)

    return command


async def _dead(arena: Arena, ruleset: str, matches: list[str]) -> dict[str, MatchQueue]:
    """Return the queues of dead matches, of all of them without any that are named.

    Raises:
        NotFoundError: one of those that are named is not dead.
    """
    rulesets = [await ruleset_of(arena, ruleset)] if ruleset else await arena.queues.rulesets()
    dead: dict[str, MatchQueue] = {}
    for each in rulesets:
        queue = arena.queues.queue(each)
        dead |= {match.spec.id: queue for match in await queue.dead()}
    missing = [match for match in matches if match not in dead]
    if missing:
        raise NotFoundError(f"{missing[0]} is not a dead match; `arena queue show` lists them")
    return {match: dead[match] for match in matches or dead}
