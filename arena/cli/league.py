"""``arena league``: divisions that play season after season, with promotion and relegation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from arena.cli.competition import (
    OVER,
    change,
    enter,
    look,
    name_of,
    state_word,
    take_out,
    tell,
    until_over,
)
from arena.cli.console import Json, out, print_json
from arena.cli.format_options import Bots, Everybody, Rated, Ruleset, Seed, TimeControl, Weight
from arena.cli.remote import Server, calling, moment
from arena.cli.tables import Column, table
from arena.cli.tables import show as show_table
from arena.documents import document
from arena.errors import NotFoundError
from arena.v1 import competitions_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from arena.client import Client

Name = Annotated[str, typer.Argument(help="The league.")]
Bot = Annotated[str, typer.Argument(help="A bot; it plays with its active version.")]
Place = tuple[int, int, int, str]
"""Season, division and place, each from 1, and the version."""

_AT_ONCE: Final = "at once"
_COLUMNS: Final = (
    Column("name", shortens=True),
    Column("ruleset", leaves=1),
    Column("state"),
    Column("season", right=True),
    Column("created", leaves=2),
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    noun = typer.Typer(name="league", help="Join, watch and run leagues.", no_args_is_help=True)
    noun.command(name="list")(show_all)
    noun.command(name="show")(show)
    noun.command(name="season")(season)
    noun.command(name="join")(join)
    noun.command(name="leave")(leave)
    noun.command(name="create")(create)
    noun.command(name="pause")(pause)
    noun.command(name="resume")(resume)
    noun.command(name="cancel")(cancel)
    app.add_typer(noun)


def show_all(*, server: Server = None, json: Json = False) -> None:
    """List the leagues."""
    with calling(server) as client:
        request = competitions_pb2.ListLeaguesRequest()
        answer = client.ask(client.competitions.ListLeagues, request)
    if json:
        print_json(document(answer))
        return
    rows = [
        (
            name_of(each.id),
            each.rules.ruleset,
            state_word(each.state),
            str(each.season),
            moment(each.create_time),
        )
        for each in answer.leagues
    ]
    show_table(table(_COLUMNS, rows))


def show(name: Name, *, server: Server = None, json: Json = False) -> None:
    """Show who plays, and where everybody came."""
    with calling(server) as client:
        found = _get(client, name)
    _tell(found, json=json)
    if not json and (places := _places(found)):
        show_table(history_table(places))


def season(  # noqa: PLR0913 -- a command's options
    name: Name,
    number: Annotated[int, typer.Argument(min=0, help="Which; 0 for the latest.")] = 0,
    *,
    begin: Annotated[
        bool, typer.Option("--start", help="Begin the next one, once the present one is over.")
    ] = False,
    cross: Annotated[bool, typer.Option("--cross", help="Add who did how against whom.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the standings as CSV.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end before.")] = False,
    server: Server = None,
    json: Json = False,
) -> None:
    """Show a season's standings, or begin the next."""
    with calling(server) as client:
        if begin:
            _begin(client, name, json=json)
            return
        latest = number or _get(client, name).league.season
        if not latest:
            raise NotFoundError(f"no season of {name} has begun; `--start` begins one")
        which = f"{_id(name)}.s{latest}"
        if wait:
            until_over(client, which, quiet=json or csv)
        view = look(client, which)
    tell(view, json=json, cross=cross, csv=csv)


def _begin(client: Client, name: str, *, json: bool) -> None:
    request = competitions_pb2.CallSeasonRequest(league=_id(name))
    answer = client.ask(client.competitions.CallSeason, request)
    if json:
        print_json(document(answer))
    else:
        out.print(f"{name}: the next season is due now", markup=False)


def join(name: Name, bot: Bot, *, server: Server = None, json: Json = False) -> None:
    """Let a bot play from the next season on."""
    enter(_id(name), bot, server=server, json=json)


def leave(name: Name, bot: Bot, *, server: Server = None, json: Json = False) -> None:
    """Let a bot play no more seasons.

    It plays the present one to its end.
    """
    take_out(_id(name), bot, server=server, json=json)


def create(  # noqa: PLR0913 -- a command's options
    name: Name,
    ruleset: Ruleset,
    *,
    every: Annotated[
        str,
        typer.Option(
            help="When seasons begin: cron in UTC, '0 18 * * FRI', or 'at once', one after the "
            "other, the first when as many have entered as --division says."
        ),
    ] = "",
    seasons: Annotated[int, typer.Option(min=0, help="How many; 0 for no end.")] = 0,
    division: Annotated[
        int, typer.Option(min=0, help="Entrants of one in the first season; 0: up to 16.")
    ] = 0,
    moves: Annotated[int, typer.Option(min=0, help="How many go up, and how many down.")] = 2,
    bots: Bots = None,
    everybody: Everybody = False,
    boards: Annotated[int, typer.Option(min=0, help="Of a match; 0 for the ladder's.")] = 0,
    time: TimeControl = None,
    rated: Rated = False,
    weight: Weight = 1,
    seed: Seed = "",
    server: Server = None,
    json: Json = False,
) -> None:
    """Create a league.

    The first season begins when it is due, or by `arena league season NAME --start`.
    """
    request = competitions_pb2.CreateLeagueRequest(
        name=name,
        rules=competitions_pb2.CompetitionRules(
            ruleset=ruleset, boards=boards, time_control=time or "", rated=rated, weight=weight
        ),
        schedule=every,
        season_limit=seasons,
        division_size=division,
        moves=moves,
        bots=bots or [],
        everybody=everybody,
        seed=seed,
    )
    with calling(server) as client:
        client.ask(client.competitions.CreateLeague, request)
        found = _get(client, name)
    _tell(found, json=json)


def pause(name: Name, *, server: Server = None, json: Json = False) -> None:
    """Begin no more matches and no season."""
    change(_id(name), "Pause", server=server, json=json)


def resume(name: Name, *, server: Server = None, json: Json = False) -> None:
    """Let a paused league go on."""
    change(_id(name), "Resume", server=server, json=json)


def cancel(name: Name, *, server: Server = None, json: Json = False) -> None:
    """End a league and its present season."""
    change(_id(name), "Cancel", server=server, json=json)


def _id(name: str) -> str:
    return f"l-{name}"


def _get(client: Client, name: str) -> competitions_pb2.GetLeagueResponse:
    request = competitions_pb2.GetLeagueRequest(league=_id(name))
    return client.ask(client.competitions.GetLeague, request)


def _tell(found: competitions_pb2.GetLeagueResponse, *, json: bool) -> None:
    if json:
        print_json(document(found))
        return
    league = found.league
    season = f"season {league.season}" if league.season else "no season yet"
    of = f" of {league.season_limit}" if league.season_limit and league.season else ""
    parts = [f"{season}{of}", next_season(found), f"{len(found.bots)} bots"]
    out.print(
        f"{name_of(league.id)}: {league.rules.ruleset}, {state_word(league.state)}; "
        + "; ".join(filter(None, parts)),
        markup=False,
    )
    season_note = found.seasons[-1].note if found.seasons else ""
    for note in filter(None, [season_note and f"{season}: {season_note}", league.note]):
        out.print(note, markup=False)


def next_season(found: competitions_pb2.GetLeagueResponse) -> str:
    """Return when the next season begins, in words; "" when none will."""
    league = found.league
    is_last = 0 < league.season_limit <= league.season
    if league.state in OVER or is_last:
        return ""
    name = name_of(league.id)
    if league.state == competitions_pb2.COMPETITION_STATE_PAUSED:
        return f"the next one begins after `arena league resume {name}`"
    is_playing = bool(found.seasons) and found.seasons[-1].state not in OVER
    first = "when the present one has ended" if is_playing else "at once"
    if league.schedule == _AT_ONCE or league.called:
        return f"the next one begins {first}, with {league.wanted_count} bots or more"
    if league.HasField("next_time"):
        return f"the next one is due {league.next_time.ToDatetime():%Y-%m-%d %H:%M} UTC"
    return f"the next one begins by `arena league season {name} --start`"


def _places(found: competitions_pb2.GetLeagueResponse) -> list[Place]:
    """Return where everybody came, by season."""
    return [
        (season.number, division, place, version)
        for season in found.seasons
        for division, ranking in enumerate(season.divisions, start=1)
        for place, version in enumerate(ranking.versions, start=1)
    ]


def history_table(places: Sequence[Place]) -> RenderableType:
    """Return each bot's division and place by season, the best of the last season first."""
    seasons = sorted({each[0] for each in places})
    where = {(each[3].partition("@")[0], each[0]): each[1:3] for each in places}
    bots = {bot for bot, _ in where}
    last = seasons[-1]
    rows = []
    for bot in sorted(bots, key=lambda bot: (where.get((bot, last), (99, 0)), bot)):
        cells = [where.get((bot, number)) for number in seasons]
        rows.append((bot, *("-" if cell is None else f"{cell[0]}.{cell[1]}" for cell in cells)))
    # On a narrow terminal the oldest seasons go first.
    columns = [
        Column("bot", shortens=True),
        *(Column(f"season {number}", right=True, leaves=last - number) for number in seasons),
    ]
    return table(columns, rows)
