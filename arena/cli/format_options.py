"""The options of competitions' formats, as commands take them."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from arena.context import Arena
from arena.formats.model import Format, Options
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from collections.abc import Callable

Ruleset = Annotated[str, typer.Argument(help="For example quasenbo; see `arena games`.")]
Bots = Annotated[
    list[str] | None, typer.Option("--bot", help="Enters; give it once for each, seeds in order.")
]
TimeControl = Annotated[str | None, typer.Option("--time", help="BANK+INCREMENT in seconds.")]

_PARAMETER: Final = "chosen"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatChoice:
    """A format and its options, each an option of a command; see `takes_format`."""

    format: Annotated[Format, typer.Option("--format", help="How it finds its matches.")] = (
        Format.ROUND_ROBIN
    )
    boards: Annotated[
        int | None, typer.Option(min=1, help="Of a match; as the ladder's matches.")
    ] = None
    cycles: Annotated[int, typer.Option(min=1, help="Round robin, gauntlet: 2 plays it twice.")] = 1
    rounds: Annotated[int | None, typer.Option(min=1, help="Swiss: log2 of the entrants.")] = None
    challengers: Annotated[int, typer.Option(min=1, help="Gauntlet: the first so many seeds.")] = 1
    groups: Annotated[int, typer.Option(min=1, help="Groups: how many.")] = 2
    advance: Annotated[int, typer.Option(min=1, help="Groups: how many of each go on.")] = 2

    def options(self, arena: Arena, ruleset: str, *, lot: str = "") -> Options:
        """Return the format's options for a ruleset; see `make_options`."""
        chosen = {name: value for name, value in asdict(self).items() if name != "format"}
        return make_options(arena, ruleset, lot=lot, **chosen)


def takes_format(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take the options of `FormatChoice` as one keyword argument, ``chosen``."""
    signature = inspect.signature(command, eval_str=True)
    hints = get_type_hints(FormatChoice, include_extras=True)
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(FormatChoice)
    ]
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += options if parameter.name == _PARAMETER else [parameter]

    @wraps(command)
    def run(**arguments: Any) -> None:
        chosen = FormatChoice(**{each.name: arguments.pop(each.name) for each in options})
        command(**arguments, **{_PARAMETER: chosen})

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


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
