"""Calls about tournaments, leagues and their seasons."""

from __future__ import annotations

import asyncio
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from arena.api import pages
from arena.api.competition_messages import (
    STATES,
    competition_message,
    forecast_message,
    league_message,
    match_message,
    round_message,
    rules_of,
    standings_message,
)
from arena.api.gate import call, has_scope
from arena.competitions import entry as competition_entry
from arena.competitions.forecast import forecast, measure
from arena.competitions.leagues import LeagueRules, LeagueStore
from arena.competitions.records import LEAGUE, TOURNAMENT, CompetitionState
from arena.competitions.report import reports
from arena.competitions.store import CompetitionStore
from arena.db.presence import Workers
from arena.errors import DeniedError, InputError, NotFoundError
from arena.formats.model import Competition
from arena.owners.tokens import Scope
from arena.v1 import competitions_pb2
from arena.version_id import bot_of, is_version

if TYPE_CHECKING:
    from arena.api.backend import Backend
    from arena.competitions.records import CompetitionRecord, CompetitionRules
    from arena.competitions.report import StandingsReport
    from arena.competitions.results import CompetitionResult

    _Known = tuple[tuple[str, int, int], list[StandingsReport], dict[str, CompetitionResult]]

MOST_ENTRANTS: Final = 1024
"""Of a tournament that is forecast: the playing through takes time."""

_KNOWN: Final = 16
"""Competitions whose standings are kept in memory."""

_LATEST: Final = 500
_ID: Final = re.compile(r"t-[a-z0-9_-]+|l-[a-z0-9_-]+(\.s[1-9][0-9]*)?")


class CompetitionCalls:
    """Answers calls about competitions.

    Args:
        backend: the arena.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._competitions = CompetitionStore(backend.redis)
        self._leagues = LeagueStore(backend.redis)
        self._known: dict[str, _Known] = {}

    # Reading.

    @call(is_public=True)
    async def list_competitions(
        self, request: competitions_pb2.ListCompetitionsRequest
    ) -> competitions_pb2.ListCompetitionsResponse:
        """List tournaments and seasons."""
        size, of = pages.page_size(request.page_size), ("competitions",)
        start = pages.place(request.page_token, str, of=of) or ""
        ids = [each for each in await self._competitions.ids() if each >= start]
        found = [await self._competitions.find(each) for each in ids[:size]]
        return competitions_pb2.ListCompetitionsResponse(
            competitions=[await self._message(each) for each in found if each is not None],
            next_page_token=pages.page_token(ids[size], of=of) if len(ids) > size else "",
        )

    @call(is_public=True)
    async def get_competition(
        self, request: competitions_pb2.GetCompetitionRequest
    ) -> competitions_pb2.GetCompetitionResponse:
        """Return a competition with its standings."""
        record = await self._get(request.competition)
        entries = [] if record.divisions else await self._competitions.entries(record.id)
        found, _ = await self._reports(record)
        rounds = await self._competitions.rounds(record.id)
        ordered = sorted(rounds.values(), key=lambda each: (each.created_time, each.key))
        return competitions_pb2.GetCompetitionResponse(
            competition=competition_message(record, entries=len(entries)),
            entries=entries,
            standings=[standings_message(each, record) for each in found],
            rounds=map(round_message, ordered),
        )

    @call(is_public=True)
    async def list_competition_matches(
        self, request: competitions_pb2.ListCompetitionMatchesRequest
    ) -> competitions_pb2.ListCompetitionMatchesResponse:
        """List the matches that are known by now."""
        record = await self._get(request.competition)
        size, of = pages.page_size(request.page_size), ("matches", record.id)
        start = max(0, pages.place(request.page_token, int, of=of) or 0)
        found, results = await self._reports(record)
        matches = [match for report in found for match in report.matches]
        more = len(matches) > start + size
        return competitions_pb2.ListCompetitionMatchesResponse(
            matches=[
                match_message(record, match, results.get(match.id))
                for match in matches[start : start + size]
            ],
            next_page_token=pages.page_token(start + size, of=of) if more else "",
        )

    @call(is_public=True)
    async def list_meetings(
        self, request: competitions_pb2.ListMeetingsRequest
    ) -> competitions_pb2.ListMeetingsResponse:
        """List the cross-table."""
        record = await self._get(request.competition)
        size, of = pages.page_size(request.page_size), ("meetings", record.id)
        start = max(0, pages.place(request.page_token, int, of=of) or 0)
        found, _ = await self._reports(record)
        meetings = [pair for report in found for pair in sorted(report.meetings.items())]
        more = len(meetings) > start + size
        return competitions_pb2.ListMeetingsResponse(
            meetings=[
                competitions_pb2.Meeting(
                    version=one, opponent=other, score=each.score, match_count=each.matches
                )
                for (one, other), each in islice(meetings, start, start + size)
            ],
            next_page_token=pages.page_token(start + size, of=of) if more else "",
        )

    @call(scope=Scope.OPERATOR)
    async def plan_tournament(
        self, request: competitions_pb2.PlanTournamentRequest
    ) -> competitions_pb2.PlanTournamentResponse:
        """Say what a tournament would take."""
        if not 2 <= request.entrant_count <= MOST_ENTRANTS:
            raise InputError(f"entrant_count is 2 to {MOST_ENTRANTS}, not {request.entrant_count}")
        rules = await self._rules(request.rules, lot="")
        seeds = tuple(f"seed-{number}" for number in range(request.entrant_count))
        competition = Competition("t-plan", rules.format, seeds, rules.options)
        measured = measure(await self._backend.queues.ladder(rules.ruleset).latest(_LATEST))
        slots = await Workers(self._backend.redis).slots()
        found = await asyncio.to_thread(
            forecast, [competition], rotations=rules.rotations, slots=slots, measured=measured
        )
        return competitions_pb2.PlanTournamentResponse(
            forecast=forecast_message(found, based_on=measured.matches)
        )

    # Tournaments.

    @call(scope=Scope.OPERATOR)
    async def create_tournament(
        self, request: competitions_pb2.CreateTournamentRequest
    ) -> competitions_pb2.CreateTournamentResponse:
        """Create a tournament."""
        record = await competition_entry.create(
            self._backend.arena,
            f"{TOURNAMENT}-{request.name}",
            await self._rules(request.rules, lot=request.name),
            request.entries,
            is_open=request.open,
        )
        return competitions_pb2.CreateTournamentResponse(competition=await self._message(record))

    @call(scope=Scope.OPERATOR)
    async def open_tournament(
        self, request: competitions_pb2.OpenTournamentRequest
    ) -> competitions_pb2.OpenTournamentResponse:
        """Let owners enter their own bots."""
        record = await self._get(request.competition)
        await self._competitions.open(record.id)
        found = await self._competitions.get(record.id)
        return competitions_pb2.OpenTournamentResponse(competition=await self._message(found))

    @call(scope=Scope.OPERATOR)
    async def start_tournament(
        self, request: competitions_pb2.StartTournamentRequest
    ) -> competitions_pb2.StartTournamentResponse:
        """Start a tournament."""
        record = await self._get(request.competition)
        started, frozen = await competition_entry.start(self._backend.arena, record.id)
        return competitions_pb2.StartTournamentResponse(
            competition=competition_message(started), left_out=frozen.left_out
        )

    # Coming and going.

    @call()
    async def enter_competition(
        self, request: competitions_pb2.EnterCompetitionRequest
    ) -> competitions_pb2.EnterCompetitionResponse:
        """Enter a bot."""
        as_operator = await self._require_own(request.entry)
        arena = self._backend.arena
        if _is_league(request.competition):
            league = await self._leagues.get(request.competition)
            await competition_entry.check_entry(arena, request.entry, league.rules.matches)
            is_new = await self._leagues.enter(league.id, request.entry)
        else:
            record = await self._get(request.competition)
            await competition_entry.check_entry(arena, request.entry, record.rules)
            is_new = await self._competitions.enter(
                record.id, request.entry, as_operator=as_operator
            )
        return competitions_pb2.EnterCompetitionResponse(is_new=is_new)

    @call()
    async def leave_competition(
        self, request: competitions_pb2.LeaveCompetitionRequest
    ) -> competitions_pb2.LeaveCompetitionResponse:
        """Take a bot out."""
        await self._require_own(request.entry)
        if _is_league(request.competition):
            await self._leagues.leave(request.competition, request.entry)
        else:
            record = await self._get(request.competition)
            await self._competitions.leave(record.id, request.entry)
        return competitions_pb2.LeaveCompetitionResponse()

    async def _require_own(self, entry: str) -> bool:
        """Return whether an operator calls.

        Raises:
            DeniedError: nobody else may enter another owner's bot, or take it out.
        """
        if has_scope(Scope.OPERATOR):
            return True
        if not has_scope(Scope.AUTHOR):
            raise DeniedError(
                "this call needs a token with the scope author or operator", reason="SCOPE_MISSING"
            )
        bot = await self._backend.own_bot(bot_of(entry))
        if is_version(entry) and entry != bot.active_version:
            raise DeniedError("only operators enter other versions than the active one")
        return False

    # Going on and stopping.

    @call(scope=Scope.OPERATOR)
    async def pause_competition(
        self, request: competitions_pb2.PauseCompetitionRequest
    ) -> competitions_pb2.PauseCompetitionResponse:
        """Begin no more matches or seasons."""
        state = await self._change(request.competition, "pause")
        return competitions_pb2.PauseCompetitionResponse(state=STATES[state])

    @call(scope=Scope.OPERATOR)
    async def resume_competition(
        self, request: competitions_pb2.ResumeCompetitionRequest
    ) -> competitions_pb2.ResumeCompetitionResponse:
        """Go on."""
        state = await self._change(request.competition, "resume")
        return competitions_pb2.ResumeCompetitionResponse(state=STATES[state])

    @call(scope=Scope.OPERATOR)
    async def cancel_competition(
        self, request: competitions_pb2.CancelCompetitionRequest
    ) -> competitions_pb2.CancelCompetitionResponse:
        """End without a winner."""
        state = await self._change(request.competition, "cancel")
        return competitions_pb2.CancelCompetitionResponse(state=STATES[state])

    async def _change(self, competition: str, verb: str) -> CompetitionState:
        if _is_league(competition):
            league = await competition_entry.change_league(self._backend.arena, competition, verb)
            return league.state
        record = await self._get(competition)
        await getattr(self._competitions, verb)(record.id)
        return (await self._competitions.get(record.id)).state

    # Leagues.

    @call(scope=Scope.OPERATOR)
    async def create_league(
        self, request: competitions_pb2.CreateLeagueRequest
    ) -> competitions_pb2.CreateLeagueResponse:
        """Create a league."""
        rules = LeagueRules(
            matches=await self._rules(request.rules, lot=request.name),
            division=request.division_size,
            moves=request.moves,
            schedule=request.schedule,
            seasons=request.season_limit,
        )
        league = await competition_entry.create_league(
            self._backend.arena, f"{LEAGUE}-{request.name}", rules, request.bots
        )
        return competitions_pb2.CreateLeagueResponse(league=league_message(league))

    @call(is_public=True)
    async def list_leagues(
        self, request: competitions_pb2.ListLeaguesRequest
    ) -> competitions_pb2.ListLeaguesResponse:
        """List the leagues."""
        del request
        leagues = await self._leagues.all()
        return competitions_pb2.ListLeaguesResponse(leagues=map(league_message, leagues))

    @call(is_public=True)
    async def get_league(
        self, request: competitions_pb2.GetLeagueRequest
    ) -> competitions_pb2.GetLeagueResponse:
        """Return a league."""
        league = await self._leagues.get(_checked(request.league))
        bots = await self._leagues.entries(league.id)
        return competitions_pb2.GetLeagueResponse(league=league_message(league), bots=bots)

    @call(scope=Scope.OPERATOR)
    async def call_season(
        self, request: competitions_pb2.CallSeasonRequest
    ) -> competitions_pb2.CallSeasonResponse:
        """Make the next season due."""
        league = _checked(request.league)
        await self._leagues.call_season(league)
        found = await self._leagues.get(league)
        return competitions_pb2.CallSeasonResponse(league=league_message(found))

    # What several calls need.

    async def _rules(
        self, message: competitions_pb2.CompetitionRules, *, lot: str
    ) -> CompetitionRules:
        ruleset = await self._backend.ruleset(message.ruleset)
        return rules_of(message, ruleset, self._backend.settings.ladder(ruleset), lot=lot)

    async def _get(self, competition: str) -> CompetitionRecord:
        return await self._competitions.get(_checked(competition))

    async def _message(self, record: CompetitionRecord) -> competitions_pb2.Competition:
        entries = 0 if record.divisions else len(await self._competitions.entries(record.id))
        return competition_message(record, entries=entries)

    async def _reports(
        self, record: CompetitionRecord
    ) -> tuple[list[StandingsReport], dict[str, CompetitionResult]]:
        if not record.divisions:
            return [], {}
        # Anybody may ask, and what many results say takes time: once for each new result.
        played = await self._competitions.played(record.id)
        mark = (record.state.value, played, len(record.spent))
        known = self._known.get(record.id)
        if known is None or known[0] != mark:
            results = await self._competitions.results(record.id)
            found = await asyncio.to_thread(reports, record, results)
            known = mark, found, results
            self._known.pop(record.id, None)
            self._known[record.id] = known
            if len(self._known) > _KNOWN:
                del self._known[next(iter(self._known))]
        return known[1], known[2]


def _is_league(competition: str) -> bool:
    return _checked(competition).startswith(f"{LEAGUE}-") and "." not in competition


def _checked(competition: str) -> str:
    """Return an id that may be one of a competition or a league.

    Raises:
        NotFoundError: it cannot be one.
    """
    if not _ID.fullmatch(competition):
        raise NotFoundError(
            f"there is no competition {competition!r}; ids are such as t-cup, l-main.s3, l-main"
        )
    return competition
