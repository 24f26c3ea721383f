"""``arena ladder``: the standings, and the proof that they follow from the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import remote_ladder
from arena.cli.console import (
    EXIT_FAILED,
    DataDir,
    Json,
    RedisUrl,
    ask,
    complain,
    out,
    print_json,
    ruleset_of,
)
from arena.cli.remote import Server, goes_remote
from arena.cli.tables import Column, show, table
from arena.ratings.elo import MICRO

if TYPE_CHECKING:
    from rich.console import RenderableType

    from arena.context import Arena
    from arena.queue.rebuild import ReplayReport
    from arena.queue.strengths import Strength

REBUILD = "rebuild"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="ladder")(ladder)


def ladder(  # noqa: PLR0913 -- a command's options
    ruleset: Annotated[
        str, typer.Argument(metavar="[RULESET|rebuild]", help="A ladder; all without it.")
    ] = "",
    only: Annotated[str, typer.Argument(metavar="[RULESET]", hidden=True)] = "",
    *,
    count: Annotated[int, typer.Option(min=1, help="Bots to show.")] = 50,
    server: Server = None,
    data_dir: DataDir = None,
    redis_url: RedisUrl = None,
    json: Json = False,
) -> None:
    """Show the standings; `arena ladder rebuild` replays the log and compares."""
    if ruleset == REBUILD:
        _rebuild(only, data_dir=data_dir, redis_url=redis_url, json=json)
        return
    if goes_remote(server, data_dir=data_dir, redis_url=redis_url):
        remote_ladder.show(ruleset, count=count, server=server, json=json)
        return

    async def question(arena: Arena) -> dict[str, list[Row]]:
        wanted = [await ruleset_of(arena, ruleset)] if ruleset else await arena.queues.rulesets()
        return {each: await rows(arena, each, count=count) for each in wanted}

    found = ask(question, data_dir=data_dir, redis_url=redis_url)
    if json:
        print_json({"ladders": {each: [row.document() for row in r] for each, r in found.items()}})
        return
    if not found:
        out.print("There is no ladder yet; `arena bot add DIR` opens them.")
    for each, bots in found.items():
        show(table_of(each, bots))


@dataclass(frozen=True, slots=True)
class Row:
    """A bot's line in the standings.

    Attributes:
        rank: from 1.
        bot: its name.
        rating: in micro-Elo.
        strength: what all rated results say; None without any, and on a very large ladder.
        matches: how many rated ones it played.
        timeouts: games that it lost on time.
    """

    rank: int
    bot: str
    rating: int
    strength: Strength | None
    matches: int
    timeouts: int

    @property
    def error(self) -> float | None:
        """Half of the 95 % interval of the batch strength, in Elo."""
        return self.strength.error if self.strength is not None else None

    def document(self) -> dict[str, Any]:
        """Return the line as JSON."""
        return {
            "rank": self.rank,
            "bot": self.bot,
            "elo": round(self.rating / MICRO, 6),
            "strength": self.strength and self.error and round(self.strength.elo, 1),
            "error": None if self.error is None else round(self.error, 1),
            "note": self.strength.note if self.strength is not None else "",
            "matches": self.matches,
            "timeouts": self.timeouts,
        }


async def rows(arena: Arena, ruleset: str, *, count: int = 50) -> list[Row]:
    """Return the best bots of a ladder, with what all rated results say of them."""
    from arena.queue.strengths import LadderStrengths  # noqa: PLC0415 -- needs the `server` extra

    ladder = arena.queues.ladder(ruleset)
    # The scheduler keeps the sums; what was logged since is added here.
    strengths = LadderStrengths(arena.redis, ladder, archive=arena.archive)
    await strengths.update()
    standings = await ladder.standings(0, count)
    column = strengths.column()
    return [
        Row(
            rank=each.place or 0,
            bot=each.bot,
            rating=each.rating,
            strength=column[each.bot].strength if each.bot in column else None,
            matches=column[each.bot].matches if each.bot in column else 0,
            timeouts=column[each.bot].timeouts if each.bot in column else 0,
        )
        for each in standings
    ]


_COLUMNS = (
    Column("rank", right=True),
    Column("bot", shortens=True),
    Column("Elo", right=True),
    Column("strength", right=True, leaves=2),
    Column("95 %", right=True, leaves=1),
    Column("matches", right=True, leaves=3),
    Column("time-outs", right=True, leaves=4),
)


def table_of(title: str, standings: list[Row], *, width: int | None = None) -> RenderableType:
    """Return the standings as a table that is at most so wide; as stdout, without a width."""
    cells = [
        (
            str(row.rank),
            row.bot,
            f"{row.rating / MICRO:.1f}",
            "-" if row.error is None or row.strength is None else f"{row.strength.elo:+.0f}",
            error_text(row),
            str(row.matches),
            str(row.timeouts),
        )
        for row in standings
    ]
    return table(_COLUMNS, cells, title=title, width=width)


def error_text(row: Row) -> str:
    """Return the error bar, or in a word why there is none."""
    if row.error is not None:
        return f"±{row.error:.0f}"
    return row.strength.note.partition(":")[0] if row.strength is not None else "-"


def _rebuild(only: str, **address: Any) -> None:
    from arena.queue import rebuild  # noqa: PLC0415 -- needs the `server` extra

    json = address.pop("json")

    async def question(arena: Arena) -> dict[str, ReplayReport]:
        wanted = [await ruleset_of(arena, only)] if only else await arena.queues.rulesets()
        return {
            each: await rebuild.replay(arena.queues.ladder(each), arena.archive) for each in wanted
        }

    reports = ask(question, **address)
    if json:
        print_json({"ladders": {each: _document(report) for each, report in reports.items()}})
    for each, report in reports.items():
        if not json:
            verdict = "live = replayed" if report.equal else "live and replayed differ"
            out.print(
                f"{each}: {report.sequence} entries, {report.annulled} annulled, sum + bank "
                f"{report.balance}: {verdict}",
                markup=False,
            )
        for difference in report.differences:
            complain(
                f"{each}: {difference.name} is {difference.live}, "
                f"the log says {difference.replayed}"
            )
    if not all(report.equal for report in reports.values()):
        raise typer.Exit(EXIT_FAILED)


def _document(report: ReplayReport) -> dict[str, Any]:
    return {
        "equal": report.equal,
        "entries": report.sequence,
        "annulled": report.annulled,
        "balance": report.balance,
        "differences": [
            {"name": each.name, "live": each.live, "replayed": each.replayed}
            for each in report.differences
        ],
    }
