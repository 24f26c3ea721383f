"""Follows the ladders' logs: suspends versions that fail again and again, tells of forfeits.

A result is noted in one step together with how far its log was followed, so that a process that
dies, or a second one, neither misses a result nor counts one twice. A void is in no log.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from redis.asyncio import Redis

from arena import replay_files
from arena.archive import Archive
from arena.errors import ArenaError, NotFoundError
from arena.events import MOST_EVENTS, forfeit_event, suspension_event
from arena.queue.entries import LoggedResult
from arena.queue.keys import arena_key
from arena.queue.ladder import PAGE
from arena.queue.queues import Queues
from arena.store import Store
from arena.transitions import Transitions
from referee.errors import RefereeError
from referee.games.replay import Replay
from referee.match.table import ILLEGAL_LIMIT
from referee.outcome import ForfeitReason

LIMIT: Final = 3
"""Rated matches in a row that suspend a version which was ended, or forfeited most games, in each;
they are counted on each ladder for itself."""

ENDING: Final = frozenset(
    {
        ForfeitReason.INVALID_MESSAGE,
        ForfeitReason.STALL,
        ForfeitReason.CRASH,
        ForfeitReason.OUT_OF_MEMORY,
        ForfeitReason.NO_SHOW,
    }
)
"""Reasons with which a process always ends."""

_FOLLOWED: Final = arena_key("followed")


class Follower:
    """Notes the results of every ladder.

    Args:
        redis: a client made by `arena.queue.connection.connect`.
        store: whose bots are whose.
        queues: the ladders.
        archive: holds the replays.
    """

    def __init__(self, redis: Redis, *, store: Store, queues: Queues, archive: Archive) -> None:
        self._redis = redis
        self._store = store
        self._queues = queues
        self._archive = archive
        self._transitions = Transitions(redis)
        self._owners: dict[str, str] = {}

    async def follow(self) -> list[str]:
        """Note what is new in every log; return the versions that were suspended."""
        suspended = []
        for ruleset in await self._queues.rulesets():
            suspended += await self._follow(ruleset)
        return suspended

    async def _follow(self, ruleset: str) -> list[str]:
        suspended = []
        ladder = self._queues.ladder(ruleset)
        while True:
            text: Any = await self._redis.hget(_FOLLOWED, ruleset)
            page = await ladder.entries(after=int(text or 0))
            for entry in page:
                if isinstance(entry, LoggedResult):
                    suspended += await self._note(ruleset, entry)
            if page and not isinstance(page[-1], LoggedResult):
                await self._transitions.run("result_note", ruleset, page[-1].sequence, 0, 0, 0, 0)
            if len(page) < PAGE:
                return suspended

    async def _note(self, ruleset: str, result: LoggedResult) -> list[str]:
        entrants: list[str | int] = []
        for entrant, version in enumerate(result.entrants):
            entrants += await self._facts(ruleset, result, entrant, version)
        suspended: Any = await self._transitions.run(
            "result_note",
            *(ruleset, result.sequence, LIMIT, MOST_EVENTS, int(result.rated)),
            *(len(result.entrants), *entrants),
        )
        return [each.decode() for each in suspended or ()]

    async def _facts(
        self, ruleset: str, result: LoggedResult, entrant: int, version: str
    ) -> list[str | int]:
        """Return what the transition has to know of an entrant."""
        owner = await self._owner(version.partition("@")[0])
        reasons = {each.reason: each.games for each in result.forfeits if each.entrant == entrant}
        is_faulty = bool(reasons) and await self._is_faulty(ruleset, result, entrant, reasons)
        reason = (
            f"in {LIMIT} rated matches in a row on {ruleset} its process was ended or it forfeited "
            f"more than half its games, the last time in {result.match_id}"
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
                self._owners[bot] = (await self._store.bot(bot)).owner
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
        return await asyncio.to_thread(
            self._replay_says, ruleset, result, lambda replay: ended(replay, entrant)
        )

    def _replay_says(
        self, ruleset: str, result: LoggedResult, question: Callable[[Replay], bool]
    ) -> bool:
        """Put a question to a replay; False when it is not there any more."""
        try:
            data = self._archive.get_replay(ruleset, result.match_id, digest=result.digest)
            return question(replay_files.unpack(data))
        except (ArenaError, RefereeError):
            return False


def ended(replay: Replay, entrant: int) -> bool:
    """Return whether illegal actions ended a process of an entrant."""
    by_table: dict[int, int] = {}
    for game in replay.games:
        for forfeit in game.forfeits:
            is_illegal = forfeit.reason is ForfeitReason.ILLEGAL_ACTION
            if is_illegal and game.seats[forfeit.seat] == entrant:
                by_table[game.table] = by_table.get(game.table, 0) + 1
    return max(by_table.values(), default=0) >= ILLEGAL_LIMIT
