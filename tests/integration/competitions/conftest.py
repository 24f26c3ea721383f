"""Fixtures of whole competitions: a hall and an arena of processes, each on its own server."""

from tests.arena.conftest import hall
from tests.redis_server import embedded_redis as redis
from tests.redis_server import embedded_server

__all__ = ["embedded_server", "hall", "redis"]
