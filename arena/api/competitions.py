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
from arena.v1 import competitions_pb2

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
        self, request: competitions_pb2.ListCompetitionsRequest, caller: Caller
    ) -> competitions_pb2.ListCompetitionsResponse:
        """List tournaments and seasons."""
        page = await self._competitions.list_competitions(caller, page_request(request))
        return competitions_pb2.ListCompetitionsResponse(
            competitions=map(competition_message, page.entries), next_page_token=page.next_token
        )

    async def get_competition(
        self, request: competitions_pb2.GetCompetitionRequest, caller: Caller
    ) -> competitions_pb2.GetCompetitionResponse:
        """Return a competition with its standings."""
        view = await self._competitions.get_competition(caller, request.competition)
        return competitions_pb2.GetCompetitionResponse(
            competition=competition_message(view),
            entries=view.entries,
            standings=[standings_message(each, view.record) for each in view.reports],
            rounds=map(round_message, view.rounds),
            dead_matches=map(dead_match, view.dead),
        )

    async def list_competition_matches(
        self, request: competitions_pb2.ListCompetitionMatchesRequest, caller: Caller
    ) -> competitions_pb2.ListCompetitionMatchesResponse:
        """List the matches that are known by now."""
        page = await self._competitions.list_competition_matches(
            caller, request.competition, page_request(request)
        )
        return competitions_pb2.ListCompetitionMatchesResponse(
            matches=map(match_message, page.entries), next_page_token=page.next_token
        )

    async def list_meetings(
        self, request: competitions_pb2.ListMeetingsRequest, caller: Caller
    ) -> competitions_pb2.ListMeetingsResponse:
        """List the cross-table."""
        page = await self._competitions.list_meetings(
            caller, request.competition, page_request(request)
        )
        return competitions_pb2.ListMeetingsResponse(
            meetings=[
                competitions_pb2.Meeting(
                    version=one, opponent=other, score=each.score, match_count=each.matches
                )
                for (one, other), each in page.entries
            ],
            next_page_token=page.next_token,
        )

    # Tournaments.

    async def plan_tournament(
        self, request: competitions_pb2.PlanTournamentRequest, caller: Caller
    ) -> competitions_pb2.PlanTournamentResponse:
        """Say what a tournament would take."""
        found, measured = await self._tournaments.plan(
            caller,
            rules_of(request.rules),
            entrants=request.entrant_count,
            slots=request.slots if request.HasField("slots") else None,
        )
        return competitions_pb2.PlanTournamentResponse(
            forecast=forecast_message(found, based_on=measured.matches)
        )

    async def create_tournament(
        self, request: competitions_pb2.CreateTournamentRequest, caller: Caller
    ) -> competitions_pb2.CreateTournamentResponse:
        """Create a tournament."""
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
        return competitions_pb2.CreateTournamentResponse(
            competition=competition_message(view), left_out=left_out
        )

    async def open_tournament(
        self, request: competitions_pb2.OpenTournamentRequest, caller: Caller
    ) -> competitions_pb2.OpenTournamentResponse:
        """Let owners enter their own bots."""
        view = await self._tournaments.open(caller, request.competition)
        return competitions_pb2.OpenTournamentResponse(competition=competition_message(view))

    async def start_tournament(
        self, request: competitions_pb2.StartTournamentRequest, caller: Caller
    ) -> competitions_pb2.StartTournamentResponse:
        """Start a tournament."""
        view, left_out = await self._tournaments.start(caller, request.competition)
        return competitions_pb2.StartTournamentResponse(
            competition=competition_message(view), left_out=left_out
        )

    # Coming and going, going on and stopping.

    async def enter_competition(
        self, request: competitions_pb2.EnterCompetitionRequest, caller: Caller
    ) -> competitions_pb2.EnterCompetitionResponse:
        """Enter a bot."""
        is_new = await self._competitions.enter(caller, request.competition, request.entry)
        return competitions_pb2.EnterCompetitionResponse(is_new=is_new)

    async def leave_competition(
        self, request: competitions_pb2.LeaveCompetitionRequest, caller: Caller
    ) -> competitions_pb2.LeaveCompetitionResponse:
        """Take a bot out."""
        await self._competitions.leave(caller, request.competition, request.entry)
        return competitions_pb2.LeaveCompetitionResponse()

    async def pause_competition(
        self, request: competitions_pb2.PauseCompetitionRequest, caller: Caller
    ) -> competitions_pb2.PauseCompetitionResponse:
        """Begin no more matches or seasons."""
        state = await self._competitions.pause(caller, request.competition)
        return competitions_pb2.PauseCompetitionResponse(state=STATES[state])

    async def resume_competition(
        self, request: competitions_pb2.ResumeCompetitionRequest, caller: Caller
    ) -> competitions_pb2.ResumeCompetitionResponse:
        """Go on."""
        state = await self._competitions.resume(caller, request.competition)
        return competitions_pb2.ResumeCompetitionResponse(state=STATES[state])

    async def cancel_competition(
        self, request: competitions_pb2.CancelCompetitionRequest, caller: Caller
    ) -> competitions_pb2.CancelCompetitionResponse:
        """End without a winner."""
        state = await self._competitions.cancel(caller, request.competition)
        return competitions_pb2.CancelCompetitionResponse(state=STATES[state])

    # Leagues.

    async def create_league(
        self, request: competitions_pb2.CreateLeagueRequest, caller: Caller
    ) -> competitions_pb2.CreateLeagueResponse:
        """Create a league."""
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
        return competitions_pb2.CreateLeagueResponse(league=league_message(league))

    async def list_leagues(
        self, request: competitions_pb2.ListLeaguesRequest, caller: Caller
    ) -> competitions_pb2.ListLeaguesResponse:
        """List the leagues."""
        del request
        leagues = await self._leagues.list_leagues(caller)
        return competitions_pb2.ListLeaguesResponse(leagues=map(league_message, leagues))

    async def get_league(
        self, request: competitions_pb2.GetLeagueRequest, caller: Caller
    ) -> competitions_pb2.GetLeagueResponse:
        """Return a league."""
        view = await self._leagues.get_league(caller, request.league)
        return competitions_pb2.GetLeagueResponse(
            league=league_message(view.league),
            bots=view.bots,
            seasons=[season_message(*each) for each in enumerate(view.seasons, start=1)],
        )

    async def call_season(
        self, request: competitions_pb2.CallSeasonRequest, caller: Caller
    ) -> competitions_pb2.CallSeasonResponse:
        """Make the next season due."""
        league = await self._leagues.call_season(caller, request.league)
        return competitions_pb2.CallSeasonResponse(league=league_message(league))
