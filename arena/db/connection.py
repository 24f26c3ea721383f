"""Connects to Redis or Valkey."""

import asyncio
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import RedisError

from arena.errors import InputError

MINIMUM: Final = (7, 0)
"""The oldest version of Redis that the service is tried against; Valkey 7.2 says it is 7.2.4."""

RETRIES: Final = 6
"""How often a command is repeated on a broken connection: for about two seconds in all."""


async def connect(url: str, *, within: timedelta = timedelta(seconds=5)) -> Redis:
    """Connect and wait for the first answer; replies are bytes.

    ``within`` is the longest wait for the connection, and for each answer.

    Raises:
        InputError: no address, nobody answers there, or the server is too old.
    """
    seconds = within.total_seconds()
    redis: Redis = Redis.from_pool(_pool(url, seconds=seconds))
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


def _pool(url: str, *, seconds: float) -> ConnectionPool:
    """Return a connection pool; raises as `connect` about the address."""
    try:
        pool: ConnectionPool = ConnectionPool.from_url(
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
    pool.connection_class = _cancellable(pool.connection_class)
    return pool


class _Cancellable(AbstractConnection):
    """Keeps a task's cancellation that comes during a write.

    redis-py writes through ``asyncio.wait_for``, and Python 3.11's returns the result instead of
    raising when it is cancelled just as the write ends.
    """

    async def send_packed_command(
        self,
        command: bytes | str | Iterable[bytes],
        check_health: bool = True,  # noqa: FBT001, FBT002 -- redis-py's
    ) -> None:
        """Write a command, then raise a cancellation that came meanwhile."""
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        await super().send_packed_command(command, check_health)
        if task is not None and task.cancelling() > before:
            # The answer to what was written must not be taken for the next command's.
            await self.disconnect(nowait=True)
            raise asyncio.CancelledError


def _cancellable(kind: type[AbstractConnection]) -> type[AbstractConnection]:
    """Return the connection class (TCP, TLS, unix socket) with `_Cancellable` mixed in."""
    return type(f"Cancellable{kind.__name__}", (_Cancellable, kind), {})


def _public(url: str) -> str:
    """Return the URL without its password."""
    return re.sub(r"//[^@/]*@", "//", url)
