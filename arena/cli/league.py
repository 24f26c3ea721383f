"""``arena league``: join, show and run leagues: seasons in divisions, with promotion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arena.cli import competition
from arena.cli.competition import CreateOptions, Ruleset, name_of, state_word
from arena.cli.options import group
from arena.cli.remote import Remote, moment
from arena.cli.tables import Column, table
from arena.errors import NotFoundError
from arena.v1 import competitions_pb2
from arena.version_id import bot_of

if TYPE_CHECKING:
    from rich.console import RenderableType

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


def list_(*, arena: Remote) -> None:
    """List the leagues."""
    request = competitions_pb2.ListLeaguesRequest()
    answer = arena.ask(arena.competitions.ListLeagues, request)
    arena.tell(answer, table(_COLUMNS, map(_cells, answer.leagues)))


def _cells(found: competitions_pb2.League) -> list[str]:
    name, state, created = name_of(found.id), state_word(found.state), moment(found.create_time)
    return [name, found.rules.ruleset, state, str(found.season), created]


def show(name: Name, *, arena: Remote) -> None:
    """Show a league, its bots and their places by season."""
    found = _get(arena, name)
    history = [history_table(places)] if (places := _places(found)) else []
    arena.tell(found, *_lines(found), *history)


def season(
    name: Name,
    number: Annotated[int, typer.Argument(min=0, help="Which; 0 for the latest.")] = 0,
    *,
    begin: Annotated[
        bool, typer.Option("--start", help="Begin the next one, once the present one is over.")
    ] = False,
    options: competition.ShowOptions,
    arena: Remote,
) -> None:
    """Show a season's standings, or begin the next."""
    if begin:
        request = competitions_pb2.CallSeasonRequest(league=_id(name))
        answer = arena.ask(arena.competitions.CallSeason, request)
        arena.tell(answer, f"{name}: the next season is due now")
        return
    latest = number or _get(arena, name).league.season
    if not latest:
        raise NotFoundError(f"no season of {name} has begun; `--start` begins one")
    competition.show(arena, f"{_id(name)}.s{latest}", options)


def join(name: Name, bot: Bot, *, arena: Remote) -> None:
    """Enter a bot from the next season on."""
    competition.enter(arena, _id(name), bot)


def leave(name: Name, bot: Bot, *, arena: Remote) -> None:
    """Withdraw a bot after the present season."""
    competition.take_out(arena, _id(name), bot)


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
    options: CreateOptions,
    boards: Annotated[int, typer.Option(min=0, help="Of a match; 0 for the ladder's.")] = 0,
    arena: Remote,
) -> None:
    """Create a league.

    The first season begins when it is due, or by `arena league season NAME --start`.
    """
    request = competitions_pb2.CreateLeagueRequest(
        name=name,
        rules=competitions_pb2.CompetitionRules(
            ruleset=ruleset,
            boards=boards,
            time_control=options.time or "",
            rated=options.rated,
            weight=options.weight,
        ),
        schedule=every,
        season_limit=seasons,
        division_size=division,
        moves=moves,
        bots=options.bots or [],
        everybody=options.everybody,
        seed=options.seed,
    )
    arena.ask(arena.competitions.CreateLeague, request)
    found = _get(arena, name)
    arena.tell(found, *_lines(found))


def pause(name: Name, *, arena: Remote) -> None:
    """Pause a league: no match and no season begins."""
    competition.change(arena, _id(name), "Pause")


def resume(name: Name, *, arena: Remote) -> None:
    """Resume a paused league."""
    competition.change(arena, _id(name), "Resume")


def cancel(name: Name, *, arena: Remote) -> None:
    """Cancel a league and its present season."""
    competition.change(arena, _id(name), "Cancel")


def _id(name: str) -> str:
    return f"l-{name}"


def _get(arena: Remote, name: str) -> competitions_pb2.GetLeagueResponse:
    request = competitions_pb2.GetLeagueRequest(league=_id(name))
    return arena.ask(arena.competitions.GetLeague, request)


def _lines(found: competitions_pb2.GetLeagueResponse) -> Iterator[str]:
    league = found.league
    season = f"season {league.season}" if league.season else "no season yet"
    of = f" of {league.season_limit}" if league.season_limit and league.season else ""
    parts = [f"{season}{of}", next_season(found), f"{len(found.bots)} bots"]
    head = f"{name_of(league.id)}: {league.rules.ruleset}, {state_word(league.state)}"
    yield "; ".join(filter(None, [head, *parts]))
    if found.seasons and found.seasons[-1].note:
        yield f"{season}: {found.seasons[-1].note}"
    if league.note:
        yield league.note


def next_season(found: competitions_pb2.GetLeagueResponse) -> str:
    """Return when the next season begins, in words; "" when none will."""
    league = found.league
    is_last = 0 < league.season_limit <= league.season
    if league.state in competition.OVER or is_last:
        return ""
    name = name_of(league.id)
    if league.state == competitions_pb2.COMPETITION_STATE_PAUSED:
        return f"the next one begins after `arena league resume {name}`"
    is_playing = bool(found.seasons) and found.seasons[-1].state not in competition.OVER
    first = "when the present one has ended" if is_playing else "at once"
    if league.schedule == _AT_ONCE or league.called:
        return f"the next one begins {first}, with {league.wanted_count} bots or more"
    if league.HasField("next_time"):
        return f"the next one is due {league.next_time.ToDatetime():%Y-%m-%d %H:%M} UTC"
    return f"the next one begins by `arena league season {name} --start`"


def _places(found: competitions_pb2.GetLeagueResponse) -> list[Place]:
    """Return the division and place of each version, by season."""
    return [
        (season.number, division, place, version)
        for season in found.seasons
        for division, ranking in enumerate(season.divisions, start=1)
        for place, version in enumerate(ranking.versions, start=1)
    ]


def history_table(places: Sequence[Place]) -> RenderableType:
    """Return each bot's division and place by season, the best of the last season first."""
    seasons = sorted({each[0] for each in places})
    where = {(bot_of(each[3]), each[0]): each[1:3] for each in places}
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


league = group(
    "Join, watch and run leagues.", list_, show, season, join, leave, create, pause, resume, cancel
)
