"""``arena tournament``: owners join tournaments and watch them, operators run them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from arena.cli.competition import (
    change,
    enter,
    look,
    name_of,
    state_word,
    take_out,
    tell,
    tell_left_out,
    until_over,
)
from arena.cli.console import Json, out, print_json
from arena.cli.format_options import (
    Bots,
    Everybody,
    FormatChoice,
    Rated,
    Ruleset,
    Seed,
    TimeControl,
    Weight,
    takes_format,
)
from arena.cli.remote import Server, calling, moment, pages, word
from arena.cli.tables import Column, table
from arena.cli.tables import show as show_table
from arena.documents import document
from arena.v1 import competitions_pb2

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


def register(app: typer.Typer) -> None:
    """Add the commands."""
    noun = typer.Typer(
        name="tournament", help="Join, watch and run tournaments.", no_args_is_help=True
    )
    noun.command(name="list")(show_all)
    noun.command(name="show")(show)
    noun.command(name="join")(join)
    noun.command(name="leave")(leave)
    noun.command(name="plan")(plan)
    noun.command(name="create")(create)
    noun.command(name="open")(open_)
    noun.command(name="start")(start)
    noun.command(name="pause")(pause)
    noun.command(name="resume")(resume)
    noun.command(name="cancel")(cancel)
    noun.command(name="play")(play)
    app.add_typer(noun)


def show_all(*, server: Server = None, json: Json = False) -> None:
    """List tournaments and seasons of leagues."""
    with calling(server) as client:
        request = competitions_pb2.ListCompetitionsRequest()
        found = [
            competition
            for page in pages(client, client.competitions.ListCompetitions, request)
            for competition in page.competitions
        ]
    if json:
        print_json({"competitions": [document(each) for each in found]})
        return
    show_table(table(COLUMNS, map(_cells, found)))


def _cells(found: competitions_pb2.Competition) -> list[str]:
    return [
        name_of(found.id),
        found.rules.ruleset,
        word(competitions_pb2.CompetitionFormat, found.rules.format),
        state_word(found.state),
        str(found.entrant_count),
        moment(found.create_time),
    ]


def show(  # noqa: PLR0913 -- a command's options
    name: Name,
    *,
    cross: Annotated[bool, typer.Option("--cross", help="Add who did how against whom.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the standings as CSV.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end before.")] = False,
    server: Server = None,
    json: Json = False,
) -> None:
    """Show standings, how sure they are, and brackets."""
    with calling(server) as client:
        if wait:
            until_over(client, _id(name), quiet=json or csv)
        view = look(client, _id(name))
    tell(view, json=json, cross=cross, csv=csv)


def join(name: Name, bot: Bot, *, server: Server = None, json: Json = False) -> None:
    """Enter a bot before the start.

    It plays with the version that is active at the start.
    """
    enter(_id(name), bot, server=server, json=json)


def leave(name: Name, bot: Bot, *, server: Server = None, json: Json = False) -> None:
    """Take a bot out.

    Once the tournament has started, the bot's unplayed matches count as lost.
    """
    take_out(_id(name), bot, server=server, json=json)


@takes_format
def plan(  # noqa: PLR0913 -- a command's options
    ruleset: Ruleset,
    *,
    chosen: FormatChoice,
    entrants: Annotated[int, typer.Option(min=2, help="How many will play.")] = 16,
    slots: Annotated[int | None, typer.Option(min=1, help="Instead of the workers'.")] = None,
    server: Server = None,
    json: Json = False,
) -> None:
    """Forecast how long a tournament takes."""
    request = competitions_pb2.PlanTournamentRequest(
        rules=chosen.rules(ruleset), entrant_count=entrants, slots=slots
    )
    with calling(server) as client:
        answer = client.ask(client.competitions.PlanTournament, request)
    if json:
        print_json(document(answer))
    else:
        _print_forecast(answer.forecast)


def _print_forecast(found: competitions_pb2.Forecast) -> None:
    least, most = found.match_count_min, found.match_count_max
    matches = str(least) if least == most else f"{least} to {most}"
    out.print(f"{matches} matches in {found.round_count} rounds, about {found.game_count} games")
    if found.HasField("elapsed"):
        out.print(
            f"about {found.elapsed.ToSeconds() / 60:.1f} minutes on the present workers, if they "
            f"play nothing else (from {found.measured_match_count} matches in the log)"
        )
    elif not found.measured_match_count:
        out.print("how long: unknown, this ladder has no results yet")
    else:
        out.print("how long: unknown, no worker is alive; name --slots")
    if not found.HasField("elo_error"):
        out.print("error bars: none for most entrants, too few independent boards")
    else:
        lead = f", a lead to ±{found.lead_error:.0f}" if found.HasField("lead_error") else ""
        out.print(
            f"error bars: a strength is known to about ±{found.elo_error:.0f} Elo (95 %){lead}"
        )


@takes_format
def create(  # noqa: PLR0913 -- a command's options
    name: Name,
    ruleset: Ruleset,
    *,
    chosen: FormatChoice,
    bots: Bots = None,
    everybody: Everybody = False,
    time: TimeControl = None,
    rated: Rated = False,
    weight: Weight = 1,
    seeding: Annotated[
        Literal["rating", "given"], typer.Option(help="The order of the seeds.")
    ] = "rating",
    capacity: Annotated[int, typer.Option(min=0, help="The most entrants; 0 for any.")] = 0,
    seed: Seed = "",
    registration: Annotated[
        bool, typer.Option("--open", help="Owners may enter their own bots.")
    ] = False,
    begin: Annotated[bool, typer.Option("--start", help="Start it at once.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Start it, and wait for its end.")] = False,
    server: Server = None,
    json: Json = False,
) -> None:
    """Create a tournament, and perhaps start it."""
    request = competitions_pb2.CreateTournamentRequest(
        name=name,
        rules=chosen.rules(
            ruleset,
            time_control=time,
            rated=rated,
            weight=weight,
            capacity=capacity,
            seeded_as_entered=seeding == "given",
        ),
        entries=bots or [],
        everybody=everybody,
        open=registration,
        seed=seed,
        start=begin or wait,
    )
    with calling(server) as client:
        answer = client.ask(client.competitions.CreateTournament, request)
        tell_left_out(answer.left_out)
        if wait:
            until_over(client, answer.competition.id, quiet=json)
        view = look(client, answer.competition.id)
    tell(view, json=json)


def open_(name: Name, *, server: Server = None, json: Json = False) -> None:
    """Let owners enter their own bots."""
    with calling(server) as client:
        request = competitions_pb2.OpenTournamentRequest(competition=_id(name))
        answer = client.ask(client.competitions.OpenTournament, request)
    if json:
        print_json(document(answer))
    else:
        out.print(f"{name} is {state_word(answer.competition.state)}", markup=False)


def start(
    name: Name,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end.")] = False,
    server: Server = None,
    json: Json = False,
) -> None:
    """Start a tournament.

    Entrants and their versions are settled from now on.
    """
    with calling(server) as client:
        request = competitions_pb2.StartTournamentRequest(competition=_id(name))
        answer = client.ask(client.competitions.StartTournament, request)
        tell_left_out(answer.left_out)
        if wait:
            until_over(client, _id(name), quiet=json)
        view = look(client, _id(name))
    tell(view, json=json)


def pause(name: Name, *, server: Server = None, json: Json = False) -> None:
    """Begin no more matches.

    What is being played goes on.
    """
    change(_id(name), "Pause", server=server, json=json)


def resume(name: Name, *, server: Server = None, json: Json = False) -> None:
    """Let a paused tournament go on."""
    change(_id(name), "Resume", server=server, json=json)


def cancel(name: Name, *, server: Server = None, json: Json = False) -> None:
    """End a tournament without a winner.

    What is being played is dropped.
    """
    change(_id(name), "Cancel", server=server, json=json)


@takes_format
def play(  # noqa: PLR0913 -- a command's options
    ruleset: Ruleset,
    *,
    chosen: FormatChoice,
    folders: Annotated[
        list[Path] | None, typer.Option("--bot", help="A bot's folder; the sample bots.")
    ] = None,
    clones: Annotated[
        int, typer.Option(min=1, max=200, help="Enter each bot so often, under own names.")
    ] = 1,
    time: TimeControl = None,
    seed: Annotated[str, typer.Option(help="Text that all boards follow from.")] = "",
    slots: Annotated[int | None, typer.Option(min=1, help="Tables at once; one per core.")] = None,
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Run bots in the sandbox.")] = False,
    cross: Annotated[bool, typer.Option("--cross", help="Add who did how against whom.")] = False,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Keep everything there; a temporary folder.")
    ] = None,
    json: Json = False,
) -> None:
    """Play a tournament here, on an arena of its own."""
    from arena.cli.tournament_play import play_tournament  # noqa: PLC0415 -- needs `server`

    view = play_tournament(
        chosen.rules(ruleset, time_control=time, seeded_as_entered=True),
        seed=seed,
        folders=folders,
        clones=clones,
        options={"data_dir": data_dir, "slots": slots, "sandbox": sandbox},
        quiet=json,
    )
    tell(view, json=json, cross=cross)


def _id(name: str) -> str:
    return f"t-{name}"
