"""``arena matches``, ``arena match``: what was played, here or there; an operator annuls."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import match as remote_match
from arena.cli.console import EXIT_FAILED, DataDir, Json, RedisUrl, ask, out, print_json, ruleset_of
from arena.cli.remote import Server, goes_remote
from arena.cli.tables import show as show_table
from arena.cli.tables import table
from arena.errors import NotFoundError
from arena.ratings.elo import MICRO

if TYPE_CHECKING:
    from arena.context import Arena
    from arena.queue.log_entries import LoggedResult

MatchId = Annotated[str, typer.Argument(metavar="ID", help="For example ladder-000001.")]
Ruleset = Annotated[str, typer.Option("--ruleset", help="Only this ladder.")]

_MOST = 10_000
"""Results of a ladder that are looked through for those of one bot."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(name="matches")(show_all)
    match = typer.Typer(
        name="match",
        help="Look at a match, its log and its replay, or annul it.",
        no_args_is_help=True,
    )
    match.command(name="show")(show)
    remote_match.add_to(match)
    match.command(name="annul")(annul)
    app.add_typer(match)


def show_all(  # noqa: PLR0913 -- a command's options
    *,
    ruleset: Ruleset = "",
    bot: Annotated[str, typer.Option(help="Only those of this bot.")] = "",
    count: Annotated[int, typer.Option(min=1, max=_MOST, help="How many.")] = 20,
    server: Server = None,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """List the latest results, the newest first."""
    if goes_remote(server, data_dir=data_dir, redis_url=redis_url):
        remote_match.show_matches(ruleset=ruleset, bot=bot, count=count, server=server, json=json)
        return

    async def question(arena: Arena) -> list[tuple[str, LoggedResult]]:
        rulesets = [await ruleset_of(arena, ruleset)] if ruleset else await arena.queues.rulesets()
        return [
            (each, result)
            for each in rulesets
            for result in await arena.queues.ladder(each).latest(_MOST if bot else count)
            if not bot or bot in result.bots
        ]

    results = ask(question, data_dir=data_dir, redis_url=redis_url)
    results = sorted(results, key=lambda pair: pair[1].time, reverse=True)[:count]
    if json:
        print_json({"matches": [_document(each, result) for each, result in results]})
        return
    rows = [
        (
            result.match_id,
            each,
            f"{result.time:%Y-%m-%d %H:%M}",
            str(result.games),
            "\n".join([*_entrants(result), *(["annulled"] if result.annulled is not None else [])]),
        )
        for each, result in results
    ]
    show_table(table(remote_match.MATCHES, rows))


def _entrants(result: LoggedResult) -> list[str]:
    """Return the lines of each entrant: score, change of its rating; below them its forfeits."""
    others = len(result.entrants) - 1
    lines = []
    for number, entrant in enumerate(result.entrants):
        change = f" {result.changes[number] / MICRO:+.1f}" if result.changes else ""
        lost = "".join(
            f"\n  {each.games} x {each.reason}"
            for each in result.forfeits
            if each.entrant == number
        )
        score = sum(result.scores[number]) / (MICRO * others)
        lines.append(f"{entrant} {score:.0%}{change}{lost}")
    return lines


def show(  # noqa: PLR0913 -- a command's options
    match_id: MatchId,
    *,
    ruleset: Ruleset = "",
    server: Server = None,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Show where a match stands, and its result."""
    if goes_remote(server, data_dir=data_dir, redis_url=redis_url):
        remote_match.show(match_id, server=server, json=json)
        return

    async def question(arena: Arena) -> tuple[str, LoggedResult | str]:
        for each in (
            [await ruleset_of(arena, ruleset)] if ruleset else await arena.queues.rulesets()
        ):
            result = await arena.queues.ladder(each).result(match_id)
            if result is not None:
                return each, result
            phase = await arena.queues.queue(each).phase(match_id)
            if phase is not None:
                return each, str(phase)
        raise NotFoundError(f"there is no match {match_id}; `arena matches` lists the latest")

    where, found = ask(question, data_dir=data_dir, redis_url=redis_url)
    if isinstance(found, str):
        if json:
            print_json({"match": match_id, "ruleset": where, "phase": found})
        else:
            out.print(f"{match_id}: {where}, {found}", markup=False)
    elif json:
        print_json(_document(where, found))
    else:
        _show_result(where, found)


def _show_result(ruleset: str, result: LoggedResult) -> None:
    rated = "" if result.rated else ", unrated"
    out.print(f"{result.match_id}: {ruleset}, {result.flow}, done{rated}", markup=False)
    seconds = result.played.total_seconds()
    time = result.time.isoformat(timespec="seconds")
    out.print(f"  {result.games} games in {seconds:.1f} s, ended {time}", markup=False)
    for lines in _entrants(result):
        out.print(indent(lines, "  "), markup=False)
    if result.annulled is not None:
        out.print(f"  annulled: {result.annulled}", markup=False)


def annul(  # noqa: PLR0913 -- a command's options
    match_id: MatchId,
    *,
    reason: Annotated[str, typer.Option(help="Shown with the match.")],
    ruleset: Ruleset = "",
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Take a result out of the ratings; the ladder becomes what it would be without it.

    A tournament or a season that is under way plays the match again, under a new id and on new
    boards, unless it has gone on from the result. What has ended stays as it is.
    """

    async def question(arena: Arena) -> tuple[bool, str]:
        # Both need the `server` extra.
        from arena.competitions import annulment as competition_annulment  # noqa: PLC0415

        for each in (
            [await ruleset_of(arena, ruleset)] if ruleset else await arena.queues.rulesets()
        ):
            ladder = arena.queues.ladder(each)
            if await ladder.result(match_id) is not None or ruleset:
                annulled = await competition_annulment.annul(
                    arena, match_id, ruleset=each, reason=reason
                )
                return annulled, await competition_annulment.played_again_as(arena, match_id)
        raise NotFoundError(
            f"no match {match_id} is done; `arena matches` lists the latest, and an old one needs "
            "--ruleset"
        )

    annulled, again = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json({"match": match_id, "annulled": annulled, "played_again_as": again or None})
    else:
        what = "is annulled" if annulled else "had been annulled before"
        replayed = f"; it is played again as {again}" if again else ""
        out.print(f"{match_id} {what}{replayed}", markup=False)
    if not annulled:
        raise typer.Exit(EXIT_FAILED)


def _document(ruleset: str, result: LoggedResult) -> dict[str, Any]:
    return {
        "match": result.match_id,
        "ruleset": ruleset,
        "phase": "done",
        "sequence": result.sequence,
        "flow": result.flow,
        "time": result.time.isoformat(timespec="seconds"),
        "rated": result.rated,
        "entrants": result.entrants,
        "pair_scores": [score / MICRO for score in result.pair_scores],
        "elo_changes": [change / MICRO for change in result.changes],
        "games": result.games,
        "terminations": {str(name): count for name, count in result.terminations.items()},
        "forfeits": [
            {
                "entrant": result.entrants[each.entrant],
                "reason": each.reason,
                "games": each.games,
            }
            for each in result.forfeits
        ],
        "seconds": result.played.total_seconds(),
        "annulled": result.annulled,
    }
