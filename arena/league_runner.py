"""Begins the seasons of leagues when they are due; the seasons then run as competitions do."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import structlog

from arena.competition_entry import Frozen, freeze
from arena.competition_records import CompetitionState
from arena.competitions import league as formats
from arena.errors import InputError
from arena.leagues import AT_ONCE, BY_HAND, LeagueRecord, LeagueStore, next_start

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.competition_records import CompetitionRecord
    from arena.competition_store import CompetitionStore
    from arena.queue.queues import Queues
    from arena.store import Store

_OVER = {CompetitionState.ENDED, CompetitionState.CANCELLED}


class LeagueRunner:
    """Begins seasons; only the active scheduler does.

    Args:
        leagues: all leagues.
        competitions: where their seasons go.
        store: the registry of bots.
        queues: the ladders.
        clock: tells the time, UTC.
    """

    def __init__(
        self,
        leagues: LeagueStore,
        competitions: CompetitionStore,
        *,
        store: Store,
        queues: Queues,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._leagues = leagues
        self._competitions = competitions
        self._store = store
        self._queues = queues
        self.clock = clock
        self._log: Any = structlog.get_logger()

    async def look(self, epoch: int) -> None:
        """Begin every season that is due.

        Raises:
            StaleEpochError: another scheduler has become active.
        """
        for league in await self._leagues.all():
            if league.state is CompetitionState.RUNNING:
                await self._look_at(league, epoch)

    async def _look_at(self, league: LeagueRecord, epoch: int) -> None:
        last = await self._competitions.find(league.season_id()) if league.season else None
        if last is not None and last.state not in _OVER:
            return
        if league.rules.seasons and league.season >= league.rules.seasons:
            await self._leagues.end(league.id, epoch=epoch)
            self._log.info("league ended", league=league.id)
        elif league.next_time is not None and league.next_time <= self.clock():
            await self._begin(league, last, epoch)

    async def _begin(
        self, league: LeagueRecord, last: CompetitionRecord | None, epoch: int
    ) -> None:
        """Create the season, then count it; whoever follows in between finds it and counts it."""
        number, note = league.season + 1, ""
        rules = league.rules.matches
        season = league.season_id(number)
        if await self._competitions.find(season) is None:
            entries = await self._leagues.entries(league.id)
            frozen = await freeze(entries, rules, store=self._store, queues=self._queues)
            divisions = _divisions(league, last, frozen)
            try:
                formats.season(league.id, number, divisions, options=rules.options)
            except InputError as error:
                number, note = league.season, f"season {number} could not begin: {error}"
                self._log.warning("season not begun", league=league.id, reason=str(error))
            else:
                await self._queues.open(rules.ruleset)
                ends = await self._queues.ladder(rules.ruleset).ends()
                await self._competitions.create(
                    season,
                    rules,
                    state=CompetitionState.RUNNING,
                    seed=hmac.digest(league.seed, str(number).encode(), hashlib.sha256),
                    divisions=divisions,
                    cursor=ends.sequence,
                )
                self._log.info("season began", season=season, left_out=frozen.left_out)
        await self._leagues.advance(
            league.id, season=number, next_time=self._after(league, note), note=note, epoch=epoch
        )

    def _after(self, league: LeagueRecord, note: str) -> datetime | None:
        """Return when the season after the one that has begun is due."""
        schedule = league.rules.schedule
        if schedule == BY_HAND or (schedule == AT_ONCE and note):
            return None
        now = self.clock()
        return now if schedule == AT_ONCE else next_start(schedule, after=now)


def _divisions(
    league: LeagueRecord, last: CompetitionRecord | None, frozen: Frozen
) -> list[list[str]]:
    """Return the versions of the next season by division, the strongest first."""
    version_of = {version.partition("@")[0]: version for version in frozen.versions}
    bots = list(version_of)
    if last is None:
        size = league.rules.division
        if size and bots:
            # What does not fill a division joins the last one.
            count = max(1, len(bots) // size)
            cut = [bots[at * size : (at + 1) * size] for at in range(count)]
            cut[-1] = bots[(count - 1) * size :]
        else:
            cut = formats.divisions(bots)
    else:
        # A season that was cancelled has no ranking: everybody stays where they were.
        ranked = last.ranking or last.divisions
        before = [[version.partition("@")[0] for version in division] for division in ranked]
        known = {bot for division in before for bot in division}
        cut = formats.next_divisions(
            before,
            moves=league.rules.moves if last.ranking else 0,
            leavers=known - version_of.keys(),
            newcomers=[bot for bot in bots if bot not in known],
        )
    return [[version_of[bot] for bot in division] for division in cut]
