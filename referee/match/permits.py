"""Limit how many bots think at the same time to the number of cores."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class PermitPool:
    """Grant a bounded number of permits first come, first served, like a semaphore.

    A bot with unanswered turns holds one permit. While others wait, it gets no new turns: it
    drains, releases its permit and requests it again, so that no bot starves.

    Attributes:
        free: permits that no bot holds.
    """

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError("a permit pool needs at least one permit")
        self.free = count
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def contended(self) -> bool:
        """Whether a bot waits for a permit."""
        return bool(self._waiting)

    def request(self, granted: Callable[[], None]) -> None:
        """Call ``granted`` once the caller holds a permit: at once, or later."""
        if self.free and not self._waiting:
            self.free -= 1
            granted()
        else:
            self._waiting.append(granted)

    def withdraw(self, granted: Callable[[], None]) -> None:
        """Cancel a request, if it waits."""
        if granted in self._waiting:
            self._waiting.remove(granted)

    def release(self) -> None:
        """Release a permit to the longest waiting request."""
        if self._waiting:
            self._waiting.popleft()()
        else:
            self.free += 1


class Permit:
    """Acquire and release one bot's permit of a pool.

    Attributes:
        held: whether the bot may think.
    """

    def __init__(self, pool: PermitPool, *, granted: Callable[[], None]) -> None:
        self.held = False
        self._pool = pool
        self._granted = granted
        self._asked = False

    @property
    def contended(self) -> bool:
        """Whether a bot waits for a permit of the pool."""
        return self._pool.contended

    def acquire(self) -> bool:
        """Return whether the permit is held; request it when it is not."""
        if not self.held and not self._asked:
            self._asked = True
            self._pool.request(self._receive)
        return self.held

    def release(self) -> None:
        """Release the permit, or cancel its request."""
        if self._asked:
            self._asked = False
            self._pool.withdraw(self._receive)
        if self.held:
            self.held = False
            self._pool.release()

    def _receive(self) -> None:
        self._asked = False
        self.held = True
        self._granted()
