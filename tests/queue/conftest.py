"""Fixtures of the queue's tests."""

from tests.redis_server import durable_server, redis, shared_server

__all__ = ["durable_server", "redis", "shared_server"]
