"""Connects to an arena, and passes it on as one object."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arena.archive.archive import Archive
from arena.bots.registry import Registry
from arena.db.connection import connect
from arena.db.embedded import EmbeddedServer
from arena.errors import InputError
from arena.queue.models import RetryPolicy
from arena.queue.queues import Queues

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from redis.asyncio import Redis

    from arena.config import Settings


@dataclass(frozen=True, slots=True)
class Arena:
    """A connected arena: settings, Redis client, queues, registry and archive."""

    settings: Settings
    redis: Redis
    queues: Queues
    registry: Registry
    archive: Archive

    @classmethod
    def over(cls, redis: Redis, settings: Settings) -> Arena:
        """Wrap a connected client."""
        archive = Archive(
            settings.archive, cache=settings.data_dir / "cache", upload_bytes=settings.upload_bytes
        )
        policy = RetryPolicy(
            attempts=settings.attempts, voids=settings.voids, backoff=settings.backoff
        )
        return cls(
            settings=settings,
            redis=redis,
            queues=Queues(redis, policy=policy),
            registry=Registry(redis, archive),
            archive=archive,
        )


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Arena]:
    """Connect to the arena of the settings; raises as `redis_url`."""
    redis = await connect(redis_url(settings))
    try:
        yield Arena.over(redis, settings)
    finally:
        await redis.aclose()


def redis_url(settings: Settings) -> str:
    """Return the address of Redis: the setting, or the embedded server's socket.

    Raises:
        InputError: the embedded server does not run; the sentence says what to start.
    """
    if settings.redis_url:
        return settings.redis_url
    server = EmbeddedServer(settings.data_dir)
    if not Path(server.url.removeprefix("unix://")).exists():
        raise InputError(
            f"no arena runs in {settings.data_dir}: start one with `arena up`, name another data "
            "folder with --data-dir, or a Redis server with --redis-url"
        )
    return server.url
