"""``arena tournament``: join, show and run tournaments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import typer

from arena.cli import competition
from arena.cli.competition import CreateOptions, Ruleset, TimeControl
from arena.cli.console import BotFolders, Json, KeepDir
from arena.cli.options import group
from arena.cli.remote import Remote, moment, word
from arena.cli.tables import Column, table
from arena.formats.model import Format
from arena.v1 import competitions_pb2
from arena.v1.competitions_pb2 import CompetitionFormat, CompetitionRules

Name = Annotated[str, typer.Argument(help="The tournament.")]
Bot = Annotated[str, typer.Argument(help="A bot, or one version of it, NAME@3.")]

COLUMNS = (
    Column("name", shortens=True),
    Column("ruleset", leaves=2),
    Column("format", leaves=1),
    Column("state"),
    Column("entrants", right=True, leaves=3),
    Column("created", leaves=4),
)


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


def list_(*, arena: Remote) -> None:
    """List tournaments and seasons of leagues."""
    request = competitions_pb2.ListCompetitionsRequest()
    found = arena.ask_all(arena.competitions.ListCompetitions, request)
    arena.tell(found, table(COLUMNS, map(_cells, found.competitions)))


def _cells(found: competitions_pb2.Competition) -> list[str]:
    form = word(competitions_pb2.CompetitionFormat, found.rules.format)
    name, state = competition.name_of(found.id), competition.state_word(found.state)
    count, created = str(found.entrant_count), moment(found.create_time)
    return [name, found.rules.ruleset, form, state, count, created]


def show(name: Name, *, options: competition.ShowOptions, arena: Remote) -> None:
    """Show standings with error bars, and brackets."""
    competition.show(arena, _id(name), options)


def join(name: Name, bot: Bot, *, arena: Remote) -> None:
    """Enter a bot before the start.

    It plays with the version that is active at the start.
    """
    competition.enter(arena, _id(name), bot)


def leave(name: Name, bot: Bot, *, arena: Remote) -> None:
    """Withdraw a bot.

    Once the tournament has started, the bot's unplayed matches count as lost.
    """
    competition.take_out(arena, _id(name), bot)


def plan(
    ruleset: Ruleset,
    *,
    chosen: FormatChoice,
    entrants: Annotated[int, typer.Option(min=2, help="How many will play.")] = 16,
    slots: Annotated[int | None, typer.Option(min=1, help="Instead of the workers'.")] = None,
    arena: Remote,
) -> None:
    """Forecast how long a tournament takes."""
    request = competitions_pb2.PlanTournamentRequest(
        rules=chosen.rules(ruleset), entrant_count=entrants, slots=slots
    )
    answer = arena.ask(arena.competitions.PlanTournament, request)
    arena.tell(answer, *_forecast(answer.forecast))


def _forecast(found: competitions_pb2.Forecast) -> Iterator[str]:
    least, most = found.match_count_min, found.match_count_max
    matches = str(least) if least == most else f"{least} to {most}"
    yield f"{matches} matches in {found.round_count} rounds, about {found.game_count} games"
    if found.HasField("elapsed"):
        yield (
            f"about {found.elapsed.ToSeconds() / 60:.1f} minutes on the present workers, if they "
            f"play nothing else (from {found.measured_match_count} matches in the log)"
        )
    elif not found.measured_match_count:
        yield "how long: unknown, this ladder has no results yet"
    else:
        yield "how long: unknown, no worker is alive; name --slots"
    if not found.HasField("elo_error"):
        yield "error bars: none for most entrants, too few independent boards"
    else:
        lead = f", a lead to ±{found.lead_error:.0f}" if found.HasField("lead_error") else ""
        yield f"error bars: a strength is known to about ±{found.elo_error:.0f} Elo (95 %){lead}"


def create(  # noqa: PLR0913 -- a command's options
    name: Name,
    ruleset: Ruleset,
    *,
    chosen: FormatChoice,
    options: CreateOptions,
    seeding: Annotated[
        Literal["rating", "given"], typer.Option(help="The order of the seeds.")
    ] = "rating",
    capacity: Annotated[int, typer.Option(min=0, help="The most entrants; 0 for any.")] = 0,
    registration: Annotated[
        bool, typer.Option("--open", help="Owners may enter their own bots.")
    ] = False,
    begin: Annotated[bool, typer.Option("--start", help="Start it at once.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Start it, and wait for its end.")] = False,
    arena: Remote,
) -> None:
    """Create a tournament, and perhaps start it."""
    request = competitions_pb2.CreateTournamentRequest(
        name=name,
        rules=chosen.rules(
            ruleset,
            time_control=options.time,
            rated=options.rated,
            weight=options.weight,
            capacity=capacity,
            seeded_as_entered=seeding == "given",
        ),
        entries=options.bots or [],
        everybody=options.everybody,
        open=registration,
        seed=options.seed,
        start=begin or wait,
    )
    answer = arena.ask(arena.competitions.CreateTournament, request)
    competition.tell_left_out(answer.left_out)
    competition.show(arena, answer.competition.id, wait=wait)


def open_(name: Name, *, arena: Remote) -> None:
    """Open registration: owners enter their bots."""
    request = competitions_pb2.OpenTournamentRequest(competition=_id(name))
    answer = arena.ask(arena.competitions.OpenTournament, request)
    arena.tell(answer, f"{name} is {competition.state_word(answer.competition.state)}")


def start(
    name: Name,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end.")] = False,
    arena: Remote,
) -> None:
    """Start a tournament.

    Entrants and their versions are settled from now on.
    """
    request = competitions_pb2.StartTournamentRequest(competition=_id(name))
    answer = arena.ask(arena.competitions.StartTournament, request)
    competition.tell_left_out(answer.left_out)
    competition.show(arena, _id(name), wait=wait)


def pause(name: Name, *, arena: Remote) -> None:
    """Pause a tournament: no match begins.

    What is being played goes on.
    """
    competition.change(arena, _id(name), "Pause")


def resume(name: Name, *, arena: Remote) -> None:
    """Resume a paused tournament."""
    competition.change(arena, _id(name), "Resume")


def cancel(name: Name, *, arena: Remote) -> None:
    """Cancel a tournament: it has no winner.

    What is being played is dropped.
    """
    competition.change(arena, _id(name), "Cancel")


def play(  # noqa: PLR0913 -- a command's options
    ruleset: Ruleset,
    *,
    chosen: FormatChoice,
    folders: BotFolders = None,
    clones: Annotated[
        int, typer.Option(min=1, max=200, help="Enter each bot so often, under own names.")
    ] = 1,
    time: TimeControl = None,
    seed: Annotated[str, typer.Option(help="Text that all boards follow from.")] = "",
    slots: Annotated[int | None, typer.Option(min=1, help="Tables at once; one per core.")] = None,
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Run bots in the sandbox.")] = False,
    cross: Annotated[bool, typer.Option("--cross", help="Add who did how against whom.")] = False,
    data_dir: KeepDir = None,
    json: Json = False,
) -> None:
    """Play a tournament on a temporary local arena."""
    from arena.cli.tournament_play import play_tournament  # noqa: PLC0415 -- needs `server`

    view = play_tournament(
        chosen.rules(ruleset, time_control=time, seeded_as_entered=True),
        seed=seed,
        folders=folders,
        clones=clones,
        options={"data_dir": data_dir, "slots": slots, "sandbox": sandbox},
        quiet=json,
    )
    competition.tell(view, json=json, cross=cross)


def _id(name: str) -> str:
    return f"t-{name}"


tournament = group(
    "Join, watch and run tournaments.",
    list_,
    show,
    join,
    leave,
    plan,
    create,
    open_,
    start,
    pause,
    resume,
    cancel,
    play,
)
