"""Follows the ladders' logs: suspends versions that fail again and again, tells of forfeits.

A result is noted in one step together with how far its log was followed, so that a process that
dies, or a second one, neither misses a result nor counts one twice. A void is in no log.
"""

import asyncio
from collections import Counter, deque
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from redis.asyncio import Redis

from arena.archive.archive import Archive
from arena.bots.registry import Registry
from arena.db.keys import arena_key
from arena.db.scripts import Scripts
from arena.errors import ArenaError, NotFoundError
from arena.matches import replay_file as replay_files
from arena.queue.ladder import Ladder
from arena.queue.log_entries import LogEntry, LoggedResult
from arena.queue.queues import Queues
from arena.version_id import bot_of
from arena.webhooks.events import MOST_EVENTS, forfeit_event, suspension_event
from referee.errors import RefereeError
from referee.games.replay import Replay
from referee.match.judgement import ILLEGAL_LIMIT
from referee.outcome import ForfeitReason

LIMIT: Final = 3
"""Rated matches in a row that suspend a version which was ended, or forfeited most games, in each;
they are counted over all its ladders together."""

PAGE: Final = 1000
"""Entries of a log that are read at once."""

ENDING: Final = frozenset(
    {
        ForfeitReason.INVALID_MESSAGE,
        ForfeitReason.STALL,
        ForfeitReason.CRASH,
        ForfeitReason.OUT_OF_MEMORY,
        ForfeitReason.NO_SHOW,
        ForfeitReason.PRESSURE,
    }
)
"""Reasons with which a process always ends."""

_FOLLOWED: Final = arena_key("followed")


class _Log:
    """A ladder's log from where it was followed to; ``head`` is the next entry, None at the end."""

    def __init__(self, ruleset: str, ladder: Ladder, *, after: int) -> None:
        self.ruleset = ruleset
        self.head: LogEntry | None = None
        self._ladder = ladder
        self._after = after
        self._read: deque[LogEntry] = deque()

    async def advance(self) -> None:
        """Go on to the next entry."""
        if not self._read:
            self._read.extend(await self._ladder.entries(after=self._after, count=PAGE))
        self.head = self._read.popleft() if self._read else None
        if self.head is not None:
            self._after = self.head.sequence

    def order(self) -> tuple[datetime, str]:
        """Return what the logs are ordered by: when the next entry was committed."""
        assert self.head is not None
        return self.head.time, self.ruleset


class Follower:
    """Notes the results of every ladder."""

    def __init__(
        self, redis: Redis, *, registry: Registry, queues: Queues, archive: Archive
    ) -> None:
        self._redis = redis
        self._registry = registry
        self._queues = queues
        self._archive = archive
        self._scripts = Scripts(redis, "pipeline")
        self._owners: dict[str, str] = {}

    async def follow(self) -> list[str]:
        """Note new results in the order of their commits; return the suspended versions."""
        # What was committed before now is in the logs; beside what comes from here on, something
        # earlier of another ladder may still be unread.
        until = await self._now()
        logs = [await self._open(ruleset) for ruleset in await self._queues.rulesets()]
        heads = [log for log in logs if log.head is not None]
        suspended = []
        while heads:
            first = min(heads, key=_Log.order)
            assert first.head is not None
            if until <= first.head.time <= await self._now():
                break  # the next time; a later one than now is of a clock that was set back
            suspended += await self._note(first.ruleset, first.head)
            await first.advance()
            heads = [log for log in heads if log.head is not None]
        return suspended

    async def _now(self) -> datetime:
        """Return the time of the server, which stamps commits."""
        seconds, microseconds = await self._redis.time()
        return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=microseconds)

    async def _open(self, ruleset: str) -> _Log:
        text: Any = await self._redis.hget(_FOLLOWED, ruleset)
        log = _Log(ruleset, self._queues.ladder(ruleset), after=int(text or 0))
        await log.advance()
        return log

    async def _note(self, ruleset: str, result: LogEntry) -> list[str]:
        if not isinstance(result, LoggedResult):
            await self._scripts.run("note_result", ruleset, result.sequence, 0, 0, 0)
            return []
        entrants: list[str | int] = []
        for entrant, version in enumerate(result.entrants):
            entrants += await self._facts(ruleset, result, entrant, version)
        suspended: Any = await self._scripts.run(
            "note_result",
            *(ruleset, result.sequence, LIMIT, MOST_EVENTS, int(result.rated)),
            *entrants,
        )
        return [each.decode() for each in suspended or ()]

    async def _facts(
        self, ruleset: str, result: LoggedResult, entrant: int, version: str
    ) -> list[str | int]:
        """Return what the script has to know of an entrant."""
        owner = await self._owner(bot_of(version))
        reasons = {each.reason: each.games for each in result.forfeits if each.entrant == entrant}
        is_faulty = bool(reasons) and await self._is_faulty(ruleset, result, entrant, reasons)
        reason = (
            f"in {LIMIT} rated matches in a row its process was ended or it forfeited more than "
            f"half its games, the last time in {result.match_id} on {ruleset}"
        )
        forfeit = forfeit_event(
            match=result.match_id,
            ruleset=ruleset,
            version=version,
            owner=owner,
            reasons={str(reason): games for reason, games in reasons.items()},
            games=result.games,
        )
        suspension = suspension_event(
            version=version, owner=owner, match=result.match_id, reason=reason
        )
        told = (forfeit.id, forfeit.body()) if reasons else ("", "")
        body = suspension.body()
        return [version, int(is_faulty), reason, owner, *told, suspension.id, body]

    async def _owner(self, bot: str) -> str:
        if bot not in self._owners:
            try:
                self._owners[bot] = (await self._registry.bot(bot)).owner
            except NotFoundError:
                return ""  # no webhook is anybody's who has no name
        return self._owners[bot]

    async def _is_faulty(
        self, ruleset: str, result: LoggedResult, entrant: int, reasons: dict[ForfeitReason, int]
    ) -> bool:
        if 2 * sum(reasons.values()) > result.games or ENDING & reasons.keys():
            return True
        if reasons.get(ForfeitReason.ILLEGAL_ACTION, 0) < ILLEGAL_LIMIT:
            return False
        # Whether they fell at one table, and so ended a process, only the replay tells.
        return await asyncio.to_thread(self._was_ended, ruleset, result, entrant)

    def _was_ended(self, ruleset: str, result: LoggedResult, entrant: int) -> bool:
        """Read `ended` from the replay; False when that is not there any more."""
        try:
            data = self._archive.get_replay(ruleset, result.match_id, digest=result.digest)
            return ended(replay_files.unpack(data), entrant)
        except (ArenaError, RefereeError):
            return False


def ended(replay: Replay, entrant: int) -> bool:
    """Return whether illegal actions ended a process of an entrant."""
    by_table = Counter(
        game.table
        for game in replay.games
        for forfeit in game.forfeits
        if forfeit.reason is ForfeitReason.ILLEGAL_ACTION and game.seats[forfeit.seat] == entrant
    )
    return max(by_table.values(), default=0) >= ILLEGAL_LIMIT
