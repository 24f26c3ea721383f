"""Queue and batch what is sent to one bot: messages, starts and ends of games, and turns."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING

import grpc
import grpc.aio

from referee import wire
from referee.match.permits import Permit, PermitPool
from referee.v1 import referee_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from referee.games.replay import ReplayGame
    from referee.match.turns import OpenTurn
    from referee.match.unanswered import UnansweredTurns

EVENTS_DELAY = 0.050
"""Seconds that starts and ends of games wait to be sent in one message with turns."""


class Outbox:
    """Queue what is sent to one bot, and write it, one message at a time.

    Turns wait for a thinking permit; once written they are added to the unanswered ones.
    """

    def __init__(
        self,
        unanswered: UnansweredTurns,
        *,
        permits: PermitPool,
        void_on_error: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._unanswered = unanswered
        self._void_on_error = void_on_error
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._permit = Permit(permits, granted=self._wake.set)
        self._messages: deque[pb.PlayResponse] = deque()
        self._game_events = pb.PlayResponse()
        self._has_events = False
        self._events_timer: asyncio.TimerHandle | None = None
        self._waiting: deque[OpenTurn] = deque()
        self._closed = False

    def post(self, message: pb.PlayResponse) -> None:
        """Queue a message behind the starts and ends of games."""
        self._messages.append(message)
        self._wake.set()

    def game_starts(self, *, game: int, seat: int, seed: bytes) -> None:
        """Queue the start of a game."""
        self._game_events.turns.games_started.add(game=game, seat=seat, seed=seed)
        self._event_added()

    def game_ends(self, game: ReplayGame) -> None:
        """Queue the end of a game."""
        wire.fill_game_over(self._game_events.turns.games_over.add(), game)
        self._event_added()

    def ask(self, turn: OpenTurn) -> None:
        """Queue a turn until the bot has a thinking permit."""
        self._waiting.append(turn)
        self._wake.set()

    def drop(self, game: int) -> None:
        """Cancel a game's queued turn."""
        for turn in self._waiting:
            if turn.game == game:
                turn.live = False

    def after_answers(self) -> None:
        """Release an unused permit, and send the next turns that may be sent."""
        if not self._unanswered.turns and (self._permit.contended or not self._waiting):
            self._permit.release()
        if self._waiting:
            self._wake.set()

    def clear(self) -> None:
        """Drop the queued turns; messages and ends of games are still sent."""
        self._waiting.clear()
        self._stop_events_timer()
        self._permit.release()

    def close(self) -> None:
        """Send nothing more."""
        self._closed = True
        self.clear()
        self._wake.set()

    async def write(self, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        """Write queued messages until the outbox is closed; never cancels a blocked write."""
        try:
            while not self._closed:
                await self._wake.wait()
                self._wake.clear()
                while (data := self._next()) is not None:
                    await context.write(data)
        except (grpc.aio.BaseError, grpc.RpcError):
            # The stream has ended; the reader reports that.
            return

    def _next(self) -> bytes | None:
        """Return the next message to write, or None."""
        with self._void_on_error():
            return self._compose()
        return None

    def _compose(self) -> bytes | None:
        if self._closed:
            return None
        if self._may_send_turns():
            message = self._take_events()
            turns = self._add_turns(message.turns)
            data = message.SerializeToString()
            # Stamped after serialization and before the write: the bot is charged for neither.
            self._unanswered.add_sent(turns, time.monotonic())
            return data
        if self._has_events and (self._events_timer is None or self._messages):
            return self._take_events().SerializeToString()
        return self._messages.popleft().SerializeToString() if self._messages else None

    def _may_send_turns(self) -> bool:
        waiting = self._waiting
        unanswered = self._unanswered.turns
        while waiting and not waiting[0].live:
            waiting.popleft()
        if not waiting:
            if not unanswered:
                # The turn for which the permit was requested was cancelled.
                self._permit.release()
            return False
        if self._unanswered.stalling:
            return False
        if unanswered and (len(waiting) < len(unanswered) or self._permit.contended):
            # The bot is busy: batch the queued turns into fewer, larger messages.
            return False
        return self._permit.acquire()

    def _add_turns(self, turns: pb.Turns) -> list[OpenTurn]:
        live = [turn for turn in self._waiting if turn.live]
        self._waiting.clear()
        add = turns.turns.add
        for turn in live:
            wire.fill_turn(
                add(),
                game=turn.game,
                ply=turn.ply,
                time_left=turn.clock.bank,
                legal_actions=turn.legal_actions,
                events=turn.events,
                observation=turn.observation,
            )
        return live

    def _take_events(self) -> pb.PlayResponse:
        events, self._game_events, self._has_events = self._game_events, pb.PlayResponse(), False
        self._stop_events_timer()
        return events

    def _event_added(self) -> None:
        """Send it with the next turns, or alone after `EVENTS_DELAY`."""
        self._has_events = True
        if self._events_timer is None:
            self._events_timer = self._loop.call_later(EVENTS_DELAY, self._events_overdue)

    def _events_overdue(self) -> None:
        self._events_timer = None
        self._wake.set()

    def _stop_events_timer(self) -> None:
        if self._events_timer is not None:
            self._events_timer.cancel()
            self._events_timer = None
