"""Calls about tournaments, leagues and their seasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.api.competition_messages import (
    competition_message,
    forecast_message,
    league_message,
    match_message,
    meeting_message,
    round_message,
    rules_of,
    season_message,
    standings_message,
)
from arena.api.messages import dead_match, page_request, paged, value_of
from arena.backend.leagues import LeagueRequest

if TYPE_CHECKING:
    from arena.api.messages import Fields
    from arena.backend.access import Caller
    from arena.backend.competitions import Competitions
    from arena.backend.leagues import Leagues
    from arena.backend.tournaments import Tournaments
    from arena.v1 import competitions_pb2 as pb


class CompetitionCalls:
    """Translates calls about competitions."""

    def __init__(
        self, competitions: Competitions, tournaments: Tournaments, leagues: Leagues
    ) -> None:
        self._competitions = competitions
        self._tournaments = tournaments
        self._leagues = leagues

    # Reading.

    async def list_competitions(
        self, request: pb.ListCompetitionsRequest, caller: Caller
    ) -> Fields:
        page = await self._competitions.list_competitions(caller, page_request(request))
        return paged("competitions", page, competition_message)

    async def get_competition(self, request: pb.GetCompetitionRequest, caller: Caller) -> Fields:
        view = await self._competitions.get_competition(caller, request.competition)
        return {
            "competition": competition_message(view),
            "entries": view.entries,
            "standings": [standings_message(each, view.record) for each in view.reports],
            "rounds": map(round_message, view.rounds),
            "dead_matches": map(dead_match, view.dead),
        }

    async def list_competition_matches(
        self, request: pb.ListCompetitionMatchesRequest, caller: Caller
    ) -> Fields:
        page = await self._competitions.list_competition_matches(
            caller, request.competition, page_request(request)
        )
        return paged("matches", page, match_message)

    async def list_meetings(self, request: pb.ListMeetingsRequest, caller: Caller) -> Fields:
        page = await self._competitions.list_meetings(
            caller, request.competition, page_request(request)
        )
        return paged("meetings", page, meeting_message)

    # Tournaments.

    async def plan_tournament(self, request: pb.PlanTournamentRequest, caller: Caller) -> Fields:
        found, measured = await self._tournaments.plan(
            caller,
            rules_of(request.rules),
            entrants=request.entrant_count,
            slots=request.slots if request.HasField("slots") else None,
        )
        return {"forecast": forecast_message(found, based_on=measured.matches)}

    async def create_tournament(
        self, request: pb.CreateTournamentRequest, caller: Caller
    ) -> Fields:
        view, left_out = await self._tournaments.create(
            caller,
            request.name,
            rules_of(request.rules),
            request.entries,
            everybody=request.everybody,
            seed=request.seed,
            is_open=request.open,
            start=request.start,
        )
        return {"competition": competition_message(view), "left_out": left_out}

    async def open_tournament(self, request: pb.OpenTournamentRequest, caller: Caller) -> Fields:
        view = await self._tournaments.open(caller, request.competition)
        return {"competition": competition_message(view)}

    async def start_tournament(self, request: pb.StartTournamentRequest, caller: Caller) -> Fields:
        view, left_out = await self._tournaments.start(caller, request.competition)
        return {"competition": competition_message(view), "left_out": left_out}

    # Coming and going, going on and stopping.

    async def enter_competition(
        self, request: pb.EnterCompetitionRequest, caller: Caller
    ) -> Fields:
        is_new = await self._competitions.enter(caller, request.competition, request.entry)
        return {"is_new": is_new}

    async def leave_competition(
        self, request: pb.LeaveCompetitionRequest, caller: Caller
    ) -> Fields:
        await self._competitions.leave(caller, request.competition, request.entry)
        return {}

    async def pause_competition(
        self, request: pb.PauseCompetitionRequest, caller: Caller
    ) -> Fields:
        return {"state": await self._competitions.change(caller, request.competition, "pause")}

    async def resume_competition(
        self, request: pb.ResumeCompetitionRequest, caller: Caller
    ) -> Fields:
        return {"state": await self._competitions.change(caller, request.competition, "resume")}

    async def cancel_competition(
        self, request: pb.CancelCompetitionRequest, caller: Caller
    ) -> Fields:
        return {"state": await self._competitions.change(caller, request.competition, "cancel")}

    # Leagues.

    async def create_league(self, request: pb.CreateLeagueRequest, caller: Caller) -> Fields:
        wanted = value_of(
            LeagueRequest,
            request,
            matches=rules_of(request.rules),
            seasons=request.season_limit,
            division=request.division_size,
        )
        league = await self._leagues.create(
            caller,
            request.name,
            wanted,
            request.bots,
            everybody=request.everybody,
            seed=request.seed,
        )
        return {"league": league_message(league)}

    async def list_leagues(self, _request: pb.ListLeaguesRequest, caller: Caller) -> Fields:
        return {"leagues": map(league_message, await self._leagues.list_leagues(caller))}

    async def get_league(self, request: pb.GetLeagueRequest, caller: Caller) -> Fields:
        view = await self._leagues.get_league(caller, request.league)
        return {
            "league": league_message(view.league),
            "bots": view.bots,
            "seasons": [season_message(*each) for each in enumerate(view.seasons, start=1)],
        }

    async def call_season(self, request: pb.CallSeasonRequest, caller: Caller) -> Fields:
        return {"league": league_message(await self._leagues.call_season(caller, request.league))}
