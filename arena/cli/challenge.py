"""``arena challenge``: ask for an unrated match against other bots."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from arena.cli.console import EXIT_FAILED, out, progress_console
from arena.cli.match import ENDED, match_lines
from arena.cli.remote import Remote, until_answered, word
from arena.documents import document
from arena.errors import InputError
from arena.v1 import bots_pb2, matches_pb2
from referee.games import parse_ruleset


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
    arena: Remote,
) -> None:
    """Ask for an unrated match against other bots.

    Exit 1 if it cannot be played.
    """
    wanted = parse_ruleset(ruleset).ruleset
    request = matches_pb2.RequestMatchRequest(
        ruleset=wanted, boards=boards, request_id=request_id or secrets.token_hex(16)
    )
    request.entrants.extend([bot or _only_bot(arena, wanted), *opponents])
    # The id makes a repeat harmless.
    answer = until_answered(lambda: arena.ask(arena.stub.RequestMatch, request))
    match = answer.match
    look = f"arena match show {match.id}"
    if not arena.json:
        out.print(f"{match.id}{'' if answer.is_new else ', which was asked for before'}")
    if watch:
        with arena.kept(f"{match.id} is queued", fate="it will be played", look=look):
            match = _follow(arena, match)
    answer.match.CopyFrom(match)
    arena.tell(
        {**document(answer), "request_id": request.request_id},
        *(match_lines(match) if match.state in ENDED else [f"`{look}` tells how it goes"]),
    )
    if match.state in ENDED and match.state != matches_pb2.MATCH_STATE_ENDED:
        raise typer.Exit(EXIT_FAILED)


def _only_bot(arena: Remote, ruleset: str) -> str:
    """Return the caller's one bot that plays a ruleset; InputError if there is not just one."""
    request = bots_pb2.ListBotsRequest(owner=arena.identity("a challenge").owner)
    names = [
        each.name
        for each in arena.ask_all(arena.stub.ListBots, request).bots
        if ruleset in each.rulesets and each.state == bots_pb2.BOT_STATE_ACTIVE
    ]
    if not names:
        raise InputError(f"no active bot of yours plays {ruleset}; `arena submit DIR` brings one")
    if len(names) > 1:
        raise InputError(
            f"which of your bots that play {ruleset}? Name one with --bot: {', '.join(names)}"
        )
    return names[0]


def _follow(arena: Remote, match: matches_pb2.Match) -> matches_pb2.Match:
    """Wait until a match has ended; return it as it is then."""
    request = matches_pb2.WatchMatchRequest(match=match.id)
    with progress_console.status("") as status:
        for answer in arena.watch(
            arena.stub.WatchMatch, request, ended=lambda answer: answer.match.state in ENDED
        ):
            match = answer.match
            status.update(f"{match.id} is {word(matches_pb2.MatchState, match.state)}")
    return match
