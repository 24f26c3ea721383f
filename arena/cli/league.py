"""``arena league``: divisions that play season after season, with promotion and relegation."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import typer

from arena.bots.registry import BotState
from arena.cli.competition import Shown, look, tell, until_over
from arena.cli.competition_documents import standings_csv
from arena.cli.connection import ask, ruleset_of
from arena.cli.console import DataDir, Json, RedisUrl, out, print_json
from arena.cli.format_options import make_options
from arena.cli.league_view import LeagueView, view_of
from arena.competitions.entry import change_league, check_entry, create_league
from arena.competitions.leagues import LeagueRecord, LeagueRules, LeagueStore
from arena.competitions.records import LEAGUE, CompetitionRules
from arena.context import Arena
from arena.errors import NotFoundError
from arena.formats.model import Format

Name = Annotated[str, typer.Argument(help="The league.")]
Bot = Annotated[str, typer.Argument(help="A bot; it plays with its active version.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    noun = typer.Typer(name="league", help="Create leagues, see them run.", no_args_is_help=True)
    noun.command(name="create")(create)
    noun.command(name="show")(show)
    noun.command(name="season")(season)
    noun.command(name="join")(join)
    noun.command(name="withdraw")(withdraw)
    noun.command(name="pause")(pause)
    noun.command(name="resume")(resume)
    noun.command(name="cancel")(cancel)
    app.add_typer(noun)


def create(  # noqa: PLR0913 -- a command's options
    name: Name,
    ruleset: Annotated[str, typer.Argument(help="For example quasenbo; see `arena games`.")],
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
    bots: Annotated[
        list[str] | None, typer.Option("--bot", help="Enters; give it once for each.")
    ] = None,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Every active bot of the ladder enters.")
    ] = False,
    boards: Annotated[int | None, typer.Option(min=1, help="Of a match.")] = None,
    time: Annotated[str | None, typer.Option("--time", help="BANK+INCREMENT in seconds.")] = None,
    rated: Annotated[bool, typer.Option(help="Its matches change the ladder's ratings.")] = False,
    weight: Annotated[
        int, typer.Option(min=1, max=10**6, help="Its share beside the ladder, which has 1.")
    ] = 1,
    seed: Annotated[str, typer.Option(help="Text that all boards follow from; secret.")] = "",
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Create a league; the first season begins when it is due, or by `arena league season`."""

    async def question(arena: Arena) -> LeagueView:
        canonical = await ruleset_of(arena, ruleset)
        control = time or arena.settings.ladder(canonical).time_control
        assert control is not None
        matches = CompetitionRules(
            ruleset=canonical,
            format=Format.ROUND_ROBIN,
            options=make_options(arena, canonical, boards=boards, lot=name),
            time_control=control,
            rated=rated,
            weight=weight,
        )
        rules = LeagueRules(
            matches=matches, division=division, moves=moves, schedule=every, seasons=seasons
        )
        entries = list(bots or [])
        if everybody:
            known = await arena.registry.bots(ruleset=canonical)
            entries += [bot.name for bot in known if bot.state is BotState.ACTIVE]
        league = await create_league(
            arena,
            f"{LEAGUE}-{name}",
            rules,
            entries,
            seed=hashlib.sha256(seed.encode()).digest() if seed else None,
        )
        return await view_of(arena, league)

    view = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json(view.document())
    else:
        view.print(history=False)


def show(
    name: Annotated[str, typer.Argument(help="The league; all without it.")] = "",
    *,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Show a league: its entrants, when its next season begins, where everybody came."""

    async def question(arena: Arena) -> list[LeagueView]:
        store = LeagueStore(arena.redis)
        leagues = [await store.get(f"{LEAGUE}-{name}")] if name else await store.all()
        return [await view_of(arena, each) for each in leagues]

    views = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json({"leagues": [each.document() for each in views]})
        return
    if not views:
        out.print("There is no league yet; `arena league create` makes one.")
    for each in views:
        each.print(history=bool(name))


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
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Show a season's standings, division by division; or begin the next season."""

    async def question(arena: Arena) -> Shown | None:
        store = LeagueStore(arena.redis)
        league = await store.get(f"{LEAGUE}-{name}")
        if begin:
            await store.call_season(league.id)
            return None
        if not (number or league.season):
            raise NotFoundError(f"no season of {name} has begun; `--start` begins one")
        which = league.season_id(number or league.season)
        if wait:
            await until_over(arena, which, quiet=json or csv)
        return await look(arena, which)

    shown = ask(question, data_dir=data_dir, redis_url=redis_url)
    if shown is None:
        out.print(f"{name}: the next season is due now", markup=False)
    elif csv:
        out.out(standings_csv(shown.reports), end="")
    else:
        tell(shown, json=json, cross=cross)


def join(
    name: Name,
    bot: Bot,
    *,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
) -> None:
    """Let a bot play from the next season on."""

    async def question(arena: Arena) -> bool:
        store = LeagueStore(arena.redis)
        league = await store.get(f"{LEAGUE}-{name}")
        await check_entry(arena, bot, league.rules.matches)
        return await store.enter(league.id, bot)

    entered = ask(question, data_dir=data_dir, redis_url=redis_url)
    out.print(f"{bot} {'enters' if entered else 'had entered'} {name}", markup=False)


def withdraw(name: Name, bot: Bot, *, data_dir: DataDir = None, redis_url: RedisUrl = None) -> None:
    """Let a bot play no more seasons; it plays the present one to its end."""

    async def question(arena: Arena) -> None:
        await LeagueStore(arena.redis).leave(f"{LEAGUE}-{name}", bot)

    ask(question, data_dir=data_dir, redis_url=redis_url)
    out.print(f"{bot} leaves {name} after the present season", markup=False)


def pause(name: Name, *, data_dir: DataDir = None, redis_url: RedisUrl = None) -> None:
    """Begin no more matches and no season."""
    _change(name, "pause", data_dir=data_dir, redis_url=redis_url)


def resume(name: Name, *, data_dir: DataDir = None, redis_url: RedisUrl = None) -> None:
    """Let a paused league go on."""
    _change(name, "resume", data_dir=data_dir, redis_url=redis_url)


def cancel(name: Name, *, data_dir: DataDir = None, redis_url: RedisUrl = None) -> None:
    """End a league and its present season."""
    _change(name, "cancel", data_dir=data_dir, redis_url=redis_url)


def _change(name: str, verb: str, **address: Any) -> None:
    async def question(arena: Arena) -> LeagueRecord:
        return await change_league(arena, f"{LEAGUE}-{name}", verb)

    league = ask(question, **address)
    out.print(f"{league.name} is {league.state}", markup=False)
