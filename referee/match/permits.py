"""Limit how many bots think at the same time to the number of cores."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class PermitPool:
    """Grant permits to those who wait, in the order in which they asked.

    A bot with unanswered turns holds one permit. While others wait, whoever holds one gets no new
    turns: it drains, gives its permit back and asks again, so that nobody starves.

    Attributes:
        free: permits that nobody holds.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError("a permit pool needs at least one permit")
        self.free = count
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def contended(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)

    def request(self, granted: Callable[[], None]) -> None:
        """Call ``granted`` once a permit is the caller's: at once, or later."""
        if self.free and not self._waiting:
            self.free -= 1
            granted()
        else:
            self._waiting.append(granted)

    def withdraw(self, granted: Callable[[], None]) -> None:
        """Stop waiting; nothing happens when ``granted`` does not wait."""
        if granted in self._waiting:
            self._waiting.remove(granted)

    def give_back(self) -> None:
        """Return a permit; the one who waits longest gets it."""
        if self._waiting:
            self._waiting.popleft()()
        else:
            self.free += 1


class Permit:
    """Take and give back one bot's permit of a pool.

    Attributes:
        held: whether the bot may think.
    """

    def __init__(self, pool: PermitPool, *, granted: Callable[[], None]) -> None:
        """Hold nothing.

        Args:
            pool: where the permit comes from.
            granted: called when the permit comes.
        """
        self.held = False
        self._pool = pool
        self._granted = granted
        self._asked = False

    @property
    def contended(self) -> bool:
        """Whether somebody waits for a permit of the pool."""
        return self._pool.contended

    def take(self) -> bool:
        """Return whether the permit is held; ask for it when it is not."""
        if not self.held and not self._asked:
            self._asked = True
            self._pool.request(self._receive)
        return self.held

    def release(self) -> None:
        """Give the permit back, or stop waiting for it."""
        if self._asked:
            self._asked = False
            self._pool.withdraw(self._receive)
        if self.held:
            self.held = False
            self._pool.give_back()

    def _receive(self) -> None:
        self._asked = False
        self.held = True
        self._granted()
