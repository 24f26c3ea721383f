"""Renders standings and cross-tables for a terminal, and standings as CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Final

from arena.cli.tables import Column, table
from arena.v1.competitions_pb2 import Standings, StandingsRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import RenderableType

    from arena.v1.competitions_pb2 import Meeting

_NONE: Final = "-"
_TIMEOUT: Final = "timeout"
_COLUMNS: Final = (
    Column("rank", right=True),
    Column("entrant", shortens=True),
    Column("points", right=True),
    Column("played", right=True, leaves=4),
    Column("Elo", right=True, leaves=1),
    Column("95 %", right=True, leaves=2),
    Column("stronger", right=True, leaves=5),
    Column("a game", right=True, leaves=6),
    Column("forfeits", right=True, leaves=3),
    Column("time-outs", right=True, leaves=7),
)


def standings_table(standings: Standings, *, title: str) -> RenderableType:
    """Return the standings with error bars as a table."""
    return table(_COLUMNS, map(_cells, standings.rows), title=title)


def _cells(row: StandingsRow) -> list[str]:
    absent = f" +{row.walkovers} off" if row.walkovers else ""
    has_error = row.HasField("elo_error")
    return [
        str(row.place),
        row.version,
        f"{row.points:g}",
        str(row.played),
        f"{row.elo:+.0f}" if has_error else _NONE,
        f"±{row.elo_error:.0f}" if has_error else row.note.partition(":")[0],
        f"{row.stronger_than_next:.0%}" if row.HasField("stronger_than_next") else _NONE,
        f"{row.mean_points:.1f}" if row.HasField("mean_points") else _NONE,
        f"{sum(row.forfeits.values())}{absent}",
        str(row.forfeits.get(_TIMEOUT, 0)),
    ]


def footnotes(standings: Standings) -> Iterator[str]:
    """Yield the first seat's score, the variance reduction and how sure the winner is."""
    if standings.HasField("first_seat_score"):
        margin = (
            f"±{100 * standings.first_seat_error:.1f}"
            if standings.HasField("first_seat_error")
            else "too few rounds for an error bar"
        )
        yield f"first seat: scores {100 * standings.first_seat_score:.1f} % ({margin})"
    if standings.HasField("variance_reduction"):
        times = f"{standings.variance_reduction:.2f} times as many games on boards of their own"
        yield f"duplicate boards: as sure as {times}"
    if standings.finished and standings.rows:
        first = standings.rows[0]
        is_known = first.HasField("stronger_than_next")
        chance = f"{first.stronger_than_next:.0%}" if is_known else "unknown"
        yield (
            f"{first.version} comes first; the chance that it is really stronger than the second "
            f"is {chance}"
        )


def cross_table(standings: Standings, meetings: Iterable[Meeting]) -> RenderableType:
    """Return the scores of each entrant against each other, in per cent."""
    ranked = [row.version for row in standings.rows]
    scores = {(each.version, each.opponent): each.score for each in meetings}
    # On a narrow terminal the columns of those who came last go first.
    columns = [
        Column("", right=True),
        Column("against", shortens=True),
        *(Column(str(number), right=True, leaves=number) for number in range(1, len(ranked) + 1)),
    ]
    rows = []
    for number, one in enumerate(ranked, start=1):
        against = {other: scores.get((one, other)) for other in ranked}
        blank = {one: "·"}
        cells = (
            blank.get(other, "") if score is None else f"{100 * score:.0f}"
            for other, score in against.items()
        )
        rows.append((str(number), one, *cells))
    return table(columns, rows)


def csv_row(standings: Standings, row: StandingsRow) -> dict[str, Any]:
    """Return a line of the standings, by its columns; None for unknown."""

    def known(name: str, digits: int) -> float | None:
        return round(getattr(row, name), digits) if row.HasField(name) else None  # type: ignore[arg-type]

    return {
        "competition": standings.id,
        "rank": row.place,
        "entrant": row.version,
        "points": row.points,
        "sonneborn_berger": row.sonneborn_berger,
        "set_score": row.set_score,
        "played": row.played,
        "elo": known("elo", 1),
        "error": known("elo_error", 1),
        "note": row.note,
        "stronger_than_next": known("stronger_than_next", 4),
        "games": row.games,
        "mean_points": row.mean_points if row.HasField("mean_points") else None,
        "forfeits": sum(row.forfeits.values()),
        "timeouts": row.forfeits.get(_TIMEOUT, 0),
        "walkovers": row.walkovers,
    }


CSV_COLUMNS: Final = tuple(csv_row(Standings(), StandingsRow()))


def standings_csv(divisions: Sequence[Standings]) -> str:
    """Return the standings of all divisions, a header line first."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for each in divisions:
        writer.writerows(csv_row(each, row) for row in each.rows)
    return text.getvalue()
