"""``arena bots``, ``arena bot``: list bots, look at one, let it play or not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arena.cli.console import Json, out, print_json
from arena.cli.remote import Server, calling, moment, pages, word
from arena.cli.submit import show_step, show_verdict
from arena.cli.tables import Column, table
from arena.cli.tables import show as show_table
from arena.documents import document
from arena.uploads import pack_folder
from arena.v1 import accounts_pb2, bots_pb2
from referee.bot_folder import load_bot_folder

if TYPE_CHECKING:
    from arena.client import Client

_COLUMNS: Final = (
    Column("bot", shortens=True),
    Column("owner", leaves=3),
    Column("state"),
    Column("version", leaves=1),
    Column("versions", leaves=4, right=True),
    Column("ladders", leaves=2, wraps=True),
)
Name = Annotated[str, typer.Argument(metavar="BOT", help="The bot's name.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="bots")(bots)
    noun = typer.Typer(
        name="bot", help="Look at a bot, add it, let it play or not.", no_args_is_help=True
    )
    noun.command(name="show")(show)
    noun.command(name="activate")(activate)
    noun.command(name="retire")(retire)
    noun.command(name="add")(add)
    noun.command(name="suspend")(suspend)
    noun.command(name="resume")(resume)
    noun.command(name="recheck")(recheck)
    app.add_typer(noun)


def bots(
    *,
    owner: Annotated[str, typer.Option(help="Whose; without it an author's own.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Everybody's, as operators see.")] = False,
    ruleset: Annotated[str, typer.Option(help="Only those on one ladder.")] = "",
    server: Server = None,
    json: Json = False,
) -> None:
    """List your bots, or all bots of the arena.

    Operators and whoever has no token see all bots.
    """
    with calling(server) as client:
        if not owner and not every:
            owner = _author(client)
        request = bots_pb2.ListBotsRequest(owner=owner, ruleset=ruleset)
        found = [bot for page in pages(client, client.stub.ListBots, request) for bot in page.bots]
    if json:
        print_json({"bots": [document(bot) for bot in found]})
        return
    if not found:
        out.print("no bots yet; `arena new NAME` begins one, `arena submit DIR` brings it here")
        return
    rows = [
        (
            bot.name,
            bot.owner,
            _state(bot),
            bot.active_version or "-",
            str(bot.version_count),
            " ".join(bot.rulesets),
        )
        for bot in found
    ]
    show_table(table(_COLUMNS, rows))


def _author(client: Client) -> str:
    """Return the owner that calls; "" for an operator and without a token."""
    if not client.login.token:
        return ""
    token = client.ask(client.stub.GetIdentity, accounts_pb2.GetIdentityRequest()).token
    return "" if accounts_pb2.SCOPE_OPERATOR in token.scopes else token.owner


def show(
    name: Annotated[
        str, typer.Argument(metavar="BOT", help="A bot, or one of its versions: greedy@3.")
    ],
    *,
    server: Server = None,
    json: Json = False,
) -> None:
    """Show a bot, or a version and its trial."""
    with calling(server) as client:
        if "@" in name:
            asked = bots_pb2.GetVersionRequest(version=name)
            _show_version(client.ask(client.stub.GetVersion, asked), json=json)
        else:
            answer = client.ask(client.stub.GetBot, bots_pb2.GetBotRequest(bot=name))
            _show_bot(answer, json=json)


def activate(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="An accepted one: greedy@2.")],
    *,
    server: Server = None,
    json: Json = False,
) -> None:
    """Make an accepted version the one that plays.

    An older one rolls back; a retired bot comes back.
    """
    with calling(server) as client:
        request = bots_pb2.ActivateVersionRequest(version=version)
        answer = client.ask(client.stub.ActivateVersion, request)
    if json:
        print_json(document(answer))
    else:
        bot = answer.bot
        out.print(f"{bot.active_version} plays on {', '.join(bot.rulesets)}", markup=False)


def retire(name: Name, *, server: Server = None, json: Json = False) -> None:
    """Take a bot off every ladder.

    Activating a version brings it back.
    """
    with calling(server) as client:
        answer = client.ask(client.stub.RetireBot, bots_pb2.RetireBotRequest(bot=name))
    if json:
        print_json(document(answer))
        return
    out.print(
        f"{name} is retired, matches cancelled: {answer.cancelled_matches}; "
        f"`arena bot activate VERSION` brings it back",
        markup=False,
    )


def add(
    folder: Annotated[Path, typer.Argument(help="The folder that holds bot.toml.")],
    *,
    owner: Annotated[
        str, typer.Option(help="Whose it is; `house` without it, whose bots meet each other.")
    ] = "",
    server: Server = None,
    json: Json = False,
) -> None:
    """Add a bot untried, for admins.

    The folder becomes the active version of its bot, which enters the ladders of its rulesets.
    """
    load_bot_folder(folder)
    with calling(server) as client:
        answer = client.add_bot(pack_folder(folder), owner=owner)
    if json:
        print_json(document(answer))
        return
    known = "" if answer.is_new else " (known: the same content was added before)"
    plays = ", ".join(answer.bot.rulesets)
    out.print(f"{answer.version.id} of {answer.bot.owner} plays on {plays}{known}", markup=False)


def suspend(
    name: Name,
    *,
    reason: Annotated[str, typer.Option(help="One sentence for its owner.")],
    server: Server = None,
    json: Json = False,
) -> None:
    """Give a bot no more matches.

    It leaves its ladders, and its waiting matches are cancelled.
    """
    with calling(server) as client:
        request = bots_pb2.SuspendBotRequest(bot=name, reason=reason)
        answer = client.ask(client.stub.SuspendBot, request)
    if json:
        print_json(document(answer))
    else:
        cancelled = answer.cancelled_matches
        out.print(f"{name} is suspended; matches cancelled: {cancelled}", markup=False)


def resume(name: Name, *, server: Server = None, json: Json = False) -> None:
    """Let a suspended bot play again."""
    with calling(server) as client:
        answer = client.ask(client.stub.ResumeBot, bots_pb2.ResumeBotRequest(bot=name))
    if json:
        print_json(document(answer))
    else:
        out.print(f"{name} is {_state(answer.bot)}", markup=False)


def recheck(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A rejected one: greedy@2.")],
    *,
    server: Server = None,
    json: Json = False,
) -> None:
    """Let a rejected version be tried again.

    For when what was wrong was the arena's, and is mended.
    """
    with calling(server) as client:
        request = bots_pb2.RecheckVersionRequest(version=version)
        answer = client.ask(client.stub.RecheckVersion, request)
    if json:
        print_json(document(answer))
    elif answer.waits:
        out.print(f"{version} waits to be tried again", markup=False)
    else:
        out.print(
            f"{version} is tried again as soon as its owner submits the same folder once more: the "
            "files of a rejected version are not kept",
            markup=False,
        )


def _show_version(answer: bots_pb2.GetVersionResponse, *, json: bool) -> None:
    if json:
        print_json(document(answer))
        return
    show_verdict(answer.version)
    for step in answer.version.steps:
        show_step(step)


def _show_bot(answer: bots_pb2.GetBotResponse, *, json: bool) -> None:
    if json:
        print_json(document(answer))
        return
    bot = answer.bot
    because = f": {bot.reason}" if bot.reason else ""
    out.print(f"{bot.name} of {bot.owner} is {_state(bot)}{because}", markup=False)
    for place in answer.places:
        where = f"place {place.place}" if place.place else "not on the ladder"
        out.print(
            f"  {place.ruleset}: {where}, {place.rating:.1f} Elo after {place.rated_matches} "
            "rated matches",
            markup=False,
        )
    for version in answer.versions:
        told = word(bots_pb2.VersionState, version.state)
        why = f": {version.reason}" if version.reason else ""
        plays = ", plays" if version.active else ""
        out.print(
            f"  {version.id}  {moment(version.create_time)}  {told}{plays}{why}", markup=False
        )


def _state(bot: bots_pb2.Bot) -> str:
    """Return a bot's state; a pending one with nothing left to wait for is rejected."""
    return "rejected" if bot.rejected else word(bots_pb2.BotState, bot.state)
