"""Fixtures of the tests of owners: an API over the embedded server."""

from tests.arena.api.conftest import arena, redis

__all__ = ["arena", "redis"]
