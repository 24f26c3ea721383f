"""``arena queue``, ``arena workers``: show the queue, retry or purge dead matches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Final

import typer

from arena.cli.console import EXIT_FAILED, progress_console
from arena.cli.options import group
from arena.cli.remote import Remote
from arena.cli.tables import Column, table
from arena.errors import InputError
from arena.v1 import operations_pb2

Matches = Annotated[
    list[str] | None, typer.Argument(help="Dead matches, by id; all of them without any.")
]
Ruleset = Annotated[str, typer.Option("--ruleset", help="Only this ladder.")]
COLUMNS: Final = (
    Column("ladder", shortens=True),
    Column("ready", right=True),
    Column("delayed", right=True, leaves=4),
    Column("paused", right=True, leaves=5),
    Column("leased", right=True, leaves=1),
    Column("dead", right=True),
    Column("done", right=True, leaves=2),
    Column("oldest", right=True, leaves=3),
)
_WORKERS: Final = (
    Column("name", shortens=True),
    Column("kind"),
    Column("slots", right=True),
    Column("metrics port", right=True, leaves=1),
)


def show(*, arena: Remote) -> None:
    """Show the queue, dead matches and disk usage."""
    answer = arena.ask(arena.stub.GetQueue, operations_pb2.GetQueueRequest())
    arena.tell(answer, table(COLUMNS, map(_cells, answer.queues)), *_notes(answer))


def _notes(answer: operations_pb2.GetQueueResponse) -> Iterator[str]:
    for queue in answer.queues:
        for dead in queue.dead_matches:
            counts = f"{dead.attempts} attempts, {dead.voids} voids"
            yield f"dead: {dead.match} of {queue.ruleset}, {counts}: {dead.reason}"
    for usage in answer.usages:
        yield f"{usage.kind}: {usage.files} files, {_size(usage)} bytes"
    yield f"unpacked there: {answer.cache.files} bots, {_size(answer.cache)} bytes"
    if answer.owner_limit_bytes:
        yield f"bots of one owner: at most {answer.owner_limit_bytes} bytes"


def _cells(queue: operations_pb2.Queue) -> list[str]:
    counts = (queue.ready, queue.delayed, queue.paused, queue.leased, queue.dead, queue.done)
    oldest = queue.oldest.ToTimedelta().total_seconds()
    return [queue.ruleset, *map(str, counts), f"{oldest:.1f} s"]


def _size(usage: operations_pb2.DiskUsage) -> str:
    return f"{usage.size_bytes}" + (f" of {usage.limit_bytes}" if usage.limit_bytes else "")


def retry(matches: Matches = None, *, ruleset: Ruleset = "", arena: Remote) -> None:
    """Queue dead matches again.

    Their attempts and voids are forgotten.
    """
    answer = operations_pb2.RetryMatchesResponse(match_count=len(matches or []))
    for each in matches or []:
        arena.ask(arena.stub.RetryMatch, operations_pb2.RetryMatchRequest(match=each))
    if not matches:
        request = operations_pb2.RetryMatchesRequest(ruleset=ruleset)
        answer = arena.ask(arena.stub.RetryMatches, request)
    arena.tell(answer, f"{answer.match_count} queued again")


def purge(
    matches: Matches = None,
    *,
    ruleset: Ruleset = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before all are forgotten.")
    ] = False,
    arena: Remote,
) -> None:
    """Delete dead matches; asks first if all."""
    answer = operations_pb2.PurgeMatchesResponse(match_count=len(matches or []))
    for each in matches or []:
        arena.ask(arena.stub.PurgeMatch, operations_pb2.PurgeMatchRequest(match=each))
    if not matches:
        if not yes:
            _confirm(arena, ruleset)
        request = operations_pb2.PurgeMatchesRequest(ruleset=ruleset)
        answer = arena.ask(arena.stub.PurgeMatches, request)
    arena.tell(answer, f"{answer.match_count} forgotten")


def _confirm(arena: Remote, ruleset: str) -> None:
    """Ask whether all dead matches shall be deleted; InputError where nobody can answer."""
    which = f"all dead matches{f' of {ruleset}' if ruleset else ''}"
    what = f"{which} of {arena.client.login.address}"
    if not sys.stdin.isatty():
        raise InputError(f"this forgets {what}: say --yes, or name some")
    progress_console.print(f"This forgets {what}.")
    if not typer.confirm("Forget them?", err=True):
        raise typer.Exit(EXIT_FAILED)


def workers(*, arena: Remote) -> None:
    """List the running processes of the arena."""
    answer = arena.ask(arena.stub.ListWorkers, operations_pb2.ListWorkersRequest())
    found = answer.workers
    rows = [(each.name, each.kind, str(each.slots), str(each.metrics_port)) for each in found]
    arena.tell(answer, table(_WORKERS, rows))


queue = group("Show the queue; retry or purge dead matches.", show, retry, purge)
