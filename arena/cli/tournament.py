"""``arena tournament``: an operator plans, creates, starts and watches tournaments."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from arena.bots.registry import BotState
from arena.cli.competition import (
    Shown,
    competition_id,
    create_started,
    create_tournament,
    forecast_of,
    look,
    print_forecast,
    start_tournament,
    tell,
    until_over,
)
from arena.cli.competition_documents import forecast_document, standings_csv
from arena.cli.connection import ask, ruleset_of
from arena.cli.console import DataDir, Json, RedisUrl, out, print_json
from arena.cli.format_options import Bots, FormatChoice, Ruleset, TimeControl, takes_format
from arena.cli.tables import Column, table
from arena.cli.tables import show as show_table
from arena.cli.tournament_play import play
from arena.competitions import entry as competition_entry
from arena.competitions.forecast import Forecast, Measurements
from arena.competitions.records import CompetitionRecord, CompetitionRules, Seeding
from arena.competitions.store import CompetitionStore
from arena.context import Arena
from arena.formats.model import Competition
from referee.games import parse_ruleset

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
        name="tournament", help="Plan, create, start and watch tournaments.", no_args_is_help=True
    )
    noun.command(name="plan")(plan)
    noun.command(name="create")(create)
    noun.command(name="open")(open_)
    noun.command(name="join")(join)
    noun.command(name="withdraw")(withdraw)
    noun.command(name="start")(start)
    noun.command(name="show")(show)
    noun.command(name="list")(show_all)
    noun.command(name="pause")(pause)
    noun.command(name="resume")(resume)
    noun.command(name="cancel")(cancel)
    noun.command(name="play")(play)
    app.add_typer(noun)


@takes_format
def plan(  # noqa: PLR0913 -- a command's options
    ruleset: Ruleset,
    *,
    chosen: FormatChoice,
    entrants: Annotated[int, typer.Option(min=2, help="How many will play.")] = 16,
    slots: Annotated[int | None, typer.Option(min=1, help="Instead of the workers'.")] = None,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Say how long a tournament would take, and how sure its standings would be."""

    async def question(arena: Arena) -> tuple[Forecast, Measurements]:
        canonical = parse_ruleset(ruleset).ruleset
        seeds = tuple(f"seed-{number:04}" for number in range(1, entrants + 1))
        competition = Competition("t-plan", chosen.format, seeds, chosen.options(arena, canonical))
        return await forecast_of(arena, canonical, [competition], slots=slots)

    found, measured = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json(forecast_document(found, based_on=measured.matches))
        return
    print_forecast(found, measured)


@takes_format
def create(  # noqa: PLR0913 -- a command's options
    name: Name,
    ruleset: Ruleset,
    *,
    chosen: FormatChoice,
    bots: Bots = None,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Every active bot of the ladder enters.")
    ] = False,
    time: TimeControl = None,
    rated: Annotated[bool, typer.Option(help="Its matches change the ladder's ratings.")] = False,
    weight: Annotated[
        int, typer.Option(min=1, max=10**6, help="Its share beside the ladder, which has 1.")
    ] = 1,
    seeding: Annotated[Seeding, typer.Option(help="The order of the seeds.")] = Seeding.RATING,
    capacity: Annotated[int, typer.Option(min=0, help="The most entrants; 0 for any.")] = 0,
    seed: Annotated[str, typer.Option(help="Text that all boards follow from; secret.")] = "",
    registration: Annotated[
        bool, typer.Option("--open", help="Owners may enter their own bots.")
    ] = False,
    begin: Annotated[bool, typer.Option("--start", help="Start it at once.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Start it, and wait for its end.")] = False,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Create a tournament, and perhaps start it."""

    async def question(arena: Arena) -> Shown:
        canonical = await ruleset_of(arena, ruleset)
        control = time or arena.settings.ladder(canonical).time_control
        assert control is not None
        rules = CompetitionRules(
            ruleset=canonical,
            format=chosen.format,
            options=chosen.options(arena, canonical, lot=name),
            time_control=control,
            rated=rated,
            weight=weight,
            seeding=seeding,
            capacity=capacity,
        )
        entries = list(bots or [])
        if everybody:
            known = await arena.registry.bots(ruleset=canonical)
            entries += [bot.name for bot in known if bot.state is BotState.ACTIVE]
        if begin or wait:
            await create_started(arena, name, rules, entries, seed=seed)
        else:
            await create_tournament(
                arena, name, rules, entries, seed=seed, registration=registration
            )
        if wait:
            await until_over(arena, competition_id(name), quiet=json)
        return await look(arena, competition_id(name))

    tell(ask(question, data_dir=data_dir, redis_url=redis_url), json=json)


def open_(
    name: Name, *, data_dir: DataDir = None, redis_url: RedisUrl = None, json: Json = False
) -> None:
    """Let owners enter their own bots."""
    _change(name, "open", data_dir=data_dir, redis_url=redis_url, json=json)


def pause(
    name: Name, *, data_dir: DataDir = None, redis_url: RedisUrl = None, json: Json = False
) -> None:
    """Begin no more matches; what is being played goes on."""
    _change(name, "pause", data_dir=data_dir, redis_url=redis_url, json=json)


def resume(
    name: Name, *, data_dir: DataDir = None, redis_url: RedisUrl = None, json: Json = False
) -> None:
    """Let a paused tournament go on."""
    _change(name, "resume", data_dir=data_dir, redis_url=redis_url, json=json)


def cancel(
    name: Name, *, data_dir: DataDir = None, redis_url: RedisUrl = None, json: Json = False
) -> None:
    """End a tournament without a winner; what is being played is dropped."""
    _change(name, "cancel", data_dir=data_dir, redis_url=redis_url, json=json)


def _change(name: str, verb: str, *, json: bool, **address: Any) -> None:
    async def question(arena: Arena) -> CompetitionRecord:
        store = CompetitionStore(arena.redis)
        await getattr(store, verb)(competition_id(name))
        return await store.get(competition_id(name))

    record = ask(question, **address)
    if json:
        print_json({"name": record.name, "state": record.state})
    else:
        out.print(f"{record.name} is {record.state}", markup=False)


def join(
    name: Name,
    bot: Bot,
    *,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Enter a bot before the start; it plays with the version that is active then."""

    async def question(arena: Arena) -> bool:
        store = CompetitionStore(arena.redis)
        record = await store.get(competition_id(name))
        await competition_entry.check_entry(arena, bot, record.rules)
        return await store.enter(record.id, bot, as_operator=True)

    entered = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json({"name": name, "bot": bot, "entered": entered})
    else:
        out.print(f"{bot} {'enters' if entered else 'had entered'} {name}", markup=False)


def withdraw(
    name: Name,
    bot: Bot,
    *,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Take a bot out; once it has started, its unplayed matches count as lost."""

    async def question(arena: Arena) -> str:
        return await CompetitionStore(arena.redis).leave(competition_id(name), bot)

    answer = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json({"name": name, "bot": bot, "answer": answer})
    else:
        out.print(f"{bot} has {answer} from {name}".replace("left from", "left"), markup=False)


def start(
    name: Name,
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end.")] = False,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Start a tournament: entrants and their versions are settled from now on."""

    async def question(arena: Arena) -> Shown:
        await start_tournament(arena, name)
        if wait:
            await until_over(arena, competition_id(name), quiet=json)
        return await look(arena, competition_id(name))

    tell(ask(question, data_dir=data_dir, redis_url=redis_url), json=json)


def show(  # noqa: PLR0913 -- a command's options
    name: Name,
    *,
    cross: Annotated[bool, typer.Option("--cross", help="Add who did how against whom.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print the standings as CSV.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end before.")] = False,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Show the standings, how sure they are, and the bracket of a knock-out."""

    async def question(arena: Arena) -> Shown:
        if wait:
            await until_over(arena, competition_id(name), quiet=json or csv)
        return await look(arena, competition_id(name))

    shown = ask(question, data_dir=data_dir, redis_url=redis_url)
    if csv:
        out.out(standings_csv(shown.reports), end="")
        return
    tell(shown, json=json, cross=cross)


def show_all(*, data_dir: DataDir = None, redis_url: RedisUrl = None, json: Json = False) -> None:
    """List tournaments and seasons of leagues."""

    async def question(arena: Arena) -> list[CompetitionRecord]:
        return await CompetitionStore(arena.redis).all()

    records = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json({"competitions": [_line(record) for record in records]})
        return
    rows = [list(map(str, _line(record).values())) for record in records]
    show_table(table(COLUMNS, rows))


def _line(record: CompetitionRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "ruleset": record.rules.ruleset,
        "format": record.rules.format,
        "state": record.state,
        "entrants": len(record.entrants),
        "created_time": record.created_time.isoformat(),
    }
