"""Limits what an owner may do: uploads within an hour, bots, open challenges.

Each check is one atomic step on the server's clock, so that concurrent calls cannot exceed a limit.
"""

import secrets
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from redis.asyncio import Redis

from arena.db.keys import item_key, milliseconds
from arena.db.scripts import Scripts
from arena.errors import LimitError

HOUR: Final = timedelta(hours=1)
_PLACE: Final = timedelta(minutes=10)
"""How long a place is held for a bot that is being stored."""

_CHALLENGE: Final = timedelta(days=30)
"""How long a challenge is remembered that nobody ever asked about again."""

_SETTLING: Final = timedelta(minutes=1)
"""How long a challenge may take from its place to its queue."""

IsOpen = Callable[[str], Awaitable[bool | None]]
"""Tells whether a match waits or is being played; None when no queue knows it, or not yet."""

_RETRY: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerLimits:
    """An owner's limits: uploads within an hour, open challenges, bots that are not retired."""

    uploads: int
    challenges: int
    bots: int


class UsageLimiter:
    """Enforces the limits ``most`` on every owner."""

    def __init__(self, redis: Redis, most: OwnerLimits) -> None:
        self.most = most
        self._redis = redis

    async def take_upload(self, owner: str) -> None:
        """Count an upload, or raise `LimitError`, which says when to retry."""
        scripts = Scripts(self._redis, "owners", partial(item_key, owner))
        use = secrets.token_hex(8)
        wait: Any = await scripts.run("take_use", self.most.uploads, milliseconds(HOUR), use)
        if wait:
            retry = timedelta(milliseconds=int(wait))
            raise LimitError(
                f"{self.most.uploads} uploads an hour are allowed; the next one is possible in "
                f"{_words(retry)}",
                retry_after=retry,
                reason="TOO_MANY_UPLOADS",
                facts={"limit": str(self.most.uploads)},
            )

    async def uploads(self, owner: str) -> int:
        """Return how many uploads an owner has made within the last hour."""
        now, _ = await self._redis.time()
        start = (int(now) - HOUR.total_seconds()) * 1000
        return int(await self._redis.zcount(item_key(owner, "uploads-of"), f"({start:.0f}", "+inf"))

    async def hold_bot(self, owner: str, name: str, *, present: Collection[str]) -> None:
        """Reserve a place for a bot that is about to be stored, or raise `LimitError`.

        A known bot has its place; ``present`` are the owner's bots that are not retired.
        """
        bound = (self.most.bots, milliseconds(_PLACE))
        if not await self._hold(item_key(owner, "bots-of"), *bound, name, *present):
            raise LimitError(
                f"{self.most.bots} bots are allowed; retire one with `arena bot retire`",
                reason="TOO_MANY_BOTS",
                facts={"limit": str(self.most.bots)},
            )

    async def hold_challenge(self, owner: str, match: str, *, is_open: IsOpen) -> None:
        """Reserve a place for a challenge that is about to be queued, or raise `LimitError`.

        A known challenge has its place.
        """
        await self._forget_ended(owner, is_open)
        bound = (self.most.challenges, milliseconds(_CHALLENGE))
        if not await self._hold(item_key(owner, "challenges-of"), *bound, match):
            raise LimitError(
                f"{self.most.challenges} challenges at once are allowed; wait until one has ended, "
                "or cancel one",
                retry_after=_RETRY,
                reason="TOO_MANY_CHALLENGES",
                facts={"limit": str(self.most.challenges)},
            )

    async def drop_challenge(self, owner: str, match: str) -> None:
        """Release the place of a challenge that was not queued."""
        await self._redis.zrem(item_key(owner, "challenges-of"), match)

    async def challenges(self, owner: str, *, is_open: IsOpen) -> int:
        """Return how many challenges of an owner wait or are being played."""
        await self._forget_ended(owner, is_open)
        return int(await self._redis.zcard(item_key(owner, "challenges-of")))

    async def _hold(self, key: str, *place: str | int) -> bool:
        """Reserve a place among those of a key; False when all are taken."""
        scripts = Scripts(self._redis, "owners", {"held": key}.__getitem__)
        return bool(await scripts.run("hold_place", *place) != b"full")

    async def _forget_ended(self, owner: str, is_open: IsOpen) -> None:
        key = item_key(owner, "challenges-of")
        now, _ = await self._redis.time()
        settled = (int(now) - _SETTLING.total_seconds()) * 1000
        rows: Any = await self._redis.zrange(key, 0, -1, withscores=True)
        for member, since in rows:
            opened = await is_open(member.decode())
            if opened is False or (opened is None and since < settled):
                await self._redis.zrem(key, member)


def _words(duration: timedelta) -> str:
    minutes, seconds = divmod(max(1, round(duration.total_seconds())), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
