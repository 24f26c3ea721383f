"""Queues items, each of which one process claims at a time.

A claim has a random token and an expiring deadline: when its process dies, another one claims the
item again, and the first claim's token is refused. Scripts that do more with a claimed item in the
same step use ``arena/db/lua/lib/claims.lua``.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from redis.asyncio import Redis

from arena.db.keys import arena_key, milliseconds
from arena.db.scripts import Scripts


@dataclass(frozen=True, slots=True)
class Claim:
    """The exclusive, expiring right to work on one item.

    Attributes:
        token: the random fence.
        attempt: 1 for the first.
    """

    id: str
    token: str
    attempt: int


class ClaimQueue:
    """A queue of items; ``due`` and ``claims`` name its keys."""

    def __init__(self, redis: Redis, *, due: str, claims: str) -> None:
        self._redis = redis
        self._due = arena_key(due)
        keys = {"due": self._due, "claims": arena_key(claims)}
        self._scripts = Scripts(redis, "db", keys.__getitem__)

    async def waiting(self) -> int:
        """Return the number of items, claimed ones among them."""
        return int(await self._redis.zcard(self._due))

    async def claim(self, *, token: str, duration: timedelta) -> Claim | None:
        """Claim the item that is due longest, or whose claim expired; None when none is.

        ``token`` is 128 random bits as hex digits, new for each claim.
        """
        reply: Any = await self._scripts.run("claim", token, milliseconds(duration))
        return None if reply is None else Claim(reply[0].decode(), token, int(reply[1]))

    async def renew(self, claim: Claim, *, duration: timedelta) -> bool:
        """Extend a claim to ``duration`` from now; False when it was lost."""
        reply = await self._scripts.run("renew", claim.id, claim.token, milliseconds(duration))
        return bool(reply == b"ok")

    async def give_back(self, claim: Claim, *, wait: timedelta, counts: bool) -> bool:
        """Make the item due again after a wait; False when the claim was lost.

        ``counts`` says whether this was an attempt.
        """
        arguments = (claim.id, claim.token, milliseconds(wait), int(counts))
        return bool(await self._scripts.run("give_back", *arguments) == b"ok")
