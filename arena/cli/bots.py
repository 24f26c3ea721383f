"""``arena bots``, ``arena bot show | activate | retire``: an author's bots, over the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from arena.cli.console import Json, out, print_json
from arena.cli.remote import Server, calling, moment, pages, word
from arena.cli.submit import show_step, show_verdict, version_document
from arena.cli.tables import Column, table
from arena.cli.tables import show as show_table
from arena.v1 import accounts_pb2, bots_pb2
from arena.version_id import is_version

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
BotName = Annotated[str, typer.Argument(metavar="BOT", help="The bot's name.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="bots")(bots)


def add_to(noun: typer.Typer) -> None:
    """Add an author's commands to ``arena bot``."""
    noun.command(name="show")(show)
    noun.command(name="activate")(activate)
    noun.command(name="retire")(retire)


def bots(
    *,
    owner: Annotated[str, typer.Option(help="Whose; yours without it.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Everybody's.")] = False,
    ruleset: Annotated[str, typer.Option(help="Only those on one ladder.")] = "",
    server: Server = None,
    json: Json = False,
) -> None:
    """List your bots, or all bots of the arena."""
    with calling(server) as client:
        if not owner and not every and client.login.token:
            identity = client.ask(client.stub.GetIdentity, accounts_pb2.GetIdentityRequest())
            owner = identity.token.owner
        request = bots_pb2.ListBotsRequest(owner=owner, ruleset=ruleset)
        found = [bot for page in pages(client, client.stub.ListBots, request) for bot in page.bots]
        states = [_state_now(client, bot) for bot in found]
    if json:
        print_json({"bots": [_document(*each) for each in zip(found, states, strict=True)]})
        return
    if not found:
        out.print("no bots yet; `arena new NAME` begins one, `arena submit DIR` brings it here")
        return
    rows = [
        (
            bot.name,
            bot.owner,
            state,
            bot.active_version or "-",
            str(bot.version_count),
            " ".join(bot.rulesets),
        )
        for bot, state in zip(found, states, strict=True)
    ]
    show_table(table(_COLUMNS, rows))


def show(
    name: Annotated[
        str, typer.Argument(metavar="BOT", help="A bot, or one of its versions: greedy@3.")
    ],
    *,
    server: Server = None,
    json: Json = False,
) -> None:
    """Show a bot, its places and versions; or a version, and each step of its trial."""
    with calling(server) as client:
        if is_version(name):
            asked = bots_pb2.GetVersionRequest(version=name)
            _show_version(client.ask(client.stub.GetVersion, asked).version, json=json)
        else:
            answer = client.ask(client.stub.GetBot, bots_pb2.GetBotRequest(bot=name))
            _show_bot(answer, json=json)


def activate(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="An accepted one: greedy@2.")],
    *,
    server: Server = None,
    json: Json = False,
) -> None:
    """Make an accepted version the one that plays; an older one rolls back."""
    with calling(server) as client:
        request = bots_pb2.ActivateVersionRequest(version=version)
        bot = client.ask(client.stub.ActivateVersion, request).bot
    if json:
        print_json(_document(bot))
    else:
        out.print(f"{bot.active_version} plays on {', '.join(bot.rulesets)}", markup=False)


def retire(name: BotName, *, server: Server = None, json: Json = False) -> None:
    """Take a bot off every ladder; activating a version brings it back."""
    with calling(server) as client:
        answer = client.ask(client.stub.RetireBot, bots_pb2.RetireBotRequest(bot=name))
    if json:
        print_json({**_document(answer.bot), "cancelled": answer.cancelled_matches})
        return
    out.print(
        f"{name} is retired, matches cancelled: {answer.cancelled_matches}; "
        f"`arena bot activate VERSION` brings it back",
        markup=False,
    )


def _show_version(version: bots_pb2.Version, *, json: bool) -> None:
    if json:
        print_json(version_document(version))
        return
    show_verdict(version)
    for step in version.steps:
        show_step(step)


def _show_bot(answer: bots_pb2.GetBotResponse, *, json: bool) -> None:
    bot, state = answer.bot, _state(answer)
    if json:
        print_json(
            {
                **_document(bot, state),
                "versions": [version_document(version) for version in answer.versions],
                "places": [
                    {
                        "ruleset": place.ruleset,
                        "place": place.place,
                        "rating": place.rating,
                        "rated_matches": place.rated_matches,
                    }
                    for place in answer.places
                ],
            }
        )
        return
    because = f": {bot.reason}" if bot.reason else ""
    out.print(f"{bot.name} of {bot.owner} is {state}{because}", markup=False)
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


def _state_now(client: Client, bot: bots_pb2.Bot) -> str:
    """Return a bot's state; what became of a pending one's versions is asked for."""
    if bot.state != bots_pb2.BOT_STATE_PENDING:
        return word(bots_pb2.BotState, bot.state)
    return _state(client.ask(client.stub.GetBot, bots_pb2.GetBotRequest(bot=bot.name)))


def _state(answer: bots_pb2.GetBotResponse) -> str:
    """Return a bot's state; a pending one with nothing left to wait for is rejected."""
    rejected = bots_pb2.VERSION_STATE_REJECTED
    is_pending = answer.bot.state == bots_pb2.BOT_STATE_PENDING
    if is_pending and {each.state for each in answer.versions} == {rejected}:
        return word(bots_pb2.VersionState, rejected)
    return word(bots_pb2.BotState, answer.bot.state)


def _document(bot: bots_pb2.Bot, state: str = "") -> dict[str, Any]:
    return {
        "name": bot.name,
        "owner": bot.owner,
        "house": bot.house,
        "state": state or word(bots_pb2.BotState, bot.state),
        "reason": bot.reason,
        "active_version": bot.active_version,
        "versions": bot.version_count,
        "rulesets": list(bot.rulesets),
        "created": moment(bot.create_time),
    }
