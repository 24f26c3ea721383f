"""The competitions' tests run on the embedded server alone."""

from tests.redis_server import embedded_redis as redis

__all__ = ["redis"]
