"""``arena games``: the games, their options, and how to write a ruleset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from arena.cli.console import Json, out, print_json
from referee.games import parse_ruleset, registry

if TYPE_CHECKING:
    from referee.games.base import GameInfo, Option


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
    facts = {
        "ruleset": game.ruleset,
        "seats": game.seats,
        "entrants": game.entrants,
        "deck": list(game.deck),
    }
    if json:
        print_json(facts)
        return
    out.print(f"{game.ruleset}: {game.seats} seats, {game.entrants} entrants")
    out.print(f"deck: {' '.join(game.deck)}")


def _show_game(info: GameInfo) -> None:
    out.print(f"{info.name}: {info.title}, {info.seats} seats")
    out.print(f"  {info.summary}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for heading in ("option", "values", "default", "meaning"):
        table.add_column(heading)
    for option in info.options:
        table.add_row(option.name, _values(option), option.default or "depends", option.meaning)
    out.print(table)
    out.print()


def _values(option: Option) -> str:
    if len(option.values) > 6 and all(value.isdecimal() for value in option.values):
        return f"{option.values[0]}..{option.values[-1]}"
    return " ".join(option.values)


def _document(info: GameInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "title": info.title,
        "summary": info.summary,
        "seats": info.seats,
        "options": [
            {
                "name": option.name,
                "values": list(option.values),
                "default": option.default or None,
                "meaning": option.meaning,
            }
            for option in info.options
        ],
    }
