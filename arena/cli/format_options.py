"""The options of competitions' formats, as commands take them."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from arena.formats.model import Format
from arena.v1.competitions_pb2 import CompetitionFormat, CompetitionRules

if TYPE_CHECKING:
    from collections.abc import Callable

Ruleset = Annotated[str, typer.Argument(help="For example quasenbo; see `arena games`.")]
Bots = Annotated[
    list[str] | None, typer.Option("--bot", help="Enters; give it once for each, seeds in order.")
]
Rated = Annotated[bool, typer.Option("--rated", help="Its matches change the ladder's ratings.")]
Weight = Annotated[
    int, typer.Option(min=1, max=10**6, help="Its share beside the ladder, which has 1.")
]
Everybody = Annotated[
    bool, typer.Option("--everybody", help="Every active bot of the ladder enters.")
]
Seed = Annotated[str, typer.Option(help="Text that all boards follow from; secret.")]
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

    def rules(self, ruleset: str, **others: Any) -> CompetitionRules:
        """Return the rules of a competition; the arena fills in what is left open.

        Args:
            ruleset: any spelling of it.
            **others: further fields of the rules.
        """
        chosen = {name: value for name, value in asdict(self).items() if name != "format"}
        name = f"COMPETITION_FORMAT_{self.format.name}"
        return CompetitionRules(
            ruleset=ruleset, format=CompetitionFormat.Value(name), **chosen, **others
        )


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
