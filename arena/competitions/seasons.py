"""Begins the seasons of leagues when they are due; the seasons then run as competitions do."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import structlog

from arena.competitions.entry import Frozen, freeze
from arena.competitions.leagues import AT_ONCE, LeagueRecord, LeagueStore
from arena.competitions.records import CompetitionState
from arena.competitions.store import CompetitionStore
from arena.errors import InputError, PreconditionError
from arena.formats import league as formats
from arena.version_id import bot_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.competitions.records import CompetitionRecord
    from arena.context import Arena

_OVER = {CompetitionState.ENDED, CompetitionState.CANCELLED}


class LeagueRunner:
    """Begins seasons, in the active scheduler only.

    Args:
        arena: whose leagues.
        clock: tells the time, UTC.
    """

    def __init__(
        self, arena: Arena, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._arena = arena
        self._leagues = LeagueStore(arena.redis)
        self._competitions = CompetitionStore(arena.redis)
        self.clock = clock
        self._log: Any = structlog.get_logger()

    async def begin_due(self, epoch: int) -> None:
        """Begin every season that is due.

        Raises:
            StaleEpochError: another scheduler has become active.
        """
        for league in await self._leagues.all():
            if league.state is CompetitionState.RUNNING:
                await self.begin_or_end(league, epoch)

    async def begin_or_end(self, league: LeagueRecord, epoch: int) -> None:
        """Begin a league's next season when it is due, or end the league after its last one.

        Args:
            league: as it was seen, running; one that was paused or cancelled since is left alone.
            epoch: of the right to schedule.

        Raises:
            StaleEpochError: another scheduler has become active.
        """
        try:
            await self._go_on(league, epoch)
        except PreconditionError as error:
            self._log.info("league stopped meanwhile", league=league.id, reason=str(error))
            await self._stop(league)

    async def _stop(self, league: LeagueRecord) -> None:
        """Pause or cancel, as its league was, a season that has begun and was not counted."""
        season = await self._competitions.find(league.season_id(league.season + 1))
        if season is not None and season.state is CompetitionState.RUNNING:
            state = (await self._leagues.get(league.id)).state
            if state is CompetitionState.PAUSED:
                await self._competitions.pause(season.id)
            elif state is CompetitionState.CANCELLED:
                await self._competitions.cancel(season.id)

    async def _go_on(self, league: LeagueRecord, epoch: int) -> None:
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
        number = league.season + 1
        note = ""
        begun = await self._competitions.find(league.season_id(number))
        if begun is None:
            note = await self._create(league, last, number, epoch)
        elif begun.state is CompetitionState.PAUSED:
            await self._competitions.resume(begun.id)
        if note:
            await self._wait(league, f"season {number} could not begin: {note}", epoch)
            return
        due = league.rules.next_start(self.clock())
        await self._leagues.advance(league.id, season=number, next_time=due, note="", epoch=epoch)

    async def _wait(self, league: LeagueRecord, note: str, epoch: int) -> None:
        """Note why a season did not begin, and when it is tried again."""
        if note == league.note and not league.called:
            return
        self._log.warning("season not begun", league=league.id, reason=note)
        at_once = league.rules.schedule == AT_ONCE
        due = league.next_time if at_once else league.rules.next_start(self.clock())
        await self._leagues.advance(
            league.id, season=league.season, next_time=due, note=note, epoch=epoch
        )

    async def _create(
        self, league: LeagueRecord, last: CompetitionRecord | None, number: int, epoch: int
    ) -> str:
        """Create a season; return why that cannot be, "" when it is done."""
        season = league.season_id(number)
        rules = league.rules.matches
        entries = await self._leagues.entries(league.id)
        frozen = await freeze(self._arena, entries, rules)
        if len(frozen.versions) < league.wanted:
            return f"it takes {league.wanted} bots, and {len(frozen.versions)} can play"
        divisions, note = _divisions(league, last, frozen)
        try:
            formats.season(league.id, number, divisions, options=rules.options)
        except InputError as error:
            return str(error)
        await self._arena.queues.open_ladder(rules.ruleset)
        ends = await self._arena.queues.ladder(rules.ruleset).ends()
        await self._leagues.require_running(league.id, epoch=epoch)
        away = [f"{entry} is left out: {why}" for entry, why in frozen.left_out.items()]
        await self._competitions.create(
            season,
            rules,
            state=CompetitionState.RUNNING,
            seed=hmac.digest(league.seed, str(number).encode(), hashlib.sha256),
            divisions=divisions,
            cursor=ends.sequence,
            note="; ".join([*([note] if note else []), *away]),
        )
        self._log.info("season began", season=season, left_out=frozen.left_out)
        return ""


def _divisions(
    league: LeagueRecord, last: CompetitionRecord | None, frozen: Frozen
) -> tuple[list[list[str]], str]:
    """Return the versions of the next season by division, the strongest first.

    Beside them, in a sentence, what was changed for their sizes' sake.
    """
    version_of = {version.bot: version for version in frozen.versions}
    bots = list(version_of)
    table_size = league.rules.matches.options.table_size
    if last is None:
        size = league.rules.division
        before = cut = formats.divisions(bots)
        if size and bots:
            before = [bots[at : at + size] for at in range(0, len(bots), size)]
            # What does not fill a division joins the last one.
            full = max(1, len(bots) // size)
            cut = [*before[: full - 1], bots[(full - 1) * size :]]
    else:
        # A season that was cancelled has no ranking: everybody stays where they were.
        ranked = last.ranking or last.divisions
        old = [[bot_of(version) for version in division] for division in ranked]
        known = {bot for division in old for bot in division}
        before = formats.moved(
            old,
            moves=league.rules.moves if last.ranking else 0,
            leavers=known - version_of.keys(),
            newcomers=[bot for bot in bots if bot not in known],
        )
        cut = formats.levelled(before, table_size=table_size)
    return [[version_of[bot] for bot in division] for division in cut], formats.levelling(
        before, cut
    )
