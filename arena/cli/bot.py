"""``arena bot``: operators add, list and suspend bots on the spot, authors care for theirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import bots
from arena.cli.console import DataDir, Json, RedisUrl, ask, out, print_json, ruleset_of
from arena.cli.tables import Column, show, table
from referee.bot_folder import load_bot_folder

if TYPE_CHECKING:
    from collections.abc import Collection

    from arena.bots.registry import AddedVersion, Bot
    from arena.context import Arena

_COLUMNS = (
    Column("bot", shortens=True),
    Column("owner", leaves=3),
    Column("state"),
    Column("version", leaves=1),
    Column("ladders", leaves=2, wraps=True),
)
HOUSE = "house"
"""The owner whose bots may meet each other."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    bot = typer.Typer(
        name="bot",
        help="Care for a bot over the API; where an arena runs, add, list, suspend, check again.",
        no_args_is_help=True,
    )
    bots.add_to(bot)
    bot.command(name="add")(add)
    bot.command(name="list")(show_all)
    bot.command(name="suspend")(suspend)
    bot.command(name="recheck")(recheck)
    app.add_typer(bot)


def add(
    folder: Annotated[Path, typer.Argument(help="The folder that holds bot.toml.")],
    *,
    owner: Annotated[str, typer.Option(help="Whose it is; bots of `house` meet each other.")] = (
        HOUSE
    ),
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Add a bot, or its next version, and put it on the ladders of its rulesets."""
    load_bot_folder(folder)

    async def question(arena: Arena) -> AddedVersion:
        return await add_bot(arena, folder, owner=owner)

    added = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json({**_document(added.bot), "is_new": added.is_new, "digest": added.version.digest})
        return
    known = "" if added.is_new else " (known: the same content was added before)"
    out.print(
        f"{added.version.id} of {added.bot.owner} plays on {', '.join(added.bot.rulesets)}{known}",
        markup=False,
    )


async def add_bot(
    arena: Arena, folder: Path, *, owner: str, rulesets: Collection[str] | None = None
) -> AddedVersion:
    """Register a folder as the active version of its bot, and enter its ladders.

    Args:
        arena: where.
        folder: holds bot.toml.
        owner: whose it is; registered when it is new.
        rulesets: only these ladders are opened and entered; None for all that the bot plays.

    Raises:
        InputError: the folder or the owner's name is not fit, or the bot is another owner's.
    """
    await arena.registry.add_owner(owner)
    added = await arena.registry.add_folder(folder, owner=owner, house=owner == HOUSE)
    for ruleset in added.bot.rulesets:
        if rulesets is None or ruleset in rulesets:
            await arena.queues.open_ladder(ruleset)
            await arena.queues.ladder(ruleset).enter(added.bot.name)
    return added


def show_all(
    *,
    ruleset: Annotated[str, typer.Option(help="Only the bots of one ladder.")] = "",
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """List the bots of the arena."""

    async def question(arena: Arena) -> list[tuple[Bot, str]]:
        wanted = await ruleset_of(arena, ruleset) if ruleset else None
        found = await arena.registry.bots(ruleset=wanted)
        return [(bot, await _state(arena, bot)) for bot in found]

    bots = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json({"bots": [{**_document(bot), "state": state} for bot, state in bots]})
        return
    rows = [
        (bot.name, bot.owner, state, bot.active_version or "-", " ".join(bot.rulesets))
        for bot, state in bots
    ]
    show(table(_COLUMNS, rows))


async def _state(arena: Arena, bot: Bot) -> str:
    """Return a bot's state; a pending one with nothing left to wait for is rejected."""
    from arena.bots.registry import BotState, VersionState  # noqa: PLC0415 -- needs the `server` extra

    if bot.state is BotState.PENDING:
        states = {version.state for version in await arena.registry.versions_of(bot.name)}
        if states == {VersionState.REJECTED}:
            return VersionState.REJECTED
    return bot.state


def suspend(
    name: Annotated[str, typer.Argument(help="The bot.")],
    *,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Give a bot no more matches and take it off its ladders; its waiting matches are cancelled."""

    async def question(arena: Arena) -> tuple[Bot, int]:
        from arena.bots.registry import BotState  # noqa: PLC0415 -- needs the `server` extra

        bot = await arena.registry.set_state(name, BotState.SUSPENDED)
        cancelled = 0
        for ruleset in bot.rulesets:
            await arena.queues.ladder(ruleset).withdraw(name)
            cancelled += await arena.queues.queue(ruleset).cancel_bot(name)
        return bot, cancelled

    bot, cancelled = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json({**_document(bot), "cancelled": cancelled})
    else:
        out.print(f"{name} is suspended; matches cancelled: {cancelled}", markup=False)


def recheck(
    version: Annotated[str, typer.Argument(help="A rejected one: greedy@2.")],
    *,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Let a rejected version be tried again, when what was wrong was the arena's and is mended."""

    async def question(arena: Arena) -> bool:
        from arena.bots.submissions import Submissions  # noqa: PLC0415 -- needs the `server` extra

        submissions = Submissions(arena.redis, arena.registry, arena.archive)
        return await submissions.recheck(version)

    waits = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json({"version": version, "waits": waits})
    elif waits:
        out.print(f"{version} waits to be tried again", markup=False)
    else:
        out.print(
            f"{version} is tried again as soon as its owner submits the same folder once more: the "
            "files of a rejected version are not kept",
            markup=False,
        )


def _document(bot: Bot) -> dict[str, Any]:
    return {
        "name": bot.name,
        "owner": bot.owner,
        "house": bot.house,
        "state": bot.state,
        "active_version": bot.active_version,
        "versions": bot.versions,
        "rulesets": bot.rulesets,
        "created_time": bot.created_time.isoformat(),
    }
