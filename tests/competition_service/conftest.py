"""Fixtures of the competitions' tests: the embedded server, and a hall over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.competition_service.hall import Hall
from tests.redis_server import embedded_redis as redis
from tests.redis_server import embedded_server
from tests.service_kit import Service, own_arena

__all__ = ["embedded_server", "redis"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """An arena of real processes on a server of its own."""
    with own_arena(tmp_path) as service:
        yield service


@pytest.fixture
def hall(redis: Redis) -> Hall:
    """A place where competitions are played without processes."""
    return Hall(redis)
