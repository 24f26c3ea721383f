"""From competitions to the API's messages and back, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.api.messages import duration, timestamp
from arena.backend.competitions import RulesRequest
from arena.competitions.records import CompetitionState, Seeding
from arena.formats.model import Format
from arena.v1 import competitions_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.backend.competitions import CompetitionMatch, CompetitionView
    from arena.competitions.forecast import Forecast
    from arena.competitions.leagues import LeagueRecord
    from arena.competitions.records import CompetitionRecord, CompetitionRules, Round
    from arena.competitions.report import StandingsReport, StandingsRow

STATES = {state: getattr(pb, f"COMPETITION_STATE_{state.name}") for state in CompetitionState}
FORMATS = {each: getattr(pb, f"COMPETITION_FORMAT_{each.name}") for each in Format}
_FORMAT_OF = {number: each for each, number in FORMATS.items()}


def rules_of(message: pb.CompetitionRules) -> RulesRequest:
    """Return the rules that a caller asks for."""
    return RulesRequest(
        ruleset=message.ruleset,
        format=_FORMAT_OF.get(message.format, Format.ROUND_ROBIN),
        boards=message.boards,
        cycles=message.cycles,
        rounds=message.rounds,
        challengers=message.challengers,
        groups=message.groups,
        advance=message.advance,
        time_control=message.time_control,
        rated=message.rated,
        weight=message.weight,
        capacity=message.capacity,
        seeding=Seeding.GIVEN if message.seeded_as_entered else Seeding.RATING,
    )


def rules_message(rules: CompetitionRules) -> pb.CompetitionRules:
    """Return rules."""
    options = rules.options
    return pb.CompetitionRules(
        ruleset=rules.ruleset,
        format=FORMATS[rules.format],
        boards=options.boards,
        cycles=options.cycles,
        rounds=options.rounds or 0,
        challengers=options.challengers,
        groups=options.groups,
        advance=options.advance,
        time_control=rules.time_control,
        rated=rules.rated,
        weight=rules.weight,
        capacity=rules.capacity,
        seeded_as_entered=rules.seeding is Seeding.GIVEN,
    )


def competition_message(
    view: CompetitionView,
) -> pb.Competition:
    """Return a competition; before its start with the number of its entries."""
    record = view.record
    return pb.Competition(
        id=record.id,
        state=STATES[record.state],
        rules=rules_message(record.rules),
        entrant_count=len(record.entrants) or len(view.entries),
        create_time=timestamp(record.created_time),
        start_time=timestamp(record.started_time) if record.started_time else None,
        end_time=timestamp(record.ended_time) if record.ended_time else None,
        note=record.note,
    )


def standings_message(report: StandingsReport, record: CompetitionRecord) -> pb.Standings:
    """Return the standings of a division."""
    seat = report.first_seat
    return pb.Standings(
        id=report.competition,
        rows=[_row(row, record.gone) for row in report.rows],
        match_count=len(report.matches),
        played_count=report.played,
        finished=report.finished,
        first_seat_score=seat.value if seat is not None else None,
        first_seat_error=seat.error if seat is not None else None,
        variance_reduction=report.variance_reduction,
    )


def _row(row: StandingsRow, gone: Mapping[str, str]) -> pb.StandingsRow:
    standing = row.standing
    return pb.StandingsRow(
        place=standing.rank,
        version=standing.entrant,
        points=standing.points,
        played=standing.played,
        sonneborn_berger=standing.sonneborn_berger,
        set_score=standing.set_score / 1e6,
        elo=None if row.error is None else row.elo,
        elo_error=row.error,
        note=row.note,
        stronger_than_next=row.stronger,
        games=row.games,
        mean_points=row.mean_points,
        forfeits={reason.value: games for reason, games in row.forfeits.items()},
        walkovers=row.walkovers,
        leave_reason=gone.get(standing.entrant, ""),
    )


def round_message(found: Round) -> pb.Round:
    """Return a round that has begun."""
    return pb.Round(
        id=found.key,
        seed_commitment=found.commitment,
        seed=found.seed,
        create_time=timestamp(found.created_time),
    )


def match_message(found: CompetitionMatch) -> pb.CompetitionMatch:
    """Return a match of a competition's plan."""
    record, match, result = found.record, found.planned, found.result
    others = len(match.entrants) - 1
    places = range(len(match.entrants))
    return pb.CompetitionMatch(
        id=record.playing(match.id),
        annulled=record.annulled(match.id),
        round=match.round,
        table=match.table,
        versions=match.entrants,
        boards=match.boards,
        ended=result is not None,
        scores=[]
        if result is None
        else [result.match.set_score(place) / 1e6 / others for place in places],
        points=[] if result is None else [result.match.points(place) for place in places],
        walkover=result is not None and result.is_walkover,
        planned_id=match.id,
    )


def forecast_message(found: Forecast, *, based_on: int) -> pb.Forecast:
    """Return what a competition will take."""
    return pb.Forecast(
        match_count_min=found.matches[0],
        match_count_max=found.matches[1],
        game_count=found.games,
        round_count=found.rounds,
        elapsed=None if found.elapsed is None else duration(found.elapsed),
        elo_error=found.error,
        lead_error=found.resolved,
        measured_match_count=based_on,
    )


def league_message(league: LeagueRecord) -> pb.League:
    """Return a league."""
    rules = league.rules
    return pb.League(
        id=league.id,
        state=STATES[league.state],
        rules=rules_message(rules.matches),
        schedule=rules.schedule,
        season_limit=rules.seasons,
        season=league.season,
        division_size=rules.division,
        moves=rules.moves,
        next_time=timestamp(league.next_time) if league.next_time else None,
        note=league.note,
        create_time=timestamp(league.created_time),
        called=league.called,
        wanted_count=league.wanted,
    )


def season_message(number: int, season: CompetitionRecord) -> pb.Season:
    """Return a season of a league."""
    return pb.Season(
        id=season.id,
        number=number,
        state=STATES[season.state],
        note=season.note,
        divisions=[pb.Ranking(versions=each) for each in season.ranking],
    )
