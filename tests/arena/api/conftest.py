"""Fixtures of the API's tests: the embedded server, and an API over it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest_asyncio
from redis.asyncio import Redis

from tests.arena.api.calling import Arena, make_backend, start
from tests.redis_server import embedded_redis as redis

__all__ = ["redis"]


@pytest_asyncio.fixture
async def arena(redis: Redis, tmp_path: Path) -> AsyncIterator[Arena]:
    """An API on a free port."""
    arena = await start(make_backend(redis, tmp_path))
    yield arena
    await arena.close()
    await arena.server.stop(grace=timedelta(seconds=5))
