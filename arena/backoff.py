"""Longer and longer pauses between tries; needs the standard library alone."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    """Exponential backoff: each pause is twice the one before.

    Attributes:
        first: the first pause, seconds.
        last: the longest, seconds.
    """

    first: float
    last: float
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.first

    def pause(self) -> float:
        """Return how long to wait before the next try, seconds."""
        pause, self._next = self._next, min(2 * self._next, self.last)
        return pause

    def reset(self) -> None:
        """Begin with the first pause again, after a success."""
        self._next = self.first
