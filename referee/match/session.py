"""One bot's stream: what it may say when, and what it is charged for.

The order of judgement is kept here up to the clock: stream alive, message well-formed and in
order, in time. Parsing, legality and application are the table's.
"""

from __future__ import annotations

import asyncio
import time
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from google.protobuf.message import DecodeError

from referee import wire
from referee.clock import TimeControl, split_span
from referee.match.health import LagMonitor, excuses
from referee.match.outbox import Outbox
from referee.match.owed import OwedTurns
from referee.outcome import Forfeit, ForfeitReason, Outcome, Termination
from referee.v1 import referee_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import grpc.aio

    from referee.match.permits import PermitPool
    from referee.match.turns import OpenTurn

MESSAGE_LIMIT = 64 << 10
"""Bytes of a bot's message; longer ones are not even parsed."""

LAG_CREDIT_FROM = 0.020
"""Seconds of a charge from which the referee's own lag is looked up and taken off; it is looked up
for a shorter one, too, before a flag falls."""


class Phase(Enum):
    """How far the conversation has come."""

    HELLO = "the bot owes Hello"
    READY = "the bot owes Ready"
    PLAYING = "games are played"
    OVER = "the bot owes Goodbye"
    CLOSED = "nothing more is read or sent"


class SessionListener(Protocol):
    """What a table hears from its sessions."""

    def greeted(self, session: Session, hello: pb.Hello) -> None:
        """Hear that the bot said Hello."""

    def became_ready(self, session: Session) -> None:
        """Hear that the bot said Ready."""

    def answered(self, session: Session, turn: OpenTurn, text: str) -> None:
        """Hear a live turn's answer, in order and in time."""

    def timed_out(self, session: Session, turn: OpenTurn, spent: float) -> None:
        """Hear that bank and margin of a live turn are spent."""

    def resigned(self, session: Session, game: int) -> None:
        """Hear that the bot gives a game up."""

    def broke(self, session: Session, reason: ForfeitReason, detail: str) -> None:
        """Hear that the process must be ended: it stalls, or broke the protocol."""

    def vanished(self, session: Session) -> None:
        """Hear that the stream ended before the conversation did."""

    def lagged(self, session: Session, lag: float) -> None:
        """Hear that a time-out fell while the referee itself lagged."""

    def guard(self) -> AbstractContextManager[None]:
        """Return a context in which an exception is our own fault, and voids the match."""


class Session:
    """The referee's side of one bot process's stream.

    Attributes:
        label: who this is in logs and sentences, ``table 0, bot 1``.
        phase: how far the conversation has come.
        parallel_games: the most games that the bot accepts at once; set by Hello.
    """

    def __init__(
        self,
        label: str,
        *,
        listener: SessionListener,
        permits: PermitPool,
        monitor: LagMonitor,
        stall: float,
    ) -> None:
        """Create it inside the running loop.

        Args:
            label: who this is.
            listener: the table.
            permits: a turn waits unsent and uncharged for one of these.
            monitor: what knows when the referee lagged.
            stall: seconds of silence after a time-out that end the process.
        """
        self.label = label
        self.phase = Phase.HELLO
        self.parallel_games = 0
        self._listener = listener
        self._monitor = monitor
        self._stall = stall
        self._owed = OwedTurns(self, monitor=monitor, stall=stall)
        self._outbox = Outbox(self._owed, permits=permits, guard=listener.guard)
        self._writer: asyncio.Task[None] | None = None

    # What the table says.

    def welcome(
        self, *, ruleset: str, seats: int, control: TimeControl, parallel_games: int
    ) -> None:
        """Answer Hello."""
        self._outbox.post(
            pb.PlayResponse(
                welcome=pb.Welcome(
                    protocol=wire.protocol_to_pb(),
                    ruleset=ruleset,
                    seats=seats,
                    time_control=wire.time_control_to_pb(control),
                    parallel_games=parallel_games,
                )
            )
        )

    def start_game(self, *, game: int, seat: int, seed: bytes) -> None:
        """Tell the bot that a game starts."""
        if self.phase is Phase.PLAYING:
            self._outbox.game_starts(game=game, seat=seat, seed=seed)

    def end_game(
        self,
        *,
        game: int,
        termination: Termination,
        outcome: Outcome,
        forfeits: tuple[Forfeit, ...],
    ) -> None:
        """Tell the bot that a game is over."""
        if self.phase is Phase.PLAYING:
            self._outbox.game_ends(
                game=game, termination=termination, outcome=outcome, forfeits=forfeits
            )

    def ask(self, turn: OpenTurn) -> None:
        """Put a turn to the bot as soon as it has a permit to think."""
        if self.phase is Phase.PLAYING:
            self._outbox.ask(turn)

    def finish(self) -> None:
        """Tell the bot that every game of the table is over."""
        if self.phase is Phase.PLAYING:
            self.phase = Phase.OVER
            self._owed.clear()
            self._outbox.clear()
            self._outbox.post(pb.PlayResponse(match_over=pb.MatchOver()))

    def close(self) -> None:
        """Read and send nothing more."""
        self.phase = Phase.CLOSED
        self._owed.clear()
        self._outbox.close()

    # The stream.

    async def converse(self, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        """Carry the conversation over a stream until the bot's side of it ends."""
        self._writer = asyncio.create_task(self._outbox.write(context))
        try:
            # The method is served without a deserializer: messages are bytes.
            while isinstance(data := await context.read(), bytes):
                with self._listener.guard():
                    self.receive(data, time.monotonic())
        finally:
            early = self.phase not in {Phase.OVER, Phase.CLOSED}
            self.close()
            if early:
                self._listener.vanished(self)
        await self._writer

    # What the bot says.

    def receive(self, data: bytes, arrival: float) -> None:
        """Judge one message of the bot.

        Args:
            data: the message as it came.
            arrival: when it came, by `time.monotonic`.
        """
        if self.phase is Phase.CLOSED:
            return
        if len(data) > MESSAGE_LIMIT:
            self._violate(f"a message of {len(data)} bytes; the limit is {MESSAGE_LIMIT}")
            return
        try:
            message = pb.PlayRequest.FromString(data)
        except DecodeError:
            self._violate(f"a message of {len(data)} bytes that is no PlayRequest")
            return
        kind = message.WhichOneof("content")
        if kind == "actions" and self.phase is Phase.PLAYING:
            self._receive_actions(message.actions.actions, arrival)
        elif kind == "hello" and self.phase is Phase.HELLO:
            self._receive_hello(message.hello)
        elif kind == "ready" and self.phase is Phase.READY:
            self.phase = Phase.PLAYING
            self._listener.became_ready(self)
        elif kind == "resign" and self.phase is Phase.PLAYING:
            self._receive_resign(message.resign.game, arrival)
        elif self.phase is not Phase.OVER:
            self._violate(f"{kind or 'an empty message'} came while {self.phase.value}")
        # Else it is Goodbye, or what crossed our MatchOver on its way.

    def _receive_hello(self, hello: pb.Hello) -> None:
        if hello.protocol.major > wire.PROTOCOL[0]:
            self._violate(
                f"protocol {hello.protocol.major}.{hello.protocol.minor} is newer than this "
                f"referee's {wire.PROTOCOL[0]}.{wire.PROTOCOL[1]}; use an older SDK"
            )
            return
        self.phase = Phase.READY
        self.parallel_games = max(0, hello.parallel_games)
        self._listener.greeted(self, hello)

    def _receive_resign(self, game: int, arrival: float) -> None:
        # "No answer is owed to the game's open turn": it leaves the line without an answer.
        self._owed.drop(game, arrival)
        self._outbox.drop(game)
        self._listener.resigned(self, game)
        self._settle(arrival)

    def _receive_actions(self, actions: Sequence[pb.Action], arrival: float) -> None:
        if not actions:
            self._violate("Actions without an action")
            return
        owed = self._owed
        turns = owed.turns
        span = arrival - owed.service_start() if turns else 0.0
        shares = (
            [span]
            if len(actions) == 1
            else split_span(span, [action.elapsed_us * 1e-6 for action in actions])
        )
        owed.heard(arrival)
        for action, share in zip(actions, shares, strict=True):
            if not turns or turns[0].game != action.game or turns[0].ply != action.ply:
                self._violate(self._out_of_order(action))
                return
            turn = turns.popleft()
            if turn.live:
                turn.arrival = arrival
                turn.think_us = max(0, action.elapsed_us)
                self._judge_time(turn, action.action, share)
                if self.phase is not Phase.PLAYING:
                    return
        self._settle(arrival)

    def _judge_time(self, turn: OpenTurn, text: str, share: float) -> None:
        lag = 0.0
        if share > LAG_CREDIT_FROM or share > turn.clock.allowance:
            lag = min(share, self._monitor.lag_between(turn.arrival - share, turn.arrival))
        turn.charged = share - lag
        if turn.clock.charge(turn.charged):
            self._listener.answered(self, turn, text)
        else:
            self.flag_fell(turn, spent=turn.charged, lag=lag)

    def _settle(self, now: float) -> None:
        self._owed.arm(now)
        self._outbox.settle()

    def _out_of_order(self, action: pb.Action) -> str:
        what = f"an answer to game {action.game}, ply {action.ply}"
        turns = self._owed.turns
        if not turns:
            return f"{what}, but no turn is open: it was answered before, or never asked"
        expected = f"the oldest open turn is game {turns[0].game}, ply {turns[0].ply}"
        if any(turn.game == action.game and turn.ply == action.ply for turn in turns):
            return f"{what}, but {expected}; answer turns in the order in which they came"
        return f"{what}, which is not open: it was answered before, or never asked; {expected}"

    def _violate(self, detail: str) -> None:
        self._listener.broke(self, ForfeitReason.INVALID_MESSAGE, detail)

    # What the clock says (ClockListener).

    def flag_fell(self, turn: OpenTurn, *, spent: float, lag: float) -> None:
        """Tell the table of a time-out, or that our own lag may have caused it."""
        turn.live = False
        if excuses(lag, span=spent + lag):
            self._listener.lagged(self, lag)
        else:
            self._listener.timed_out(self, turn, spent)

    def stalled(self) -> None:
        """Tell the table that the process must be ended."""
        self._listener.broke(
            self, ForfeitReason.STALL, f"no answer for {self._stall:g} s after a time-out"
        )

    def guard(self) -> AbstractContextManager[None]:
        """Return the table's context in which an exception is our own fault."""
        return self._listener.guard()
