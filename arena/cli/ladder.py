"""``arena ladder``: show the standings of a ladder, or of every ladder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from arena.cli.console import out
from arena.cli.remote import Remote
from arena.cli.tables import Column, table
from arena.documents import document
from arena.v1 import ladders_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

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


def ladder(
    ruleset: Annotated[
        str, typer.Argument(metavar="[RULESET]", help="A ladder; all without it.")
    ] = "",
    *,
    count: Annotated[int, typer.Option(min=1, help="Bots to show.")] = 50,
    arena: Remote,
) -> None:
    """Show the standings of a ladder, or of all."""
    rulesets = [ruleset] if ruleset else _rulesets(arena)
    found = [_get(arena, each, count=count) for each in rulesets]
    arena.tell(
        {"ladders": [document(each) for each in found]},
        *(ladder_table(each.ladder.ruleset, each.entries) for each in found),
    )
    if not found and not arena.json:
        out.print("There is no ladder yet; `arena submit DIR` brings a bot that opens one.")


def _rulesets(arena: Remote) -> list[str]:
    answer = arena.ask(arena.stub.ListLadders, ladders_pb2.ListLaddersRequest())
    return [ladder.ruleset for ladder in answer.ladders]


def _get(arena: Remote, ruleset: str, *, count: int) -> ladders_pb2.GetLadderResponse:
    """Return a ladder with its best bots."""
    request = ladders_pb2.GetLadderRequest(ruleset=ruleset, page_size=min(count, _PAGE))
    found = arena.ask_all(
        arena.stub.GetLadder, request, enough=lambda found: len(found.entries) >= count
    )
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
