"""What a process does when a disk is full: it waits for room, and begins nothing new meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from arena.errors import NoRoomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAUSE: Final = 5.0
"""Seconds for which nothing new is begun after something found no room."""

_FIRST_PAUSE: Final = 0.5
_T = TypeVar("_T")


class Room:
    """Whether there is room, as far as one process knows.

    Args:
        found: called when nothing waits for room any more.
    """

    def __init__(self, *, found: Callable[[], None]) -> None:
        self._found = found
        self._waiting = 0

    @property
    def is_short(self) -> bool:
        """Whether something waits for room: whatever is begun now may end in vain."""
        return self._waiting > 0

    def miss(self) -> None:
        """Note that something found no room and was given back."""
        self._waiting += 1
        asyncio.get_running_loop().call_later(PAUSE, self._end)

    async def until_stored(self, step: Callable[[], _T], *, log: Any) -> _T:
        """Repeat a step that blocks until it finds room, with longer and longer pauses.

        Args:
            step: stores something; may be done twice.
            log: told once that it waits, and once that it does no more.
        """
        try:
            return await asyncio.to_thread(step)
        except NoRoomError as error:
            log.warning("disk full", detail=str(error))
        with self._waits():
            pause = _FIRST_PAUSE
            while True:
                await asyncio.sleep(pause)
                try:
                    stored = await asyncio.to_thread(step)
                except NoRoomError:
                    pause = min(2 * pause, PAUSE)
                else:
                    log.info("room found")
                    return stored

    @contextmanager
    def _waits(self) -> Iterator[None]:
        self._waiting += 1
        try:
            yield
        finally:
            self._end()

    def _end(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            self._found()
