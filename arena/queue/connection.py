"""Connects to Redis or Valkey, and says in one sentence why not."""

import asyncio
import re
from datetime import timedelta
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import RedisError

from arena.errors import InputError

MINIMUM: Final = (7, 0)
"""The oldest version of Redis that the service is tried against; Valkey 7.2 says it is 7.2.4."""

RETRIES: Final = 6
"""How often a command is repeated on a broken connection: for about two seconds in all."""


async def connect(url: str, *, within: timedelta = timedelta(seconds=5)) -> Redis:
    """Return a client that has been answered; its replies are bytes.

    Args:
        url: ``redis://HOST:PORT/DB``, ``rediss://...`` (TLS) or ``unix://PATH``.
        within: the longest wait for the connection, and for each answer.

    Raises:
        InputError: no address, nobody answers there, or the server is too old.
    """
    seconds = within.total_seconds()
    try:
        redis: Redis = Redis.from_url(
            url,
            socket_timeout=seconds,
            socket_connect_timeout=seconds,
            retry=Retry(ExponentialWithJitterBackoff(base=0.02, cap=1), retries=RETRIES),
        )
    except ValueError as error:
        raise InputError(
            f"{_public(url)!r} is no address of a Redis server; possible: redis://HOST:PORT/DB, "
            f"rediss://HOST:PORT/DB, unix:///PATH"
        ) from error
    try:
        async with asyncio.timeout(seconds):
            facts: Any = await redis.info("server")
    except (RedisError, OSError) as error:
        await redis.aclose()
        raise InputError(
            f"no Redis server answers at {_public(url)} ({error}); start one there, or leave "
            f"redis_url empty for the embedded one"
        ) from error
    version = str(facts["redis_version"])
    if tuple(map(int, version.split(".")[:2])) < MINIMUM:
        await redis.aclose()
        raise InputError(
            f"the server at {_public(url)} is Redis {version}; Redis 7.0, Valkey 7.2 or newer "
            f"is needed"
        )
    return redis


def _public(url: str) -> str:
    """Return the address without a password."""
    return re.sub(r"//[^@/]*@", "//", url)
