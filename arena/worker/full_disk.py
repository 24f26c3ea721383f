"""Pause new work and retry writes while the disk is full."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from arena.backoff import Backoff
from arena.errors import DiskFullError

if TYPE_CHECKING:
    from collections.abc import Callable

PAUSE: Final = 5.0
"""Seconds for which nothing new is begun after a write met a full disk."""

_FIRST_PAUSE: Final = 0.5
_T = TypeVar("_T")


class FullDisk:
    """Whether the disk is full, as far as one process knows; ``emptied`` is called when no more."""

    def __init__(self, *, emptied: Callable[[], None]) -> None:
        self._emptied = emptied
        self._waiting = 0

    @property
    def is_full(self) -> bool:
        """Whether something waits for the disk: whatever is begun now may end in vain."""
        return self._waiting > 0

    def note_full(self) -> None:
        """Note that a write met a full disk, and that its match was given back."""
        self._waiting += 1
        asyncio.get_running_loop().call_later(PAUSE, self._end)

    async def until_stored(self, step: Callable[[], _T], *, log: Any) -> _T:
        """Retry an idempotent, blocking write with backoff while the disk is full."""
        try:
            return await asyncio.to_thread(step)
        except DiskFullError as error:
            log.warning("disk full", detail=str(error))
        self._waiting += 1
        try:
            backoff = Backoff(_FIRST_PAUSE, PAUSE)
            while True:
                await asyncio.sleep(backoff.pause())
                with suppress(DiskFullError):
                    stored = await asyncio.to_thread(step)
                    log.info("disk no longer full")
                    return stored
        finally:
            self._end()

    def _end(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            self._emptied()
