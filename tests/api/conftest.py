"""Fixtures of the API's tests: the embedded server, and an API over it."""

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from arena.queue.connection import connect
from tests.api.calling import Arena, make_backend, start
from tests.redis_server import BINARIES, RedisServer


@pytest.fixture(scope="session")
def api_store() -> Iterator[RedisServer]:
    """The embedded server, shared by the tests of one process."""
    server = RedisServer(BINARIES["valkey"])
    server.settle()
    yield server
    server.close()


@pytest_asyncio.fixture
async def redis(api_store: RedisServer) -> AsyncIterator[Redis]:
    """A client of the empty server."""
    client = await connect(api_store.url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest_asyncio.fixture
async def arena(redis: Redis, tmp_path: Path) -> AsyncIterator[Arena]:
    """An API on a free port."""
    arena = await start(make_backend(redis, tmp_path))
    yield arena
    await arena.close()
    await arena.server.stop(grace=timedelta(seconds=5))
