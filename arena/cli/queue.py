"""``arena queue``, ``arena workers``: what waits, what was given up, and who plays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arena.cli.console import EXIT_FAILED, Json, out, print_json, progress_console
from arena.cli.remote import Server, calling
from arena.cli.tables import Column, table
from arena.cli.tables import show as show_table
from arena.documents import document
from arena.errors import InputError
from arena.v1 import operations_pb2

if TYPE_CHECKING:
    from arena.client import Client

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


def register(app: typer.Typer) -> None:
    """Add the commands."""
    queue = typer.Typer(name="queue", help="See what waits, mend what died.", no_args_is_help=True)
    queue.command(name="show")(show)
    queue.command(name="retry")(retry)
    queue.command(name="purge")(purge)
    app.add_typer(queue)
    app.command(name="workers")(workers)


def show(*, server: Server = None, json: Json = False) -> None:
    """Show what waits, what died, what is stored."""
    with calling(server) as client:
        answer = client.ask(client.stub.GetQueue, operations_pb2.GetQueueRequest())
    if json:
        print_json(document(answer))
        return
    show_table(table(COLUMNS, map(_cells, answer.queues)))
    for queue in answer.queues:
        for dead in queue.dead_matches:
            out.print(
                f"dead: {dead.match} of {queue.ruleset}, {dead.attempts} attempts, "
                f"{dead.voids} voids: {dead.reason}",
                markup=False,
            )
    for usage in answer.usages:
        out.print(f"{usage.kind}: {usage.files} files, {_size(usage)} bytes", markup=False)
    out.print(
        f"unpacked there: {answer.cache.files} bots, {_size(answer.cache)} bytes", markup=False
    )
    if answer.owner_limit_bytes:
        out.print(f"bots of one owner: at most {answer.owner_limit_bytes} bytes", markup=False)


def _cells(queue: operations_pb2.Queue) -> list[str]:
    counts = (queue.ready, queue.delayed, queue.paused, queue.leased, queue.dead, queue.done)
    oldest = queue.oldest.ToTimedelta().total_seconds()
    return [queue.ruleset, *map(str, counts), f"{oldest:.1f} s"]


def _size(usage: operations_pb2.DiskUsage) -> str:
    return (
        f"{usage.size_bytes} of {usage.limit_bytes}" if usage.limit_bytes else f"{usage.size_bytes}"
    )


def retry(
    matches: Matches = None, *, ruleset: Ruleset = "", server: Server = None, json: Json = False
) -> None:
    """Queue dead matches again.

    Their attempts and voids are forgotten.
    """
    answer = operations_pb2.RetryMatchesResponse(match_count=len(matches or []))
    with calling(server) as client:
        for each in matches or []:
            client.ask(client.stub.RetryMatch, operations_pb2.RetryMatchRequest(match=each))
        if not matches:
            request = operations_pb2.RetryMatchesRequest(ruleset=ruleset)
            answer = client.ask(client.stub.RetryMatches, request)
    if json:
        print_json(document(answer))
    else:
        out.print(f"{answer.match_count} queued again", markup=False)


def purge(
    matches: Matches = None,
    *,
    ruleset: Ruleset = "",
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before all are forgotten.")
    ] = False,
    server: Server = None,
    json: Json = False,
) -> None:
    """Forget dead matches; asks first if all."""
    answer = operations_pb2.PurgeMatchesResponse(match_count=len(matches or []))
    with calling(server) as client:
        for each in matches or []:
            client.ask(client.stub.PurgeMatch, operations_pb2.PurgeMatchRequest(match=each))
        if not matches:
            if not yes:
                _confirm(client, ruleset)
            request = operations_pb2.PurgeMatchesRequest(ruleset=ruleset)
            answer = client.ask(client.stub.PurgeMatches, request)
    if json:
        print_json(document(answer))
    else:
        out.print(f"{answer.match_count} forgotten", markup=False)


def _confirm(client: Client, ruleset: str) -> None:
    """Ask whether all dead matches shall be forgotten.

    Raises:
        InputError: nobody can answer.
    """
    which = f"all dead matches of {ruleset}" if ruleset else "all dead matches"
    if not sys.stdin.isatty():
        raise InputError(f"this forgets {which} of {client.login.address}: say --yes, or name some")
    progress_console.print(f"This forgets {which} of {client.login.address}.", markup=False)
    if not typer.confirm("Forget them?", err=True):
        raise typer.Exit(EXIT_FAILED)


def workers(*, server: Server = None, json: Json = False) -> None:
    """List the running processes of the arena."""
    with calling(server) as client:
        answer = client.ask(client.stub.ListWorkers, operations_pb2.ListWorkersRequest())
    if json:
        print_json(document(answer))
        return
    rows = [
        (each.name, each.kind, str(each.slots), str(each.metrics_port)) for each in answer.workers
    ]
    show_table(table(_WORKERS, rows))
