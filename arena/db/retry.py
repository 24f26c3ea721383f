"""Waits for what may not answer at once: a server that restarts, an event, a task that ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog
from redis.exceptions import RedisError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

UNREACHABLE: Final = (RedisError, OSError)
"""What a step raises while Redis does not answer."""

_T = TypeVar("_T")
_FIRST_PAUSE: Final = 0.1
_LAST_PAUSE: Final = 3.0


async def until_answered(step: Callable[[], Awaitable[_T]], *, limit: float | None) -> _T:
    """Repeat a step of Redis until it is answered, with longer and longer pauses.

    Raises:
        TimeoutError: not within ``limit`` seconds.
    """
    pause = _FIRST_PAUSE
    async with asyncio.timeout(limit):
        while True:
            try:
                return await step()
            except UNREACHABLE as error:
                structlog.get_logger().warning(
                    "redis not reached", error=str(error), pause_seconds=pause
                )
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LAST_PAUSE)


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, at most so long; return whether it is set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def cancel(task: asyncio.Task[Any], *, again: float = 1.0) -> None:
    """Cancel a task and wait for its end, whatever that is.

    A library may lose a cancellation, as Python 3.11's ``asyncio.wait_for`` does when what it waits
    for ends at that moment; so a task that goes on is cancelled again.

    Args:
        task: what is cancelled.
        again: seconds after which it is cancelled once more.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=again)
