"""Fixtures of the competitions' tests: the embedded server, and a hall over it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from arena.queue.connection import connect
from tests.competition_service.hall import Hall
from tests.redis_server import BINARIES, RedisServer
from tests.service_kit import Service, own_arena


@pytest.fixture(scope="session")
def competition_server() -> Iterator[RedisServer]:
    """The embedded server, shared by the tests of one process."""
    server = RedisServer(BINARIES["valkey"])
    server.settle()
    yield server
    server.close()


@pytest_asyncio.fixture
async def redis(competition_server: RedisServer) -> AsyncIterator[Redis]:
    """A client of the empty server."""
    client = await connect(competition_server.url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """An arena of real processes on a server of its own."""
    with own_arena(tmp_path) as service:
        yield service


@pytest.fixture
def hall(redis: Redis) -> Hall:
    """A place where competitions are played without processes."""
    return Hall(redis)
