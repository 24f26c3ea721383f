"""Exponential backoff; needs the standard library alone."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    """Doubles each pause from ``first`` to ``last``, in seconds."""

    first: float
    last: float
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.first

    def pause(self) -> float:
        """Return the next pause, in seconds."""
        pause, self._next = self._next, min(2 * self._next, self.last)
        return pause

    def reset(self) -> None:
        """Start from the first pause again."""
        self._next = self.first
