"""``arena watch``: print the results of a ladder as they are committed."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from arena.cli.console import out
from arena.cli.match import scored
from arena.cli.remote import Remote, moment
from arena.documents import document
from arena.v1 import matches_pb2


def watch(
    ruleset: Annotated[str, typer.Argument(help="The ladder.")],
    *,
    bot: Annotated[str, typer.Option(help="Only the matches of this bot.")] = "",
    after: Annotated[
        int | None,
        typer.Option(min=0, help="Begin behind this sequence of the log; with what comes now."),
    ] = None,
    count: Annotated[int, typer.Option(min=0, help="End after so many; 0 for Ctrl-C.")] = 0,
    arena: Remote,
) -> None:
    """Print results of a ladder as they come.

    With --json each result is a document on a line of its own.
    """
    request = matches_pb2.WatchMatchesRequest(ruleset=ruleset, bot=bot, after_sequence=after)
    told = 0

    def ended(_: object) -> bool:
        return 0 < count <= told

    for answer in arena.watch(arena.stub.WatchMatches, request, ended=ended):
        # A stream that is opened again goes on behind what was told.
        request.after_sequence = answer.match.sequence
        told += 1
        if arena.json:
            typer.echo(json.dumps(document(answer), ensure_ascii=False))
        else:
            entrants = " - ".join(map(scored, answer.match.entrants)).replace("\n", "")
            end = moment(answer.match.end_time)
            out.print(f"{end}  {answer.match.id}  {entrants}")
