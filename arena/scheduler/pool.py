"""A ladder's bots in the scheduler's memory, kept up to date from the registry and the log."""

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
    """The registry's bots, followed in slices, so that a large one costs no more at a time.

    Args:
        arena: whose bots.
    """

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
        """Look at the next slice; at all bots the first time."""
        if not self._loaded:
            await self._load()
            return
        rows: Any
        cursor, rows = await self._redis.hscan(_BOTS, self._cursor, count=SLICE)
        for name, text in rows.items():
            if self._seen.get(name) != hash(text):
                self._note(await self._registry.bot(name.decode()))
                # Only now: what could not be read is looked at again.
                self._seen[name] = hash(text)
        self._cursor = cursor

    async def _load(self) -> None:
        seen: dict[bytes, int] = {}
        cursor = 0
        while True:
            rows: Any
            cursor, rows = await self._redis.hscan(_BOTS, cursor, count=SLICE)
            seen.update((name, hash(text)) for name, text in rows.items())
            if cursor == 0:
                break
        for bot in await self._registry.bots():
            self._note(bot)
        self._seen, self._loaded = seen, True

    def _note(self, bot: Bot) -> None:
        self._bots[bot.name] = bot
        self._count += 1
        self._changes.pop(bot.name, None)
        self._changes[bot.name] = self._count


class LadderPool:
    """The pool of one ladder.

    Args:
        ladder: its ratings and its log.
        roster: who may play.
        strengths: what its results say.

    Attributes:
        pool: its active bots.
    """

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
        """Count a match that was queued; its result is then not counted once more."""
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
                self.pool.recall_match(entry.bots, when=entry.time.timestamp())

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
