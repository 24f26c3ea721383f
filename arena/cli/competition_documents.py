"""Standings for programs: JSON documents and CSV. Strengths without an error bar say why."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from referee.outcome import ForfeitReason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena.competitions.forecast import Forecast
    from arena.competitions.records import CompetitionRecord, Round
    from arena.competitions.report import StandingsReport, StandingsRow
    from arena.competitions.results import CompetitionResult

COLUMNS = (
    "competition", "rank", "entrant", "points", "sonneborn_berger", "set_score", "played", "elo",
    "error", "note", "stronger_than_next", "games", "mean_points", "forfeits", "timeouts",
    "walkovers",
)  # fmt: skip


def competition_document(
    record: CompetitionRecord,
    reports: Sequence[StandingsReport],
    rounds: Mapping[str, Round],
    results: Mapping[str, CompetitionResult],
) -> dict[str, Any]:
    """Return a whole competition, with its standings, matches and rounds."""
    rules = record.rules
    return {
        "id": record.id,
        "name": record.name,
        "state": record.state,
        "ruleset": rules.ruleset,
        "format": rules.format,
        "boards": rules.options.boards,
        "time_control": rules.time_control,
        "rated": rules.rated,
        "weight": rules.weight,
        "created_time": record.created_time.isoformat(),
        "started_time": record.started_time and record.started_time.isoformat(),
        "ended_time": record.ended_time and record.ended_time.isoformat(),
        "gone": dict(record.gone),
        "note": record.note,
        "divisions": [_division(record, each, results) for each in reports],
        "rounds": [
            {"round": each.key, "commitment": each.commitment, "seed": each.seed}
            for each in sorted(rounds.values(), key=lambda each: (each.created_time, each.key))
        ],
    }


def _division(
    record: CompetitionRecord, report: StandingsReport, results: Mapping[str, CompetitionResult]
) -> dict[str, Any]:
    return {
        "competition": report.competition,
        "finished": report.finished,
        "played": report.played,
        "matches_known": len(report.matches),
        "standings": [row_document(report, row) for row in report.rows],
        "meetings": [
            {"entrant": one, "opponent": other, "score": meeting.score, "matches": meeting.matches}
            for (one, other), meeting in sorted(report.meetings.items())
        ],
        "matches": [
            {
                "match": record.playing(match.id),
                "annulled": record.annulled(match.id),
                "round": match.round,
                "table": match.table,
                "entrants": match.entrants,
                "boards": match.boards,
                "scores": [score / 1e6 for score in results[match.id].pair_scores]
                if match.id in results
                else None,
                "walkover": match.id in results and results[match.id].is_walkover,
            }
            for match in report.matches
        ],
        "first_seat": None if report.first_seat is None else report.first_seat.value,
        "first_seat_error": None if report.first_seat is None else report.first_seat.error,
        "variance_reduction": report.variance_reduction,
    }


def row_document(report: StandingsReport, row: StandingsRow) -> dict[str, Any]:
    """Return a line of the standings, by the names in `COLUMNS`."""
    standing = row.standing
    return {
        "competition": report.competition,
        "rank": standing.rank,
        "entrant": standing.entrant,
        "points": standing.points,
        "sonneborn_berger": standing.sonneborn_berger,
        "set_score": standing.set_score / 1e6,
        "played": standing.played,
        "elo": None if row.error is None else round(row.elo, 1),
        "error": None if row.error is None else round(row.error, 1),
        "note": row.note,
        "stronger_than_next": None if row.stronger is None else round(row.stronger, 4),
        "games": row.games,
        "mean_points": row.mean_points,
        "forfeits": sum(row.forfeits.values()),
        "timeouts": row.forfeits.get(ForfeitReason.TIMEOUT, 0),
        "walkovers": row.walkovers,
    }


def standings_csv(reports: Iterable[StandingsReport]) -> str:
    """Return the standings of all divisions, a header line first."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for report in reports:
        writer.writerows(row_document(report, row) for row in report.rows)
    return text.getvalue()


def forecast_document(found: Forecast, *, based_on: int) -> dict[str, Any]:
    """Return what a competition will take.

    Args:
        found: the forecast.
        based_on: results of the ladder that it is based on.
    """
    return {
        "matches_least": found.matches[0],
        "matches_most": found.matches[1],
        "games": found.games,
        "rounds": found.rounds,
        "minutes": None if found.elapsed is None else round(found.elapsed.total_seconds() / 60, 1),
        "error": None if found.error is None else round(found.error, 1),
        "lead_error": None if found.resolved is None else round(found.resolved, 1),
        "measured_matches": based_on,
    }
