"""Fixtures of the tests of webhooks."""

from tests.redis_server import redis, shared_server

__all__ = ["redis", "shared_server"]
