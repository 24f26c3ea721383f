"""The turns that a bot owes answers to, oldest first, and the clock of the oldest."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from referee.match.health import LagMonitor
    from referee.match.turns import OpenTurn

_TIMER_SLACK = 0.002
"""Seconds added to every timer: a loop's timers may fire a millisecond early."""


class ClockListener(Protocol):
    """What is told of the oldest turn's clock."""

    def flag_fell(self, turn: OpenTurn, *, spent: float, lag: float) -> None:
        """Hear that bank and margin of a live turn are spent.

        Args:
            turn: the turn.
            spent: seconds, our own lag taken off.
            lag: seconds that the referee itself lagged meanwhile.
        """

    def stalled(self) -> None:
        """Hear that nothing came for long after a time-out."""

    def guard(self) -> AbstractContextManager[None]:
        """Return a context in which an exception is our own fault, and voids the match."""


class OwedTurns:
    """The turns that were sent and not answered.

    Attributes:
        turns: oldest first; those of games that ended meanwhile included, answers to which are
            owed all the same.
        last_arrival: when the last answer came.
        stalling: whether the flag of the oldest turn fell and its answer is still owed.
    """

    def __init__(self, listener: ClockListener, *, monitor: LagMonitor, stall: float) -> None:
        """Create it inside the running loop.

        Args:
            listener: what is told.
            monitor: what knows when the referee lagged.
            stall: seconds of silence after a time-out that make a stall.
        """
        self.turns: deque[OpenTurn] = deque()
        self.last_arrival = 0.0
        self.stalling = False
        self._listener = listener
        self._monitor = monitor
        self._stall = stall
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0

    def sent(self, turns: list[OpenTurn], now: float) -> None:
        """Add turns that are about to be written."""
        for turn in turns:
            turn.sent = now
        self.turns.extend(turns)
        self.arm(now)

    def service_start(self) -> float:
        """Return when the bot could begin with the oldest turn; there must be one."""
        return max(self.turns[0].sent, self.last_arrival)

    def heard(self, arrival: float) -> None:
        """Note that an answer came."""
        self.last_arrival = arrival
        if self.stalling:
            self.stalling = False
            self._stop_timer()

    def drop(self, game: int, arrival: float) -> None:
        """Take a game's turn out of the line; its answer is no longer owed.

        Only when it was the oldest has the bot been busy with it until now.
        """
        for place, turn in enumerate(self.turns):
            if turn.game == game:
                del self.turns[place]
                if place == 0:
                    self.heard(arrival)
                return

    def clear(self) -> None:
        """Forget every turn and stop the clock."""
        self.turns.clear()
        self._stop_timer()

    def arm(self, now: float) -> None:
        """See to it that a timer fires no later than the flag of the oldest turn."""
        if self.stalling or not self.turns:
            return
        due = self.service_start() + self.turns[0].clock.allowance
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._set_timer(due, now)

    def _set_timer(self, due: float, now: float) -> None:
        self._timer_due = due
        self._timer = self._loop.call_later(max(0.0, due - now) + _TIMER_SLACK, self._fired)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fired(self) -> None:
        self._timer = None
        with self._listener.guard():
            if self.stalling:
                self._listener.stalled()
            elif self.turns:
                self._look_at_clock(time.monotonic())

    def _look_at_clock(self, now: float) -> None:
        turn = self.turns[0]
        start = self.service_start()
        flag = start + turn.clock.allowance
        if now < flag:
            self.arm(now)
            return
        lag = self._monitor.lag_between(start, now)
        if now < flag + lag:
            # The bot gets back what our own lag took; the answer may lie unread.
            self._set_timer(flag + lag, now)
            return
        self.stalling = True
        self._set_timer(now + self._stall, now)
        if turn.live:
            self._listener.flag_fell(turn, spent=now - start - lag, lag=lag)
