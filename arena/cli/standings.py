"""Standings, cross-tables and brackets on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.cli.tables import Column, table
from arena.competitions.report import StandingsReport, StandingsRow
from referee.outcome import ForfeitReason

if TYPE_CHECKING:
    from rich.console import RenderableType

_GONE = "-"
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


def standings_table(report: StandingsReport, *, title: str) -> RenderableType:
    """Return the standings, with how sure they are."""
    return table(_COLUMNS, map(_cells, report.rows), title=title)


def _cells(row: StandingsRow) -> list[str]:
    standing = row.standing
    lost = sum(row.forfeits.values())
    absent = f" +{row.walkovers} off" if row.walkovers else ""
    return [
        str(standing.rank),
        standing.entrant,
        f"{standing.points:g}",
        str(standing.played),
        _GONE if row.error is None else f"{row.elo:+.0f}",
        row.note.partition(":")[0] if row.error is None else f"±{row.error:.0f}",
        _GONE if row.stronger is None else f"{row.stronger:.0%}",
        _GONE if row.mean_points is None else f"{row.mean_points:.1f}",
        f"{lost}{absent}",
        str(row.forfeits.get(ForfeitReason.TIMEOUT, 0)),
    ]


def footnotes(report: StandingsReport) -> list[str]:
    """Return what there is to say beside the standings, a sentence each."""
    notes = []
    if report.first_seat is not None:
        error = report.first_seat.error
        margin = "too few rounds for an error bar" if error is None else f"±{100 * error:.1f}"
        notes.append(f"first seat: scores {100 * report.first_seat.value:.1f} % ({margin})")
    if report.variance_reduction is not None:
        notes.append(
            f"duplicate boards: as sure as {report.variance_reduction:.2f} times as many games on "
            "boards of their own"
        )
    first = report.rows[0] if report.rows else None
    if report.finished and first is not None:
        sure = "unknown" if first.stronger is None else f"{first.stronger:.0%}"
        notes.append(
            f"{first.standing.entrant} comes first; the chance that it is really stronger than "
            f"the second is {sure}"
        )
    return notes


def cross_table(report: StandingsReport) -> RenderableType:
    """Return who got how much against whom, in per cent."""
    ranked = [row.standing.entrant for row in report.rows]
    # On a narrow terminal the columns of those who came last go first.
    columns = [
        Column("", right=True),
        Column("against", shortens=True),
        *(Column(str(number), right=True, leaves=number) for number in range(1, len(ranked) + 1)),
    ]
    rows = []
    for number, one in enumerate(ranked, start=1):
        cells = []
        for other in ranked:
            meeting = report.meetings.get((one, other))
            blank = "·" if one == other else ""
            cells.append(blank if meeting is None else f"{100 * meeting.score:.0f}")
        rows.append((str(number), one, *cells))
    return table(columns, rows)
