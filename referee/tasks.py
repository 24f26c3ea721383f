"""Wait in asyncio for an event or the end of a task, despite cancellations."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

_T = TypeVar("_T")


async def run_to_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end even if the waiting task is cancelled, then raise that."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception:  # noqa: BLE001, S110 -- raised below
            pass
    if cancelled is not None:
        raise cancelled
    return task.result()


async def is_set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event with a time-out; return whether it is set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def cancel(task: asyncio.Task[Any], *, again: float = 1.0) -> None:
    """Cancel a task and wait for its end, ignoring its result.

    A library may lose a cancellation, as Python 3.11's ``asyncio.wait_for`` does when its awaitable
    ends at that moment; so a task that goes on is cancelled again after ``again`` seconds.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=again)
