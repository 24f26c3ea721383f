"""``arena bots``, ``arena bot``: list and show bots; activate, retire and suspend them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from arena.cli.options import group
from arena.cli.remote import Remote, moment, word
from arena.cli.submit import step_lines, verdict_line
from arena.cli.tables import Column, table
from arena.uploads import pack_folder
from arena.v1 import accounts_pb2, bots_pb2
from referee.bot_folder import load_bot_folder

_COLUMNS: Final = (
    Column("bot", shortens=True),
    Column("owner", leaves=3),
    Column("state"),
    Column("version", leaves=1),
    Column("versions", leaves=4, right=True),
    Column("ladders", leaves=2, wraps=True),
)
Name = Annotated[str, typer.Argument(metavar="BOT", help="The bot's name.")]


def bots(
    *,
    owner: Annotated[str, typer.Option(help="Whose; without it an author's own.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Everybody's, as operators see.")] = False,
    ruleset: Annotated[str, typer.Option(help="Only those on one ladder.")] = "",
    arena: Remote,
) -> None:
    """List your bots, or all bots of the arena.

    Operators and whoever has no token see all bots.
    """
    if not owner and not every:
        owner = _author(arena)
    request = bots_pb2.ListBotsRequest(owner=owner, ruleset=ruleset)
    found = arena.ask_all(arena.stub.ListBots, request)
    none = "no bots yet; `arena new NAME` begins one, `arena submit DIR` brings it here"
    arena.tell(found, table(_COLUMNS, map(_cells, found.bots)) if found.bots else none)


def _cells(bot: bots_pb2.Bot) -> list[str]:
    version, ladders = bot.active_version or "-", " ".join(bot.rulesets)
    return [bot.name, bot.owner, _state(bot), version, str(bot.version_count), ladders]


def _author(arena: Remote) -> str:
    """Return the owner that calls; "" for an operator and without a token."""
    if not arena.client.login.token:
        return ""
    token = arena.ask(arena.stub.GetIdentity, accounts_pb2.GetIdentityRequest()).token
    return "" if accounts_pb2.SCOPE_OPERATOR in token.scopes else token.owner


def show(
    name: Annotated[
        str, typer.Argument(metavar="BOT", help="A bot, or one of its versions: greedy@3.")
    ],
    *,
    arena: Remote,
) -> None:
    """Show a bot, or a version and its trial."""
    if "@" not in name:
        found = arena.ask(arena.stub.GetBot, bots_pb2.GetBotRequest(bot=name))
        arena.tell(found, *_lines(found))
        return
    answer = arena.ask(arena.stub.GetVersion, bots_pb2.GetVersionRequest(version=name))
    steps = [line for step in answer.version.steps for line in step_lines(step)]
    arena.tell(answer, verdict_line(answer.version), *steps)


def _lines(found: bots_pb2.GetBotResponse) -> Iterator[str]:
    bot = found.bot
    because = f": {bot.reason}" if bot.reason else ""
    yield f"{bot.name} of {bot.owner} is {_state(bot)}{because}"
    for place in found.places:
        where = f"place {place.place}" if place.place else "not on the ladder"
        matches = f"{place.rated_matches} rated matches"
        yield f"  {place.ruleset}: {where}, {place.rating:.1f} Elo after {matches}"
    for version in found.versions:
        state = word(bots_pb2.VersionState, version.state)
        why = f": {version.reason}" if version.reason else ""
        plays = ", plays" if version.active else ""
        yield f"  {version.id}  {moment(version.create_time)}  {state}{plays}{why}"


def activate(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="An accepted one: greedy@2.")],
    *,
    arena: Remote,
) -> None:
    """Activate an accepted version of a bot.

    An older one rolls back; a retired bot comes back.
    """
    request = bots_pb2.ActivateVersionRequest(version=version)
    answer = arena.ask(arena.stub.ActivateVersion, request)
    bot = answer.bot
    arena.tell(answer, f"{bot.active_version} plays on {', '.join(bot.rulesets)}")


def retire(name: Name, *, arena: Remote) -> None:
    """Remove a bot from every ladder.

    Activating a version brings it back.
    """
    answer = arena.ask(arena.stub.RetireBot, bots_pb2.RetireBotRequest(bot=name))
    arena.tell(
        answer,
        f"{name} is retired, matches cancelled: {answer.cancelled_matches}; "
        f"`arena bot activate VERSION` brings it back",
    )


def add(
    folder: Annotated[Path, typer.Argument(help="The folder that holds bot.toml.")],
    *,
    owner: Annotated[
        str, typer.Option(help="Whose it is; `house` without it, whose bots meet each other.")
    ] = "",
    arena: Remote,
) -> None:
    """Add a bot without a trial (admins only).

    The folder becomes the active version of its bot, which enters the ladders of its rulesets.
    """
    load_bot_folder(folder)
    answer = arena.client.add_bot(pack_folder(folder), owner=owner)
    known = "" if answer.is_new else " (known: the same content was added before)"
    plays = ", ".join(answer.bot.rulesets)
    arena.tell(answer, f"{answer.version.id} of {answer.bot.owner} plays on {plays}{known}")


def suspend(
    name: Name,
    *,
    reason: Annotated[str, typer.Option(help="One sentence for its owner.")],
    arena: Remote,
) -> None:
    """Suspend a bot: it leaves its ladders.

    Its waiting matches are cancelled.
    """
    request = bots_pb2.SuspendBotRequest(bot=name, reason=reason)
    answer = arena.ask(arena.stub.SuspendBot, request)
    arena.tell(answer, f"{name} is suspended; matches cancelled: {answer.cancelled_matches}")


def resume(name: Name, *, arena: Remote) -> None:
    """Lift the suspension of a bot."""
    answer = arena.ask(arena.stub.ResumeBot, bots_pb2.ResumeBotRequest(bot=name))
    arena.tell(answer, f"{name} is {_state(answer.bot)}")


def recheck(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A rejected one: greedy@2.")],
    *,
    arena: Remote,
) -> None:
    """Repeat the trial of a rejected version.

    For when the fault was the arena's, and is mended.
    """
    request = bots_pb2.RecheckVersionRequest(version=version)
    answer = arena.ask(arena.stub.RecheckVersion, request)
    arena.tell(
        answer,
        f"{version} waits to be tried again"
        if answer.waits
        else f"{version} is tried again as soon as its owner submits the same folder once more: "
        "the files of a rejected version are not kept",
    )


def _state(bot: bots_pb2.Bot) -> str:
    """Return a bot's state; a pending one with nothing left to wait for is rejected."""
    return "rejected" if bot.rejected else word(bots_pb2.BotState, bot.state)


bot = group(
    "Show, add, activate, retire or suspend a bot.",
    show, activate, retire, add, suspend, resume, recheck,
)  # fmt: skip
