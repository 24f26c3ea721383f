"""Retries for Redis."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

import structlog
from redis.exceptions import RedisError

from arena.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

UNREACHABLE: Final = (RedisError, OSError)
"""What a step raises while Redis does not answer."""

_T = TypeVar("_T")


async def until_answered(step: Callable[[], Awaitable[_T]], *, limit: float | None) -> _T:
    """Retry a step of Redis with exponential backoff until it is answered.

    Raises:
        TimeoutError: not within ``limit`` seconds.
    """
    backoff = Backoff(0.1, 3.0)
    async with asyncio.timeout(limit):
        while True:
            try:
                return await step()
            except UNREACHABLE as error:
                pause = backoff.pause()
                structlog.get_logger().warning(
                    "redis not reached", error=str(error), pause_seconds=pause
                )
                await asyncio.sleep(pause)
