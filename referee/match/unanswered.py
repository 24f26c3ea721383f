"""Queue the turns that a bot has not answered, and run the clock of the oldest."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from referee.match.health import LagMonitor
    from referee.match.turns import OpenTurn

_TIMER_SLACK = 0.002
"""Seconds added to every timer: a loop's timers may fire a millisecond early."""


class UnansweredTurns:
    """Queue the turns that were sent and not answered, and run the clock of the oldest.

    Attributes:
        turns: oldest first, those of games that ended meanwhile included.
        last_arrival: when the last answer came.
        stalling: whether the flag of the oldest turn fell and its answer is still to come.
    """

    def __init__(
        self,
        *,
        monitor: LagMonitor,
        stall: float,
        flag_fell: Callable[[OpenTurn, float, float], None],
        stalled: Callable[[], None],
        void_on_error: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Create it inside the running loop.

        Args:
            monitor: measures the referee's lag.
            stall: seconds of silence after a time-out that make a stall.
            flag_fell: called when bank and margin of a live turn are spent, with the turn, the
                seconds spent (without our own lag), and the seconds of that lag.
            stalled: called when the silence after a time-out lasts for ``stall`` seconds.
            void_on_error: a context in which an exception voids the match.
        """
        self.turns: deque[OpenTurn] = deque()
        self.last_arrival = 0.0
        self.stalling = False
        self._flag_fell = flag_fell
        self._stalled = stalled
        self._void_on_error = void_on_error
        self._monitor = monitor
        self._stall = stall
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0

    def add_sent(self, turns: list[OpenTurn], now: float) -> None:
        """Add turns that are about to be written."""
        for turn in turns:
            turn.sent = now
        self.turns.extend(turns)
        self.set_clock(now)

    def service_start(self) -> float:
        """Return when the bot could begin with the oldest turn; there must be one."""
        return max(self.turns[0].sent, self.last_arrival)

    def note_answer(self, arrival: float) -> None:
        """Record when an answer came, and stop the timer of a stall."""
        self.last_arrival = arrival
        if self.stalling:
            self.stalling = False
            self._stop_timer()

    def drop(self, game: int, arrival: float) -> None:
        """Remove a game's turn; if it was the oldest, the bot was busy with it until now."""
        for place, turn in enumerate(self.turns):
            if turn.game == game:
                del self.turns[place]
                if place == 0:
                    self.note_answer(arrival)
                return

    def clear(self) -> None:
        """Remove every turn and stop the clock."""
        self.turns.clear()
        self._stop_timer()

    def set_clock(self, now: float) -> None:
        """Set a timer to fire no later than the flag of the oldest turn falls."""
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
        with self._void_on_error():
            if self.stalling:
                self._stalled()
            elif self.turns:
                self._check_clock(time.monotonic())

    def _check_clock(self, now: float) -> None:
        turn = self.turns[0]
        start = self.service_start()
        flag = start + turn.clock.allowance
        if now < flag:
            self.set_clock(now)
            return
        lag = self._monitor.lag_between(start, now)
        if now < flag + lag:
            # Our own lag is credited to the bot; its answer may still be unread.
            self._set_timer(flag + lag, now)
            return
        self.stalling = True
        self._set_timer(now + self._stall, now)
        if turn.live:
            self._flag_fell(turn, now - start - lag, lag)
