"""Tracks which processes of the service are alive: workers with their slots, schedulers, APIs.

Each renews a key that expires; a set names the keys.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from arena.db.keys import arena_key, item_key
from arena.db.retry import UNREACHABLE
from referee.tasks import cancel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from redis.asyncio import Redis

LIFE: Final = timedelta(seconds=15)
"""How long a process is believed to be alive after it last said so."""

PERIOD: Final = LIFE / 5
"""The time between two announcements of a process."""

_LEAVING: Final = timedelta(seconds=5)
_PROCESSES: Final = arena_key("processes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """A process that is alive, by its unique name.

    Attributes:
        kind: ``worker``, ``scheduler``, ``api`` or ``pipeline``.
        slots: tables that a worker plays at the same time; 0 for the others.
        address: where it takes calls, ``HOST:PORT``; empty for those that take none.
    """

    name: str
    kind: str
    slots: int
    metrics_port: int
    address: str = ""


class Presence:
    """The processes that are alive."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def announce(self, announcement: Announcement, *, life: timedelta = LIFE) -> None:
        """Register a process for ``life``; to be repeated well within it."""
        pipe = self._redis.pipeline(transaction=False)
        pipe.set(item_key(announcement.name, "process"), json.dumps(asdict(announcement)), px=life)
        pipe.sadd(_PROCESSES, announcement.name)
        await pipe.execute()

    async def leave(self, name: str) -> None:
        """Unregister a process."""
        pipe = self._redis.pipeline(transaction=False)
        pipe.delete(item_key(name, "process"))
        pipe.srem(_PROCESSES, name)
        await pipe.execute()

    async def alive(self) -> list[Announcement]:
        """Return the processes that are alive, by name."""
        members: Any = await self._redis.smembers(_PROCESSES)
        names = sorted(member.decode() for member in members)
        if not names:
            return []
        texts = await self._redis.mget([item_key(name, "process") for name in names])
        gone = [name for name, text in zip(names, texts, strict=True) if text is None]
        if gone:
            await self._redis.srem(_PROCESSES, *gone)
        return [Announcement(**json.loads(text)) for text in texts if text is not None]

    async def slots(self) -> int:
        """Return the total of all workers' slots."""
        return sum(each.slots for each in await self.alive() if each.kind == "worker")


@asynccontextmanager
async def announced(redis: Redis, announcement: Announcement) -> AsyncIterator[None]:
    """Announce a process periodically until the block ends, then unregister it.

    An unreachable server is no error: the process is forgotten after `LIFE`, and known again with
    the next announcement.
    """
    workers = Presence(redis)
    announcing = asyncio.create_task(_announce(workers, announcement))
    try:
        yield
    finally:
        await cancel(announcing)
        with suppress(*UNREACHABLE, TimeoutError):
            async with asyncio.timeout(_LEAVING.total_seconds()):
                await workers.leave(announcement.name)


async def _announce(workers: Presence, announcement: Announcement) -> None:
    while True:
        with suppress(*UNREACHABLE):
            await workers.announce(announcement)
        await asyncio.sleep(PERIOD.total_seconds())
