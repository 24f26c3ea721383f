"""Calls about tournaments, leagues and their seasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.api.competition_messages import (
    STATES,
    competition_message,
    forecast_message,
    league_message,
    match_message,
    round_message,
    rules_of,
    season_message,
    standings_message,
)
from arena.api.messages import dead_match, page_request
from arena.backend.leagues import LeagueRequest
from arena.v1 import competitions_pb2 as pb

if TYPE_CHECKING:
    from arena.backend.access import Caller
    from arena.backend.competitions import Competitions
    from arena.backend.leagues import Leagues
    from arena.backend.tournaments import Tournaments


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
    ) -> pb.ListCompetitionsResponse:
        page = await self._competitions.list_competitions(caller, page_request(request))
        return pb.ListCompetitionsResponse(
            competitions=map(competition_message, page.entries), next_page_token=page.next_token
        )

    async def get_competition(
        self, request: pb.GetCompetitionRequest, caller: Caller
    ) -> pb.GetCompetitionResponse:
        view = await self._competitions.get_competition(caller, request.competition)
        return pb.GetCompetitionResponse(
            competition=competition_message(view),
            entries=view.entries,
            standings=[standings_message(each, view.record) for each in view.reports],
            rounds=map(round_message, view.rounds),
            dead_matches=map(dead_match, view.dead),
        )

    async def list_competition_matches(
        self, request: pb.ListCompetitionMatchesRequest, caller: Caller
    ) -> pb.ListCompetitionMatchesResponse:
        page = await self._competitions.list_competition_matches(
            caller, request.competition, page_request(request)
        )
        return pb.ListCompetitionMatchesResponse(
            matches=map(match_message, page.entries), next_page_token=page.next_token
        )

    async def list_meetings(
        self, request: pb.ListMeetingsRequest, caller: Caller
    ) -> pb.ListMeetingsResponse:
        page = await self._competitions.list_meetings(
            caller, request.competition, page_request(request)
        )
        return pb.ListMeetingsResponse(
            meetings=[
                pb.Meeting(version=one, opponent=other, score=each.score, match_count=each.matches)
                for (one, other), each in page.entries
            ],
            next_page_token=page.next_token,
        )

    # Tournaments.

    async def plan_tournament(
        self, request: pb.PlanTournamentRequest, caller: Caller
    ) -> pb.PlanTournamentResponse:
        found, measured = await self._tournaments.plan(
            caller,
            rules_of(request.rules),
            entrants=request.entrant_count,
            slots=request.slots if request.HasField("slots") else None,
        )
        return pb.PlanTournamentResponse(
            forecast=forecast_message(found, based_on=measured.matches)
        )

    async def create_tournament(
        self, request: pb.CreateTournamentRequest, caller: Caller
    ) -> pb.CreateTournamentResponse:
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
        return pb.CreateTournamentResponse(competition=competition_message(view), left_out=left_out)

    async def open_tournament(
        self, request: pb.OpenTournamentRequest, caller: Caller
    ) -> pb.OpenTournamentResponse:
        view = await self._tournaments.open(caller, request.competition)
        return pb.OpenTournamentResponse(competition=competition_message(view))

    async def start_tournament(
        self, request: pb.StartTournamentRequest, caller: Caller
    ) -> pb.StartTournamentResponse:
        view, left_out = await self._tournaments.start(caller, request.competition)
        return pb.StartTournamentResponse(competition=competition_message(view), left_out=left_out)

    # Coming and going, going on and stopping.

    async def enter_competition(
        self, request: pb.EnterCompetitionRequest, caller: Caller
    ) -> pb.EnterCompetitionResponse:
        is_new = await self._competitions.enter(caller, request.competition, request.entry)
        return pb.EnterCompetitionResponse(is_new=is_new)

    async def leave_competition(
        self, request: pb.LeaveCompetitionRequest, caller: Caller
    ) -> pb.LeaveCompetitionResponse:
        await self._competitions.leave(caller, request.competition, request.entry)
        return pb.LeaveCompetitionResponse()

    async def pause_competition(
        self, request: pb.PauseCompetitionRequest, caller: Caller
    ) -> pb.PauseCompetitionResponse:
        state = await self._competitions.pause(caller, request.competition)
        return pb.PauseCompetitionResponse(state=STATES[state])

    async def resume_competition(
        self, request: pb.ResumeCompetitionRequest, caller: Caller
    ) -> pb.ResumeCompetitionResponse:
        state = await self._competitions.resume(caller, request.competition)
        return pb.ResumeCompetitionResponse(state=STATES[state])

    async def cancel_competition(
        self, request: pb.CancelCompetitionRequest, caller: Caller
    ) -> pb.CancelCompetitionResponse:
        state = await self._competitions.cancel(caller, request.competition)
        return pb.CancelCompetitionResponse(state=STATES[state])

    # Leagues.

    async def create_league(
        self, request: pb.CreateLeagueRequest, caller: Caller
    ) -> pb.CreateLeagueResponse:
        wanted = LeagueRequest(
            matches=rules_of(request.rules),
            schedule=request.schedule,
            seasons=request.season_limit,
            division=request.division_size,
            moves=request.moves,
        )
        league = await self._leagues.create(
            caller,
            request.name,
            wanted,
            request.bots,
            everybody=request.everybody,
            seed=request.seed,
        )
        return pb.CreateLeagueResponse(league=league_message(league))

    async def list_leagues(
        self, request: pb.ListLeaguesRequest, caller: Caller
    ) -> pb.ListLeaguesResponse:
        del request
        leagues = await self._leagues.list_leagues(caller)
        return pb.ListLeaguesResponse(leagues=map(league_message, leagues))

    async def get_league(
        self, request: pb.GetLeagueRequest, caller: Caller
    ) -> pb.GetLeagueResponse:
        view = await self._leagues.get_league(caller, request.league)
        return pb.GetLeagueResponse(
            league=league_message(view.league),
            bots=view.bots,
            seasons=[season_message(*each) for each in enumerate(view.seasons, start=1)],
        )

    async def call_season(
        self, request: pb.CallSeasonRequest, caller: Caller
    ) -> pb.CallSeasonResponse:
        league = await self._leagues.call_season(caller, request.league)
        return pb.CallSeasonResponse(league=league_message(league))
