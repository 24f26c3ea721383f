"""The options of competitions' formats, as commands take them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from arena.formats.model import Format
from arena.v1.competitions_pb2 import CompetitionFormat, CompetitionRules

Ruleset = Annotated[str, typer.Argument(help="For example quasenbo; see `arena games`.")]
TimeControl = Annotated[str | None, typer.Option("--time", help="BANK+INCREMENT in seconds.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateOptions:
    """Who plays in a new tournament or league, how fast, and what it counts."""

    bots: Annotated[
        list[str] | None,
        typer.Option("--bot", help="Enters; give it once for each, seeds in order."),
    ] = None
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Every active bot of the ladder enters.")
    ] = False
    time: TimeControl = None
    rated: Annotated[
        bool, typer.Option("--rated", help="Its matches change the ladder's ratings.")
    ] = False
    weight: Annotated[
        int, typer.Option(min=1, max=10**6, help="Its share beside the ladder, which has 1.")
    ] = 1
    seed: Annotated[str, typer.Option(help="Text that all boards follow from; secret.")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatChoice:
    """The format of a competition and the options of the formats."""

    format: Annotated[
        Format,
        typer.Option(
            metavar="FORMAT", help=f"How it finds its matches: {', '.join(sorted(Format))}."
        ),
    ] = Format.ROUND_ROBIN
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
