"""``arena ladder``, over the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from arena.cli.console import out, print_json
from arena.cli.remote import calling, pages
from arena.cli.tables import Column, table
from arena.cli.tables import show as show_table
from arena.v1 import ladders_pb2

if TYPE_CHECKING:
    from rich.console import RenderableType

    from arena.client import Client

_PAGE: Final = 200


def show(ruleset: str, *, count: int, server: str | None, json: bool) -> None:
    """Show the best bots of a ladder, or of every ladder.

    Args:
        ruleset: any spelling of it; empty for every ladder.
        count: how many bots of each.
        server: the arena's address; None for that of the environment or the login.
        json: whether a program reads it.
    """
    found: dict[str, list[ladders_pb2.LadderEntry]] = {}
    with calling(server) as client:
        for each in [ruleset] if ruleset else _ladders(client):
            request = ladders_pb2.GetLadderRequest(ruleset=each, page_size=min(count, _PAGE))
            for page in pages(client, client.stub.GetLadder, request):
                entries = found.setdefault(page.ladder.ruleset, [])
                entries += page.entries
                if len(entries) >= count:
                    break
    if json:
        ladders = {each: [_document(e) for e in rows[:count]] for each, rows in found.items()}
        print_json({"ladders": ladders})
        return
    if not found:
        out.print("There is no ladder yet; `arena submit DIR` brings a bot that opens one.")
    for each, entries in found.items():
        show_table(_table(each, entries[:count]))


def _ladders(client: Client) -> list[str]:
    answer = client.ask(client.stub.ListLadders, ladders_pb2.ListLaddersRequest())
    return [ladder.ruleset for ladder in answer.ladders]


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


def _table(title: str, entries: list[ladders_pb2.LadderEntry]) -> RenderableType:
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
    return table(_COLUMNS, rows, title=title)


def _error(entry: ladders_pb2.LadderEntry) -> str:
    """Return the error bar, or in a word why there is none."""
    if entry.HasField("strength_error"):
        return f"±{entry.strength_error:.0f}"
    return entry.note.partition(":")[0] or "-"


def _document(entry: ladders_pb2.LadderEntry) -> dict[str, Any]:
    return {
        "rank": entry.place,
        "bot": entry.bot,
        "owner": entry.owner,
        "version": entry.active_version,
        "elo": round(entry.rating, 6),
        "strength": round(entry.strength, 1) if entry.HasField("strength") else None,
        "error": round(entry.strength_error, 1) if entry.HasField("strength_error") else None,
        "note": entry.note,
        "matches": entry.match_count,
        "version_matches": entry.rated_matches,
        "timeouts": entry.timeout_count,
    }
