"""The options of competitions' formats, as commands take them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from arena.cli.connection import Arena
from arena.competitions.model import Format, Options
from referee.games import parse_ruleset

Ruleset = Annotated[str, typer.Argument(help="For example quasenbo; see `arena games`.")]
FormatName = Annotated[Format, typer.Option("--format", help="How it finds its matches.")]
Bots = Annotated[
    list[str] | None, typer.Option("--bot", help="Enters; give it once for each, seeds in order.")
]
Boards = Annotated[int | None, typer.Option(min=1, help="Of a match; as the ladder's matches.")]
Cycles = Annotated[int, typer.Option(min=1, help="Round robin, gauntlet: 2 plays it twice.")]
Rounds = Annotated[int | None, typer.Option(min=1, help="Swiss: log2 of the entrants.")]
Challengers = Annotated[int, typer.Option(min=1, help="Gauntlet: the first so many seeds.")]
Groups = Annotated[int, typer.Option(min=1, help="Groups: how many.")]
Advance = Annotated[int, typer.Option(min=1, help="Groups: how many of each go on.")]
TimeControl = Annotated[str | None, typer.Option("--time", help="BANK+INCREMENT in seconds.")]


def make_options(
    arena: Arena,
    ruleset: str,
    *,
    boards: int | None,
    lot: str = "",
    **options: Any,
) -> Options:
    """Return a format's options for a ruleset.

    Args:
        arena: whose settings say what is left open.
        ruleset: canonical text.
        boards: None for as many as a ladder match has.
        lot: seed text of the last tie-break.
        **options: the others, by their names.
    """
    own = arena.settings.ladder(ruleset).boards
    assert own is not None
    return Options(
        table_size=parse_ruleset(ruleset).entrants,
        boards=boards or own,
        lot=lot,
        **options,
    )
