"""``arena games``: the games, their options, and how to write a ruleset."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli.console import Json, out, print_json
from arena.cli.tables import Column, show, table
from referee.games import parse_ruleset, registry

if TYPE_CHECKING:
    from referee.games.base import GameInfo, Option

_COLUMNS = (
    Column("  option"),
    Column("values", wraps=True),
    Column("default"),
    Column("meaning", wraps=True),
)


def games(
    ruleset: Annotated[
        str, typer.Argument(help="A ruleset to explain; every game without it.")
    ] = "",
    *,
    json: Json = False,
) -> None:
    """List the games and their options, or explain one ruleset."""
    if ruleset:
        _explain(ruleset, json=json)
    elif json:
        print_json({"games": [_document(info) for info in registry.games()]})
    else:
        for info in registry.games():
            _show_game(info)
        out.print("A ruleset is a game with options: quasenbo:double=yes,players=3")


def _explain(ruleset: str, *, json: bool) -> None:
    game = parse_ruleset(ruleset)
    if json:
        names = ("ruleset", "seats", "entrants", "deck")
        print_json({name: getattr(game, name) for name in names})
        return
    show(f"{game.ruleset}: {game.seats} seats, {game.entrants} entrants")
    show(f"deck: {' '.join(game.deck)}")


def _show_game(info: GameInfo) -> None:
    rows = [
        (f"  {each.name}", _values(each), each.default or "depends", each.meaning)
        for each in info.options
    ]
    show(f"{info.name}: {info.title}, {info.seats} seats", f"  {info.summary}")
    show(table(_COLUMNS, rows), "")


def _values(option: Option) -> str:
    if len(option.values) > 6 and all(value.isdecimal() for value in option.values):
        return f"{option.values[0]}..{option.values[-1]}"
    return " ".join(option.values)


def _document(info: GameInfo) -> dict[str, Any]:
    options = [{**asdict(each), "default": each.default or None} for each in info.options]
    names = ("name", "title", "summary", "seats")
    return {**{name: getattr(info, name) for name in names}, "options": options}
