"""Caches a ladder's bots in the scheduler's memory, and updates them from registry and log."""

from __future__ import annotations

import asyncio
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from arena.bots.registry import BotState
from arena.db.keys import arena_key
from arena.queue.log_entries import Annulled, Entered, LogEntry, LoggedResult
from arena.ratings.elo import START
from arena.scheduler.candidates import Candidate
from arena.scheduler.pairing import Pool

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.bots.registry import Bot
    from arena.context import Arena
    from arena.queue.ladder import Ladder
    from arena.queue.strengths import LadderStrengths

_BOTS: Final = arena_key("bots")
SLICE: Final = 2_000
"""Bots of the registry that are looked at in one refresh."""

TAIL: Final = 20_000
"""Entries of the log that are read when a scheduler becomes active: who met whom, and when."""


class Roster:
    """A cache of the registry's bots, refreshed in slices, so that no refresh takes long."""

    def __init__(self, arena: Arena) -> None:
        self._redis = arena.redis
        self._registry = arena.registry
        self._bots: dict[str, Bot] = {}
        # The number of each bot's latest change, in ascending order.
        self._changes: dict[str, int] = {}
        self._count = 0
        self._seen: dict[bytes, int] = {}
        self._cursor = 0
        self._loaded = False

    def get(self, name: str) -> Bot | None:
        """Return a bot as it was last seen."""
        return self._bots.get(name)

    def changes(self, since: int = 0) -> tuple[int, list[str]]:
        """Return how often a bot has changed up to now, and which did after ``since`` changes."""
        names = takewhile(lambda name: self._changes[name] > since, reversed(self._changes))
        return self._count, list(names)[::-1]

    async def refresh(self) -> None:
        """Look at the next slice; at all of them the first time."""
        while True:
            rows: Any
            cursor, rows = await self._redis.hscan(_BOTS, self._cursor, count=SLICE)
            seen = {name: hash(text) for name, text in rows.items()}
            changed = [name.decode() for name in seen if self._seen.get(name) != seen[name]]
            for name, bot in (await self._registry.bots_named(changed)).items():
                self._bots[name] = bot
                self._count += 1
                self._changes.pop(name, None)
                self._changes[name] = self._count
            # Only now: what could not be read is looked at again.
            self._seen.update(seen)
            self._cursor = cursor
            self._loaded = self._loaded or cursor == 0
            if self._loaded:
                return


class LadderPool:
    """The pool of one ladder's active bots, by its ratings and its log."""

    def __init__(self, ladder: Ladder, roster: Roster, strengths: LadderStrengths) -> None:
        self.pool = Pool()
        self._ladder = ladder
        self._roster = roster
        self._strengths = strengths
        self._noted = 0
        self._ratings: dict[str, int] = {}
        self._games: dict[str, int] = {}
        self._sequence: int | None = None
        self._is_measured = True
        self._under_way: set[str] = set()

    async def update(self) -> None:
        """Apply new log entries, and changes of who may play."""
        if self._sequence is None:
            await self._load()
        else:
            await self._follow()
        self._noted, changed = self._roster.changes(self._noted)
        for name in changed:
            self._enrol(name)

    def note_scheduled(self, match_id: str, bots: tuple[str, ...], *, when: float) -> None:
        """Count a match that was queued, so that its result is not counted once more."""
        self._under_way.add(match_id)
        self.pool.note_match(bots, when=when)

    async def measure(self) -> bool:
        """Fit and publish the batch strengths, when results have come; they give uncertainties."""
        if await self._strengths.update():
            self._is_measured = False
        if self._is_measured:
            return False
        column = await asyncio.to_thread(self._strengths.column)
        await self._strengths.publish(column)
        self._is_measured = True
        for bot in self.pool.names():
            known = column.get(bot)
            if known is not None and known.strength is not None:
                self.pool.know(bot, known.strength.deviation)
        return True

    # From Redis.

    async def _load(self) -> None:
        snapshot = await self._ladder.snapshot()
        tail = [entry async for entry in self._tail(snapshot.sequence)]
        self._ratings, self._games = dict(snapshot.ratings), dict(snapshot.games)
        self._sequence = snapshot.sequence
        self._noted, names = self._roster.changes()
        bots = map(self._roster.get, names)
        self.pool.fill(self._candidate(bot) for bot in bots if bot and self._plays(bot))
        for entry in tail:
            if isinstance(entry, LoggedResult):
                self.pool.note_match(entry.bots, when=entry.time.timestamp(), count=0)

    async def _tail(self, last: int) -> AsyncIterator[LogEntry]:
        after = max(0, last - TAIL)
        while page := await self._ladder.entries(after=after):
            for entry in page:
                if entry.sequence <= last:
                    yield entry
            after = page[-1].sequence

    async def _follow(self) -> None:
        assert self._sequence is not None
        while page := await self._ladder.entries(after=self._sequence):
            self._sequence = page[-1].sequence
            if any(isinstance(entry, Annulled) for entry in page):
                # Every later rating may be another one now.
                self._sequence = None
                await self._load()
                return
            for entry in page:
                self._apply(entry)

    def _apply(self, entry: LogEntry) -> None:
        if isinstance(entry, Entered):
            self._ratings.setdefault(entry.bot, START)
        elif isinstance(entry, LoggedResult):
            for bot, change in zip(entry.bots, entry.changes, strict=False):
                self._ratings[bot] = self._ratings.get(bot, START) + change
                self.pool.rate(bot, self._ratings[bot])
            if entry.rated:
                for version in entry.entrants:
                    self._games[version] = self._games.get(version, 0) + 1
            if entry.match_id in self._under_way:
                self._under_way.discard(entry.match_id)
            elif entry.rated:
                self.pool.note_match(entry.bots, when=entry.time.timestamp())

    def _plays(self, bot: Bot) -> bool:
        return bot.state is BotState.ACTIVE and self._ladder.ruleset in bot.rulesets

    def _enrol(self, name: str) -> None:
        bot, before = self._roster.get(name), self.pool.get(name)
        if bot is None or not self._plays(bot):
            self.pool.remove(name)
        elif before is None or before.version != bot.active_version or before.house != bot.house:
            self.pool.put(self._candidate(bot, before))

    def _candidate(self, bot: Bot, before: Candidate | None = None) -> Candidate:
        candidate = Candidate(
            bot=bot.name,
            version=bot.active_version,
            owner=bot.owner,
            house=bot.house,
            rating=self._ratings.get(bot.name, START),
            matches=self._games.get(bot.active_version, 0),
        )
        if before is not None:
            candidate.last = before.last
            candidate.opponents, candidate.seats = before.opponents, before.seats
        return candidate
