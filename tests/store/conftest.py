"""Fixtures of the tests of store, archive, settings and server."""

from tests.redis_server import redis, shared_server

__all__ = ["redis", "shared_server"]
