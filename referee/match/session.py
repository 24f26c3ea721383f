"""One bot's stream: what it may say when, what it is charged for, what it is sent.

The order of judgement is kept here up to the clock: stream alive, message well-formed and in
order, in time. Parsing, legality and application are the table's.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import grpc
from google.protobuf.message import DecodeError

from referee import wire
from referee.clock import SeatClock, TimeControl, split_span
from referee.match.health import VOID_LAG, LagMonitor
from referee.match.permits import PermitPool
from referee.outcome import Forfeit, ForfeitReason, Outcome, Termination
from referee.v1 import referee_pb2 as pb

MESSAGE_LIMIT = 64 << 10
"""Bytes of a bot's message; longer ones are not even parsed."""

NEWS_DELAY = 0.050
"""Seconds that starts and ends of games wait for turns to travel with."""

LAG_CREDIT_FROM = 0.020
"""Seconds of a charge from which the referee's own lag is looked up and taken off."""


class Phase(Enum):
    """How far the conversation has come."""

    HELLO = "the bot owes Hello"
    READY = "the bot owes Ready"
    PLAYING = "games are played"
    OVER = "the bot owes Goodbye"
    CLOSED = "nothing more is read or sent"


class OpenTurn:
    """A turn that a bot owes an answer to, or will owe once it is sent."""

    __slots__ = (
        "clock", "events", "game", "legal_actions", "live", "observation", "ply", "ready", "sent",
        "subject",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 -- a record on the hot path
        self,
        *,
        subject: Any,
        game: int,
        ply: int,
        clock: SeatClock,
        legal_actions: tuple[str, ...],
        events: tuple[str, ...],
        observation: Any,
        ready: float,
    ) -> None:
        self.subject = subject
        self.game = game
        self.ply = ply
        self.clock = clock
        self.legal_actions = legal_actions
        self.events = events
        self.observation = observation
        self.ready = ready
        self.sent = 0.0
        self.live = True


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that came in order and in time.

    Attributes:
        text: what the bot wants to do.
        arrival: when it came, by `time.monotonic`.
        charged: seconds that the clock was charged, the free part included.
        think: seconds that the bot says it thought.
    """

    text: str
    arrival: float
    charged: float
    think: float


class SessionListener(Protocol):
    """What a table hears from its sessions."""

    def greeted(self, session: Session, hello: pb.Hello) -> None:
        """Hear that the bot said Hello."""

    def became_ready(self, session: Session) -> None:
        """Hear that the bot said Ready."""

    def answered(self, session: Session, turn: OpenTurn, answer: Answer) -> None:
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
        self.label = label
        self.phase = Phase.HELLO
        self.parallel_games = 0
        self._listener = listener
        self._permits = permits
        self._monitor = monitor
        self._stall = stall
        self._loop = asyncio.get_running_loop()
        # What waits to be written.
        self._wake = asyncio.Event()
        self._letters: deque[pb.PlayResponse] = deque()
        self._news = pb.PlayResponse()
        self._has_news = False
        self._news_timer: asyncio.TimerHandle | None = None
        self._waiting: deque[OpenTurn] = deque()
        self._fresh: list[OpenTurn] = []
        # What the bot owes.
        self._owed: deque[OpenTurn] = deque()
        self._last_arrival = 0.0
        self._stalling = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        # The thinking permit.
        self._has_permit = False
        self._asked_permit = False

    # What the table says.

    def welcome(
        self, *, ruleset: str, seats: int, control: TimeControl, parallel_games: int
    ) -> None:
        """Answer Hello."""
        self._post(
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
            self._news.turns.games_started.add(game=game, seat=seat, seed=seed)
            self._note_news()

    def end_game(
        self, *, game: int, termination: Termination, outcome: Outcome, forfeits: tuple[Forfeit, ...]
    ) -> None:
        """Tell the bot that a game is over."""
        if self.phase is Phase.PLAYING:
            wire.fill_game_over(
                self._news.turns.games_over.add(),
                game=game,
                termination=termination,
                outcome=outcome,
                forfeits=forfeits,
            )
            self._note_news()

    def ask(self, turn: OpenTurn) -> None:
        """Put a turn to the bot as soon as it has a permit to think."""
        self._waiting.append(turn)
        self._wake.set()

    def finish(self) -> None:
        """Tell the bot that every game of the table is over."""
        if self.phase is Phase.PLAYING:
            self.phase = Phase.OVER
            self._forget_turns()
            self._post(pb.PlayResponse(match_over=pb.MatchOver()))

    def close(self) -> None:
        """Read and send nothing more."""
        self.phase = Phase.CLOSED
        self._forget_turns()
        self._wake.set()

    def _forget_turns(self) -> None:
        self._owed.clear()
        self._waiting.clear()
        self._stop_timer()
        self._stop_news_timer()
        self._let_permit_go()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # The stream.

    async def converse(self, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        """Carry the conversation over a stream until the bot's side of it ends."""
        writer = asyncio.create_task(self._write(context))
        try:
            while (data := await context.read()) is not grpc.aio.EOF:  # type: ignore[attr-defined]
                with self._listener.guard():
                    self.receive(data, time.monotonic())
        finally:
            if self.phase is not Phase.CLOSED:
                early = self.phase is not Phase.OVER
                self.close()
                if early:
                    self._listener.vanished(self)
        await writer

    async def _write(self, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        """Write what is ready, one message at a time; a blocked write is never cancelled."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                while (message := self._compose()) is not None:
                    data = message.SerializeToString()
                    self._stamp()
                    await context.write(data)
                if self.phase is Phase.CLOSED:
                    return
        except (grpc.aio.BaseError, grpc.RpcError):
            # The stream is gone; the reader sees its end and says so.
            return

    def _post(self, message: pb.PlayResponse) -> None:
        self._letters.append(message)
        self._wake.set()

    def _compose(self) -> pb.PlayResponse | None:
        """Return the next message to write, or None."""
        if self.phase is Phase.CLOSED:
            return None
        self._fresh = []
        sends_turns = self._may_send_turns()
        news_is_due = self._has_news and (self._news_timer is None or self._letters)
        if sends_turns or news_is_due:
            message, self._news, self._has_news = self._news, pb.PlayResponse(), False
            self._stop_news_timer()
            if sends_turns:
                self._add_turns(message.turns)
            return message
        return self._letters.popleft() if self._letters else None

    def _add_turns(self, turns: pb.Turns) -> None:
        waiting, self._waiting = self._waiting, deque()
        for turn in waiting:
            if turn.live:
                wire.fill_turn(
                    turns.turns.add(),
                    game=turn.game,
                    ply=turn.ply,
                    time_left=turn.clock.bank,
                    legal_actions=turn.legal_actions,
                    events=turn.events,
                    observation=turn.observation,
                )
                self._fresh.append(turn)

    def _stamp(self) -> None:
        """Note when the turns of the message that is about to be written were sent."""
        if self._fresh:
            now = time.monotonic()
            for turn in self._fresh:
                turn.sent = now
            self._owed.extend(self._fresh)
            self._fresh = []
            self._arm(now)

    def _note_news(self) -> None:
        """News travels with the next turns; alone only when there are none for a while."""
        self._has_news = True
        if self._news_timer is None:
            self._news_timer = self._loop.call_later(NEWS_DELAY, self._news_overdue)

    def _news_overdue(self) -> None:
        self._news_timer = None
        self._wake.set()

    def _stop_news_timer(self) -> None:
        if self._news_timer is not None:
            self._news_timer.cancel()
            self._news_timer = None

    # Permits.

    def _may_send_turns(self) -> bool:
        while self._waiting and not self._waiting[0].live:
            self._waiting.popleft()
        if not self._waiting and not self._owed:
            # The turn that the permit was asked for died while it waited.
            self._let_permit_go()
        if not self._waiting or self._stalling:
            return False
        if self._owed and (self._permits.contended or len(self._waiting) < len(self._owed)):
            # The bot has enough to do: what waits goes out in fewer, larger messages.
            return False
        if self._has_permit:
            return True
        if not self._asked_permit:
            self._asked_permit = True
            self._permits.request(self._permit_granted)
        return self._has_permit

    def _permit_granted(self) -> None:
        self._asked_permit = False
        self._has_permit = True
        self._wake.set()

    def _let_permit_go(self) -> None:
        if self._asked_permit:
            self._permits.withdraw(self._permit_granted)
            self._asked_permit = False
        if self._has_permit:
            self._has_permit = False
            self._permits.give_back()

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
            self._receive_resign(message.resign.game)
        elif self.phase is Phase.OVER:
            # Goodbye, or what crossed our MatchOver on its way.
            return
        else:
            self._violate(f"{kind or 'an empty message'} came while {self.phase.value}")

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

    def _receive_resign(self, game: int) -> None:
        # "No answer is owed to the game's open turn": it leaves the line without an answer.
        for line in (self._owed, self._waiting):
            for turn in [turn for turn in line if turn.game == game]:
                line.remove(turn)
        self._end_stall()
        self._listener.resigned(self, game)
        self._settle()

    def _receive_actions(self, actions: Any, arrival: float) -> None:
        if not actions:
            self._violate("Actions without an action")
            return
        owed = self._owed
        start = max(owed[0].sent, self._last_arrival) if owed else arrival
        shares = (
            [arrival - start]
            if len(actions) == 1
            else split_span(arrival - start, [action.elapsed_us * 1e-6 for action in actions])
        )
        self._last_arrival = arrival
        self._end_stall()
        for action, share in zip(actions, shares, strict=True):
            if not owed or owed[0].game != action.game or owed[0].ply != action.ply:
                self._violate(self._out_of_order(action))
                return
            turn = owed.popleft()
            if turn.live:
                self._judge_time(turn, action, share, arrival)
                if self.phase is not Phase.PLAYING:
                    return
        self._settle()

    def _end_stall(self) -> None:
        if self._stalling:
            self._stalling = False
            self._stop_timer()

    def _judge_time(self, turn: OpenTurn, action: pb.Action, share: float, arrival: float) -> None:
        lag = 0.0
        if share > LAG_CREDIT_FROM:
            lag = self._monitor.lag_between(arrival - share, arrival)
        spent = max(0.0, share - lag)
        if turn.clock.charge(spent):
            answer = Answer(action.action, arrival, spent, action.elapsed_us * 1e-6)
            self._listener.answered(self, turn, answer)
        else:
            self._flag(turn, spent, lag)

    def _flag(self, turn: OpenTurn, spent: float, lag: float) -> None:
        turn.live = False
        if lag >= VOID_LAG:
            self._listener.lagged(self, lag)
        else:
            self._listener.timed_out(self, turn, spent)

    def _out_of_order(self, action: pb.Action) -> str:
        what = f"an answer to game {action.game}, ply {action.ply}"
        if not self._owed:
            return f"{what}, but no turn is open: it was answered before, or never asked"
        head = self._owed[0]
        expected = f"the oldest open turn is game {head.game}, ply {head.ply}"
        if any(t.game == action.game and t.ply == action.ply for t in self._owed):
            return f"{what}, but {expected}; answer turns in the order in which they came"
        return f"{what}, which is not open: it was answered before, or never asked; {expected}"

    def _violate(self, detail: str) -> None:
        self._listener.broke(self, ForfeitReason.INVALID_MESSAGE, detail)

    def _settle(self) -> None:
        """After answers: give an unused permit back, and see what may be sent next."""
        if not self._owed and self._has_permit and (self._permits.contended or not self._waiting):
            self._let_permit_go()
        if self._waiting:
            self._wake.set()
        elif self._owed:
            self._arm(self._last_arrival)

    # The clock of the oldest open turn.

    def _arm(self, now: float) -> None:
        """See to it that a timer fires no later than the oldest open turn's flag."""
        if self._stalling or not self._owed:
            return
        due = self._flag_time()
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer_due = due
        # A loop's timers may fire a millisecond early.
        self._timer = self._loop.call_later(max(0.0, due - now) + 0.002, self._timer_fired)

    def _flag_time(self) -> float:
        head = self._owed[0]
        return max(head.sent, self._last_arrival) + head.clock.allowance

    def _timer_fired(self) -> None:
        with self._listener.guard():
            self._look_at_clock()

    def _look_at_clock(self) -> None:
        self._timer = None
        if self._stalling:
            self._listener.broke(
                self,
                ForfeitReason.STALL,
                f"no answer for {self._stall:g} s after a time-out",
            )
            return
        if not self._owed:
            return
        now = time.monotonic()
        head = self._owed[0]
        start = max(head.sent, self._last_arrival)
        lag = self._monitor.lag_between(start, now)
        if now < start + head.clock.allowance:
            self._arm(now)
        elif now < start + head.clock.allowance + lag:
            # The bot gets back what our own lag took; the answer may lie unread.
            self._timer_due = start + head.clock.allowance + lag
            self._timer = self._loop.call_later(
                self._timer_due - now + 0.002, self._timer_fired
            )
        else:
            self._flag_fell(head, spent=now - start, lag=lag)

    def _flag_fell(self, head: OpenTurn, *, spent: float, lag: float) -> None:
        """Forfeit the oldest turn, and give the process `stall` seconds to say anything."""
        self._stalling = True
        self._timer_due = 0.0
        self._timer = self._loop.call_later(self._stall, self._timer_fired)
        if head.live:
            self._flag(head, spent - lag, lag)
