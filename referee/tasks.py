"""Work that is finished once it has begun, whoever stops waiting for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

_T = TypeVar("_T")


async def see_through(work: Coroutine[Any, Any, _T]) -> _T:
    """Return what some work returns; a cancellation meanwhile is raised when it has ended."""
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
