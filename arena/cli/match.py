"""``arena matches``, ``arena match``: list, show, cancel and annul matches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from arena.cli.console import EXIT_FAILED, complain, print_json
from arena.cli.options import group
from arena.cli.remote import Remote, moment, word
from arena.cli.tables import Column, show, table
from arena.errors import DeniedError, InputError, NotFoundError, UnauthenticatedError
from arena.files import write_file
from arena.matches import replay_file as replay_files
from arena.matches.log import MatchLog
from arena.matches.process_log import ProcessLog
from arena.v1 import matches_pb2, operations_pb2

if TYPE_CHECKING:
    from referee.games.replay import Replay

ENDED: Final = {
    matches_pb2.MATCH_STATE_ENDED,
    matches_pb2.MATCH_STATE_DEAD,
    matches_pb2.MATCH_STATE_CANCELLED,
}
"""States of a match that will not change by themselves."""

_SORRY: Final = {
    matches_pb2.MATCH_STATE_DEAD: (
        "the arena could not play it, through no fault of a bot; an operator has to look"
    ),
    matches_pb2.MATCH_STATE_CANCELLED: "it was cancelled and will not be played",
}
MATCHES: Final = (
    Column("match"),
    Column("ladder", leaves=1),
    Column("time", leaves=2),
    Column("games", right=True, leaves=3),
    Column("entrants"),
)
"""Columns of a list of matches; the last cell has lines for each entrant."""

_PAGE: Final = 200
MatchId = Annotated[str, typer.Argument(metavar="ID", help="For example ladder-000001.")]
Ruleset = Annotated[
    str, typer.Option("--ruleset", help="Its ladder; needed for a match of long ago alone.")
]


def matches(
    *,
    ruleset: Annotated[str, typer.Option("--ruleset", help="Only this ladder.")] = "",
    bot: Annotated[str, typer.Option(help="Only those of this bot.")] = "",
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
    arena: Remote,
) -> None:
    """List the latest results, the newest first."""
    request = matches_pb2.ListMatchesRequest(ruleset=ruleset, bot=bot, page_size=min(count, _PAGE))
    found = arena.ask_all(
        arena.stub.ListMatches, request, enough=lambda found: len(found.matches) >= count
    )
    del found.matches[count:]
    arena.tell(found, table(MATCHES, map(_cells, found.matches)))


def _cells(match: matches_pb2.Match) -> list[str]:
    annulled = ["annulled"] if match.HasField("annul_reason") else []
    return [
        match.id,
        match.ruleset,
        f"{match.end_time.ToDatetime(UTC):%Y-%m-%d %H:%M}",
        str(match.game_count),
        "\n".join([*map(scored, match.entrants), *annulled]),
    ]


def show_(match_id: MatchId, *, arena: Remote) -> None:
    """Show the state of a match, and its result."""
    found = _get(arena, match_id)
    arena.tell(found, *match_lines(found.match))


def log(
    match_id: MatchId,
    *,
    game: Annotated[
        int | None, typer.Option("--game", min=0, help="Only this game, from 0.")
    ] = None,
    ruleset: Ruleset = "",
    arena: Remote,
) -> None:
    """Show every turn, and what your bot printed.

    With the times of each turn, and why games were forfeited. The times of a turn, in ms. queue:
    from when the seat was to act until the turn was sent, as it waits for a free core. transport:
    from there to the answer, less think. think: what the bot says it thought. charged: what the
    clock took.
    """
    names = _names(arena, match_id, ruleset=ruleset)
    found = replay_files.unpack(_replay_bytes(arena, match_id, ruleset=ruleset))
    if game is not None and game >= len(found.games):
        raise InputError(f"{match_id} has the games 0 to {len(found.games) - 1}, not {game}")
    told = MatchLog(found, _printed(arena, match_id), names=names)
    if arena.json:
        print_json({"match": match_id, **told.document(game=game)})
        return
    show(*told.lines(game=game))
    _hint(match_id, found, game)


def replay(
    match_id: MatchId,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; ID.replay without it.")
    ] = None,
    ruleset: Ruleset = "",
    arena: Remote,
) -> None:
    """Fetch the replay of a match that has ended.

    `arena replay` reads it.
    """
    path = output or Path(f"{match_id}{replay_files.SUFFIX}")
    data = _replay_bytes(arena, match_id, ruleset=ruleset)
    found = replay_files.unpack(data)
    write_file(path, data)
    arena.tell(
        {"match": match_id, "file": str(path), "games": len(found.games)},
        f"{path}: {len(found.games)} games of {found.ruleset}",
    )


def cancel(match_id: MatchId, *, arena: Remote) -> None:
    """Cancel a match that has not ended.

    One that you asked for, or any for operators.
    """
    request = matches_pb2.CancelMatchRequest(match=match_id)
    answer = arena.ask(arena.stub.CancelMatch, request)
    verb = "is cancelled" if answer.cancelled else "had been cancelled before"
    arena.tell(answer, f"{match_id} {verb}")


def annul(
    match_id: MatchId,
    *,
    reason: Annotated[str, typer.Option(help="Shown with the match.")],
    ruleset: Ruleset = "",
    arena: Remote,
) -> None:
    """Annul a result: take it out of the ratings.

    The ladder becomes what it would be without it. A tournament or a season that is under way plays
    the match again, under a new id and on new boards, unless it has gone on from the result. What
    has ended stays as it is.
    """
    request = operations_pb2.AnnulMatchRequest(match=match_id, reason=reason, ruleset=ruleset)
    answer = arena.ask(arena.stub.AnnulMatch, request)
    what = "is annulled" if answer.annulled else "had been annulled before"
    again = answer.played_again_as
    arena.tell(answer, f"{match_id} {what}" + (f"; it is played again as {again}" if again else ""))
    if not answer.annulled:
        raise typer.Exit(EXIT_FAILED)


def _get(arena: Remote, match_id: str) -> matches_pb2.GetMatchResponse:
    return arena.ask(arena.stub.GetMatch, matches_pb2.GetMatchRequest(match=match_id))


def match_lines(match: matches_pb2.Match) -> Iterator[str]:
    """Yield the state of a match, and its result."""
    state = word(matches_pb2.MatchState, match.state)
    yield f"{match.id}: {match.ruleset}, {match.flow}, {state}"
    if match.state != matches_pb2.MATCH_STATE_ENDED:
        entrants = " - ".join(entrant.version for entrant in match.entrants)
        yield f"  {entrants}, boards: {match.boards}, {match.time_control}"
        yield f"  commitment to the seed: {match.seed_commitment}"
        if match.state in _SORRY:
            yield f"  {_SORRY[match.state]}"
        return
    seconds = match.played.ToTimedelta().total_seconds()
    yield f"  {match.game_count} games in {seconds:.1f} s, ended {moment(match.end_time)}"
    for entrant in match.entrants:
        change = f", {entrant.rating_change:+.1f} Elo" if match.rated else ""
        lost = "".join(f", {each.games} x {each.reason}" for each in entrant.forfeits)
        result = f"{entrant.score:.1%}, {entrant.points} points"
        yield f"  {entrant.version}: {result}{change}{lost}"
    if match.HasField("annul_reason"):
        yield f"  annulled: {match.annul_reason}"
    if any(entrant.forfeits for entrant in match.entrants):
        yield f"  `arena match log {match.id}` tells why games were forfeited"


def scored(entrant: matches_pb2.Entrant) -> str:
    """Return an entrant with its score and the change of its rating; below, its forfeits."""
    change = f" {entrant.rating_change:+.1f}" if entrant.rating_change else ""
    lost = "".join(f"\n  {each.games} x {each.reason}" for each in entrant.forfeits)
    return f"{entrant.version} {entrant.score:.0%}{change}{lost}"


def _names(arena: Remote, match_id: str, *, ruleset: str) -> list[str] | None:
    """Return the versions that played; None for a match that only its replay remembers."""
    try:
        return [entrant.version for entrant in _get(arena, match_id).match.entrants]
    except NotFoundError:
        if not ruleset:
            raise
        return None


def _replay_bytes(arena: Remote, match_id: str, *, ruleset: str) -> bytes:
    request = matches_pb2.GetReplayRequest(match=match_id, ruleset=ruleset)
    return b"".join(part.chunk for part in arena.client.watch(arena.stub.GetReplay, request))


def _printed(arena: Remote, match_id: str) -> list[ProcessLog]:
    """Return what the caller's bots left; nothing, and a sentence, for whoever may not see it."""
    request = matches_pb2.GetMatchLogRequest(match=match_id)
    texts: dict[tuple[int, int, int], str] = defaultdict(str)
    try:
        for part in arena.client.watch(arena.stub.GetMatchLog, request):
            name = part.process
            texts[name.table, name.entrant, name.hand] += part.text
    except (DeniedError, UnauthenticatedError, NotFoundError) as error:
        complain(f"what bots printed is left out: {error}")
        return []
    return [
        ProcessLog.parse(text, table=table, entrant=entrant, member=hand)
        for (table, entrant, hand), text in texts.items()
    ]


def _hint(match_id: str, found: Replay, game: int | None) -> None:
    """Print the commands that put the turn of a forfeit to the bot again."""
    for number in range(len(found.games)) if game is None else [game]:
        for forfeit in found.games[number].forfeits:
            complain(
                f"to ask your bot again: arena match replay {match_id}, then arena replay ask "
                f"{match_id}{replay_files.SUFFIX} --game {number} --ply {forfeit.ply} DIR"
            )
            return


match = group("Show, cancel or annul a match; fetch its replay.", show_, log, replay, cancel, annul)
