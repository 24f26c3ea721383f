"""``arena challenge``: ask for an unrated match against other bots."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli.console import EXIT_FAILED, Json, complain, out, print_json, progress_console
from arena.cli.match import ENDED, show_match
from arena.cli.remote import Server, calling, kept, pages, until_answered, watched, word
from arena.documents import document
from arena.errors import InputError
from arena.v1 import accounts_pb2, bots_pb2, matches_pb2
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from arena.client import Client


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="challenge")(challenge)


def challenge(  # noqa: PLR0913 -- a command's options
    opponents: Annotated[
        list[str], typer.Argument(metavar="OPPONENT...", help="The other entrants, bots by name.")
    ],
    *,
    ruleset: Annotated[str, typer.Option(help="What they play.")],
    bot: Annotated[
        str, typer.Option(help="Your entrant, a bot or a version of it: greedy@3.")
    ] = "",
    boards: Annotated[
        int, typer.Option(min=0, max=64, help="How many; 0 for as many as a ladder match has.")
    ] = 0,
    watch: Annotated[bool, typer.Option(help="Stay until the match has ended.")] = False,
    request_id: Annotated[
        str, typer.Option(help="The same id again is the same match; chosen without it.")
    ] = "",
    server: Server = None,
    json: Json = False,
) -> None:
    """Ask for an unrated match against other bots.

    Exit 1 if it cannot be played.
    """
    wanted = parse_ruleset(ruleset).ruleset
    request = matches_pb2.RequestMatchRequest(
        ruleset=wanted, boards=boards, request_id=request_id or secrets.token_hex(16)
    )
    with calling(server) as client:
        request.entrants.extend([bot or _only_bot(client, wanted), *opponents])
        # The id makes a repeat harmless.
        answer = until_answered(lambda: client.ask(client.stub.RequestMatch, request))
        match = answer.match
        if not json:
            asked = "" if answer.is_new else ", which was asked for before"
            out.print(f"{match.id}{asked}", markup=False)
        if watch:
            try:
                with kept(client, f"{match.id} is queued", look=f"arena match show {match.id}"):
                    match = _follow(client, match)
            except KeyboardInterrupt:
                complain(f"it will be played; `arena match show {match.id}` tells the result")
                raise typer.Exit(EXIT_FAILED) from None
    if json:
        answer.match.CopyFrom(match)
        print_json({**document(answer), "request_id": request.request_id})
    elif match.state in ENDED:
        show_match(match)
    else:
        out.print(f"`arena match show {match.id}` tells how it goes", markup=False)
    if match.state in ENDED and match.state != matches_pb2.MATCH_STATE_ENDED:
        raise typer.Exit(EXIT_FAILED)


def _only_bot(client: Client, ruleset: str) -> str:
    """Return the caller's one bot that plays a ruleset.

    Raises:
        InputError: there is none, or more than one; the sentence names them.
    """
    if not client.login.token:
        address = client.login.address
        raise InputError(f"a challenge needs a token: `arena login {address}` keeps one")
    identity = client.ask(client.stub.GetIdentity, accounts_pb2.GetIdentityRequest())
    request = bots_pb2.ListBotsRequest(owner=identity.token.owner)
    names: list[str] = [
        each.name
        for page in pages(client, client.stub.ListBots, request)
        for each in page.bots
        if ruleset in each.rulesets and each.state == bots_pb2.BOT_STATE_ACTIVE
    ]
    if not names:
        raise InputError(f"no active bot of yours plays {ruleset}; `arena submit DIR` brings one")
    if len(names) > 1:
        raise InputError(
            f"which of your bots that play {ruleset}? Name one with --bot: {', '.join(names)}"
        )
    return names[0]


def _follow(client: Client, match: matches_pb2.Match) -> matches_pb2.Match:
    """Wait until a match has ended; return it as it is then."""
    request = matches_pb2.WatchMatchRequest(match=match.id)
    with progress_console.status("") as status:
        for answer in watched(
            client,
            client.stub.WatchMatch,
            request,
            ended=lambda answer: answer.match.state in ENDED,
        ):
            match = answer.match
            status.update(f"{match.id} is {word(matches_pb2.MatchState, match.state)}")
    return match
