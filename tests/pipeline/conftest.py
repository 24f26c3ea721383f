"""Fixtures of the tests of the pipeline."""

from tests.pipeline.line import line
from tests.redis_server import redis, shared_server

__all__ = ["line", "redis", "shared_server"]
