"""Fixtures of the arena's tests: servers of Redis and Valkey, their clients, a hall over one."""

import pytest
from redis.asyncio import Redis

from tests.arena.competitions.hall import Hall
from tests.redis_server import durable_server, embedded_server, redis, shared_server

__all__ = ["durable_server", "embedded_server", "redis", "shared_server"]


@pytest.fixture
def hall(redis: Redis) -> Hall:
    """A place where competitions are played without processes."""
    return Hall(redis)
