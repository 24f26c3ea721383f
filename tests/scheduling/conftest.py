"""Fixtures of the scheduler's tests."""

from tests.redis_server import redis, shared_server

__all__ = ["redis", "shared_server"]
