"""Creates and reads leagues, and calls for their seasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.backend import competitions as shared
from arena.backend.access import Service, authorized
from arena.competitions import entry as competition_entry
from arena.competitions.leagues import LeagueRules
from arena.competitions.records import LEAGUE
from arena.owners.tokens import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.backend.access import Caller
    from arena.backend.competitions import RulesRequest
    from arena.competitions.leagues import LeagueRecord
    from arena.competitions.records import CompetitionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueRequest:
    """A league as it is asked for.

    Attributes:
        schedule: when seasons begin; see `LeagueRules`.
        seasons: how many there are; 0 for no end.
        division: entrants of one in the first season; 0 for up to 16.
        moves: how many go up, and how many down, between divisions.
    """

    matches: RulesRequest
    schedule: str = ""
    seasons: int = 0
    division: int = 0
    moves: int = 0


@dataclass(frozen=True, slots=True)
class LeagueView:
    """A league, the bots that play from the next season on, and the seasons that have begun."""

    league: LeagueRecord
    bots: Sequence[str]
    seasons: Sequence[CompetitionRecord]


class Leagues(Service):
    """Creates and reads leagues."""

    @authorized(Scope.OPERATOR)
    async def create(
        self,
        _caller: Caller,
        name: str,
        league: LeagueRequest,
        bots: Sequence[str] = (),
        *,
        everybody: bool = False,
        seed: str = "",
    ) -> LeagueRecord:
        """Create a league and enter bots, all in one step; see `Tournaments.create`."""
        matches = await shared.settled_rules(self._backend, league.matches, lot=name)
        return await competition_entry.create_league(
            self._backend,
            f"{LEAGUE}-{name}",
            LeagueRules(
                matches=matches,
                division=league.division,
                moves=league.moves,
                schedule=league.schedule,
                seasons=league.seasons,
            ),
            await shared.with_everybody(self._backend, bots, matches.ruleset, everybody=everybody),
            seed=shared.seed_bytes(seed),
        )

    @authorized(is_public=True)
    async def list_leagues(self, _caller: Caller) -> list[LeagueRecord]:
        """Return the leagues by id."""
        return await self._backend.leagues.all()

    @authorized(is_public=True)
    async def get_league(self, _caller: Caller, league_id: str) -> LeagueView:
        """Return a league."""
        league = await self._backend.leagues.get(shared.checked_id(league_id))
        seasons = [
            await self._backend.competitions.find(league.season_id(number))
            for number in range(1, league.season + 1)
        ]
        bots = await self._backend.leagues.entries(league.id)
        return LeagueView(league, bots, [each for each in seasons if each is not None])

    @authorized(Scope.OPERATOR)
    async def call_season(self, _caller: Caller, league_id: str) -> LeagueRecord:
        """Make the next season due now; it begins when the present one is over."""
        await self._backend.leagues.call_season(shared.checked_id(league_id))
        return await self._backend.leagues.get(league_id)
