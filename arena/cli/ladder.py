"""``arena ladder``: the standings of a ladder, or of every ladder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from arena.cli.console import Json, out, print_json
from arena.cli.remote import Server, calling, pages
from arena.cli.tables import Column, table
from arena.cli.tables import show as show_table
from arena.documents import document
from arena.v1 import ladders_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from arena.client import Client

_PAGE: Final = 200
_COLUMNS: Final = (
    Column("rank", right=True),
    Column("bot", shortens=True),
    Column("owner", leaves=5),
    Column("version", leaves=6),
    Column("Elo", right=True),
    Column("strength", right=True, leaves=2),
    Column("95 %", right=True, leaves=1),
    Column("matches", right=True, leaves=3),
    Column("time-outs", right=True, leaves=4),
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="ladder")(ladder)


def ladder(
    ruleset: Annotated[
        str, typer.Argument(metavar="[RULESET]", help="A ladder; all without it.")
    ] = "",
    *,
    count: Annotated[int, typer.Option(min=1, help="Bots to show.")] = 50,
    server: Server = None,
    json: Json = False,
) -> None:
    """Show the standings."""
    with calling(server) as client:
        rulesets = [ruleset] if ruleset else _rulesets(client)
        found = [_get(client, each, count=count) for each in rulesets]
    if json:
        print_json({"ladders": [document(each) for each in found]})
        return
    if not found:
        out.print("There is no ladder yet; `arena submit DIR` brings a bot that opens one.")
    for each in found:
        show_table(ladder_table(each.ladder.ruleset, each.entries))


def _rulesets(client: Client) -> list[str]:
    answer = client.ask(client.stub.ListLadders, ladders_pb2.ListLaddersRequest())
    return [ladder.ruleset for ladder in answer.ladders]


def _get(client: Client, ruleset: str, *, count: int) -> ladders_pb2.GetLadderResponse:
    """Return a ladder with its best bots."""
    request = ladders_pb2.GetLadderRequest(ruleset=ruleset, page_size=min(count, _PAGE))
    found = ladders_pb2.GetLadderResponse()
    for page in pages(client, client.stub.GetLadder, request):
        found.MergeFrom(page)
        if len(found.entries) >= count:
            break
    del found.entries[count:]
    return found


def ladder_table(
    title: str, entries: Iterable[ladders_pb2.LadderEntry], *, width: int | None = None
) -> RenderableType:
    """Return the standings as a table that is at most so wide; as stdout, without a width."""
    rows = [
        (
            str(entry.place),
            entry.bot,
            entry.owner,
            entry.active_version,
            f"{entry.rating:.1f}",
            f"{entry.strength:+.0f}" if entry.HasField("strength") else "-",
            _error(entry),
            str(entry.match_count),
            str(entry.timeout_count),
        )
        for entry in entries
    ]
    return table(_COLUMNS, rows, title=title, width=width)


def _error(entry: ladders_pb2.LadderEntry) -> str:
    """Return the error bar, or in a word why there is none."""
    if entry.HasField("strength_error"):
        return f"±{entry.strength_error:.0f}"
    return entry.note.partition(":")[0] or "-"
