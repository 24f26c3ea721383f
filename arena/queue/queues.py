"""Holds the queues and ladders of every ruleset, and shares workers between them."""

from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from arena.db.keys import arena_key, ladder_key
from arena.db.scripts import Scripts
from arena.errors import ArenaError
from arena.queue.ladder import Ladder
from arena.queue.match_queue import MatchQueue
from arena.queue.models import Lease, RetryPolicy

SCHEMA: Final = "1"
"""The form of a ladder's keys; a change that older code cannot read raises it."""


class Queues:
    """The queues and ladders of every ruleset."""

    def __init__(self, redis: Redis, *, policy: RetryPolicy | None = None) -> None:
        self._redis = redis
        self._scripts = Scripts(redis, "queue")
        self.policy = policy
        self._queues: dict[str, MatchQueue] = {}
        self._ladders: dict[str, Ladder] = {}

    async def open_ladder(self, ruleset: str) -> None:
        """Register a ladder by its canonical ruleset; idempotent; refuses another schema."""
        meta = ladder_key(ruleset, "meta")
        await self._redis.hsetnx(meta, "schema", SCHEMA)
        found = await self._redis.hget(meta, "schema")
        if found != SCHEMA.encode():
            raise ArenaError(
                f"the ladder {ruleset} has schema {found!r}, this version reads {SCHEMA}; "
                f"run the version that wrote it, or start with an empty server"
            )
        await self._redis.sadd(arena_key("ladders"), ruleset)

    async def rulesets(self) -> list[str]:
        """Return the rulesets of all ladders, sorted."""
        members: Any = await self._redis.smembers(arena_key("ladders"))
        return sorted(member.decode() for member in members)

    def queue(self, ruleset: str) -> MatchQueue:
        """Return the queue of a ruleset."""
        if ruleset not in self._queues:
            self._queues[ruleset] = MatchQueue(self._redis, ruleset, policy=self.policy)
        return self._queues[ruleset]

    def ladder(self, ruleset: str) -> Ladder:
        """Return the ladder of a ruleset."""
        if ruleset not in self._ladders:
            self._ladders[ruleset] = Ladder(self._redis, ruleset)
        return self._ladders[ruleset]

    async def fence(self, epoch: int) -> None:
        """Refuse schedulers older than ``epoch`` at every ladder from now on."""
        for ruleset in await self.rulesets():
            await self.queue(ruleset).fence(epoch)

    async def lease(
        self,
        worker: str,
        *,
        token: str,
        duration: timedelta,
        rulesets: Collection[str] | None = None,
        expired: Callable[[int], None] | None = None,
    ) -> Lease | None:
        """Lease the next match of the ladder that has had the least, by games, and has one ready.

        ``rulesets`` restricts the ladders; the rest is as for `MatchQueue.lease`. ``expired`` is
        called once for each ladder with such leases.
        """
        for name in await self._scripts.run("share_order"):
            ruleset = name.decode()
            if rulesets is not None and ruleset not in rulesets:
                continue
            lease = await self.queue(ruleset).lease(
                worker, token=token, duration=duration, expired=expired
            )
            if lease is not None:
                # The match is leased: better uncharged than not played.
                with suppress(RedisError, OSError):
                    await self._scripts.run("share", ruleset, lease.spec.cost)
                return lease
        return None
