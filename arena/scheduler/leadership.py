"""Elects the one active scheduler: a fenced lease with an epoch that only grows."""

from datetime import timedelta

from redis.asyncio import Redis

from arena.db.keys import milliseconds
from arena.db.scripts import Scripts


class Leadership:
    """The lease of the active scheduler; ``holder`` is text that no other scheduler has.

    The epoch goes with every `MatchQueue.enqueue`, so that a scheduler which lost the lease without
    noticing is refused. Call `Queues.fence` with a new epoch before scheduling.
    """

    def __init__(self, redis: Redis, holder: str) -> None:
        self._scripts = Scripts(redis, "scheduler")
        self._holder = holder

    async def acquire(self, *, duration: timedelta) -> int | None:
        """Take the lease for ``duration``; return the new epoch, or None while another holds it.

        The holder itself gets its epoch again, and the longer deadline.
        """
        epoch = int(await self._scripts.run("lead", self._holder, milliseconds(duration)))
        return epoch or None

    async def renew(self, *, epoch: int, duration: timedelta) -> bool:
        """Extend the lease; False when it was lost (then stand by and `acquire` again)."""
        return bool(await self._scripts.run("lead_on", self._holder, epoch, milliseconds(duration)))

    async def resign(self) -> None:
        """Release the lease, so that another may take it at once."""
        await self._scripts.run("resign", self._holder)
