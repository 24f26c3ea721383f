"""Translates competitions into the API's messages, and rules that are asked for back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.api.messages import message, value_of
from arena.backend.competitions import RulesRequest
from arena.competitions.records import Seeding
from arena.formats.model import Format
from arena.v1 import competitions_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.backend.competitions import CompetitionMatch, CompetitionView
    from arena.competitions.forecast import Forecast
    from arena.competitions.leagues import LeagueRecord
    from arena.competitions.records import CompetitionRecord, CompetitionRules, Round
    from arena.competitions.report import Meeting, StandingsReport, StandingsRow

_FORMAT_OF = {
    pb.CompetitionFormat.Value(f"COMPETITION_FORMAT_{each.name}"): each for each in Format
}


def rules_of(request: pb.CompetitionRules) -> RulesRequest:
    """Return the rules that a caller asks for."""
    return value_of(
        RulesRequest,
        request,
        format=_FORMAT_OF.get(request.format, Format.ROUND_ROBIN),
        seeding=Seeding.GIVEN if request.seeded_as_entered else Seeding.RATING,
    )


def rules_message(rules: CompetitionRules) -> pb.CompetitionRules:
    """Return rules."""
    given = rules.seeding is Seeding.GIVEN
    return message(pb.CompetitionRules, rules, rules.options, seeded_as_entered=given)


def competition_message(view: CompetitionView) -> pb.Competition:
    """Return a competition; before its start with the number of its entries."""
    record = view.record
    return message(
        pb.Competition,
        record,
        rules=rules_message(record.rules),
        entrant_count=len(record.entrants) or len(view.entries),
        create_time=record.created_time,
        start_time=record.started_time,
        end_time=record.ended_time,
    )


def standings_message(report: StandingsReport, record: CompetitionRecord) -> pb.Standings:
    """Return the standings of a division."""
    seat = report.first_seat
    return message(
        pb.Standings,
        report,
        id=report.competition,
        rows=[_row(row, record.gone) for row in report.rows],
        match_count=len(report.matches),
        played_count=report.played,
        first_seat_score=seat.value if seat else None,
        first_seat_error=seat.error if seat else None,
    )


def _row(row: StandingsRow, gone: Mapping[str, str]) -> pb.StandingsRow:
    standing = row.standing
    return message(
        pb.StandingsRow,
        row,
        standing,
        place=standing.rank,
        version=standing.entrant,
        set_score=standing.set_score / 1e6,
        elo=None if row.error is None else row.elo,
        elo_error=row.error,
        stronger_than_next=row.stronger,
        leave_reason=gone.get(standing.entrant, ""),
    )


def round_message(found: Round) -> pb.Round:
    """Return a round that has begun."""
    return message(
        pb.Round,
        found,
        id=found.key,
        seed_commitment=found.commitment,
        create_time=found.created_time,
    )


def match_message(found: CompetitionMatch) -> pb.CompetitionMatch:
    """Return a match of a competition's plan."""
    record, match, result = found.record, found.planned, found.result
    others = len(match.entrants) - 1
    places = range(len(match.entrants))
    return message(
        pb.CompetitionMatch,
        match,
        id=record.playing(match.id),
        annulled=record.annulled(match.id),
        versions=match.entrants,
        ended=result is not None,
        scores=[result.match.set_score(place) / 1e6 / others for place in places] if result else [],
        points=[result.match.points(place) for place in places] if result else [],
        walkover=result is not None and result.is_walkover,
        planned_id=match.id,
    )


def meeting_message(entry: tuple[tuple[str, str], Meeting]) -> pb.Meeting:
    """Return how one version did against another."""
    (version, opponent), found = entry
    return pb.Meeting(
        version=version, opponent=opponent, score=found.score, match_count=found.matches
    )


def forecast_message(found: Forecast, *, based_on: int) -> pb.Forecast:
    """Return what a competition will take."""
    return message(
        pb.Forecast,
        match_count_min=found.matches[0],
        match_count_max=found.matches[1],
        game_count=found.games,
        round_count=found.rounds,
        elapsed=found.elapsed,
        elo_error=found.error,
        lead_error=found.resolved,
        measured_match_count=based_on,
    )


def league_message(league: LeagueRecord) -> pb.League:
    """Return a league."""
    rules = league.rules
    return message(
        pb.League,
        league,
        rules,
        rules=rules_message(rules.matches),
        season_limit=rules.seasons,
        division_size=rules.division,
        create_time=league.created_time,
        wanted_count=league.wanted,
    )


def season_message(number: int, season: CompetitionRecord) -> pb.Season:
    """Return a season of a league."""
    divisions = [pb.Ranking(versions=each) for each in season.ranking]
    return message(pb.Season, season, number=number, divisions=divisions)
