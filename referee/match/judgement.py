"""Judge one bot's messages, from the wire to the state of its games.

The checks run in this order, and the first that fails decides:

====  =============================  =======================  ==============================
no.   what must hold                 reason of the forfeit    what follows
====  =============================  =======================  ==============================
1     ready within the start limit   NO_SHOW                  the process is ended
1     the stream and the process     CRASH, OUT_OF_MEMORY,    the process is ended
      live until MatchOver           PRESSURE
2     a message is a PlayRequest of  INVALID_MESSAGE          the process is ended
      at most 64 KiB, of a kind that
      is due, and answers the oldest
      open turn
3     the answer comes before bank   TIMEOUT                  that game is lost
      and margin are spent
3     some answer comes within the   STALL                    the process is ended
      stall limit after a time-out
4, 5  the text is an action of the   ILLEGAL_ACTION           that game is lost; the third
      game, and legal now                                     time, the process is ended
6     nothing: the action is applied
====  =============================  =======================  ==============================

A process that is ended forfeits its table's open and future games; finished ones stand. A bot that
resigns loses that game (RESIGN). A time-out, of the start too, during which the referee itself
lagged for long voids the match, which is played again; not so if many threads of the bot itself
wanted the cores meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from referee import wire
from referee.clock import split_span
from referee.match.health import LagMonitor, pressure_clause, voids_timeout
from referee.match.outbox import Outbox
from referee.match.streams import GRPC_MESSAGE_LIMIT
from referee.match.unanswered import UnansweredTurns
from referee.outcome import ForfeitReason
from referee.v1 import referee_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from referee.errors import InputError
    from referee.match.permits import PermitPool
    from referee.match.turns import OpenTurn
    from referee.sandbox.process import ExitReport

ILLEGAL_LIMIT = 3
"""Illegal actions at one table that end a bot's process."""

EXIT_WAIT = 5.0
"""Seconds to wait for the exit code of a process whose stream has ended."""

LAST_MESSAGE_DELAY = 0.1
"""Seconds for which messages of a process that has ended may still be unread."""

MESSAGE_LIMIT = 64 << 10
"""Bytes of a bot's message; longer ones are not even parsed."""

PRESSURE_FROM = 4.0
"""Threads of one bot that want a core on average, from which lag is the bot's own doing."""

LAG_CREDIT_FROM = 0.020
"""Seconds of a charge from which the referee's own lag is subtracted; so it is, too, from any
charge that would make a flag fall."""


class SessionPhase(Enum):
    """Name the states of the protocol; the value says what is awaited."""

    HELLO = "the bot owes Hello"
    READY = "the bot owes Ready"
    PLAYING = "games are played"
    OVER = "the bot owes Goodbye"
    CLOSED = "nothing more is read or sent"


_ENDED = {SessionPhase.OVER, SessionPhase.CLOSED}
"""The phases in which the stream and the process may end."""


class Judgement(ABC):
    """Judge what one bot sends; `Session` adds the stream and what is sent to the bot.

    Subclasses apply the judgement: at a table `referee.match.connection.BotConnection`.

    Attributes:
        phase: the state of the protocol.
        parallel_games: the most games that are open at once; set by Hello.
    """

    def __init__(
        self,
        label: str,
        *,
        welcome: pb.Welcome,
        permits: PermitPool,
        monitor: LagMonitor,
        stall: float,
    ) -> None:
        """Create it inside the running loop.

        Args:
            label: names the bot in messages, ``table 0, bot 1``.
            welcome: the answer to Hello; its ``parallel_games`` is an upper bound.
            permits: a turn waits unsent and uncharged for one of these.
            monitor: measures the referee's lag.
            stall: seconds of silence after a time-out that end the process.
        """
        self.label = label
        self.phase = SessionPhase.HELLO
        self.parallel_games = 0
        self._illegal_actions = 0
        self._resigned: set[int] = set()
        self._welcome = welcome
        self._monitor = monitor
        self._stall = stall
        self._started = 0.0
        self._start_limit = 0.0
        self._start_timer: asyncio.TimerHandle | None = None
        self._exit_task: asyncio.Task[None] | None = None
        self._unanswered = UnansweredTurns(
            monitor=monitor,
            stall=stall,
            flag_fell=self._flag_fell,
            stalled=self._stalled,
            void_on_error=self.void_on_error,
        )
        self._outbox = Outbox(self._unanswered, permits=permits, void_on_error=self.void_on_error)

    # Callbacks: how a subclass applies the judgement.

    @abstractmethod
    def became_ready(self) -> None:
        """Let games begin: the bot said Ready."""

    @abstractmethod
    def apply(self, turn: OpenTurn, text: str) -> InputError | None:
        """Apply the answer to a live turn: checks 4 to 6.

        Returns:
            Why the text is no action of the game, or not legal now; then nothing has changed.
        """

    @abstractmethod
    def has_started(self, game: int) -> bool:
        """Return whether a game has started; it may be over."""

    @abstractmethod
    def forfeit_game(self, game: int, reason: ForfeitReason, detail: str) -> None:
        """Let the bot lose one game, unless that is over."""

    @abstractmethod
    def end_bot(self, reason: ForfeitReason, detail: str) -> None:
        """End the process; the bot loses its open games and those to come."""

    @abstractmethod
    async def wait_for_exit(self, limit: float) -> ExitReport | None:
        """Wait up to ``limit`` seconds for the end of the process."""

    @abstractmethod
    def void(self, message: str) -> None:
        """Void the match: the referee itself may have caused a time-out."""

    @abstractmethod
    def void_on_error(self) -> AbstractContextManager[None]:
        """Return a context in which an exception voids the match."""

    @property
    def may_think(self) -> bool:
        """Whether the bot owes anything for which it may use a core."""
        return self.phase is not SessionPhase.PLAYING or bool(self._unanswered.turns)

    def _is_voided(self, lag: float, *, span: float) -> bool:
        """Return whether our lag in the last ``span`` seconds voids a time-out of the bot."""
        return (
            voids_timeout(lag, span=span)
            and self.runnable_since(time.monotonic() - span) < PRESSURE_FROM
        )

    def runnable_since(self, start: float) -> float:
        """Return how many of the bot's threads wanted a core on average since ``start``."""
        del start
        return 0.0

    def close(self) -> None:
        """Stop reading and sending."""
        self.phase = SessionPhase.CLOSED
        self._unanswered.clear()
        self._outbox.close()

    # Check 1: the bot starts in time, and its stream and process live until MatchOver.

    def await_ready(self, limit: float) -> None:
        """Start the timer of Ready: ``limit`` seconds from now."""
        self._started = time.monotonic()
        self._start_limit = limit
        self._set_start_timer(limit)

    def seconds_since_start(self) -> float:
        """Return the seconds since `await_ready`."""
        return time.monotonic() - self._started

    def stop_start_timer(self) -> None:
        """Cancel the timer of Ready."""
        if self._start_timer is not None:
            self._start_timer.cancel()

    def _set_start_timer(self, seconds: float) -> None:
        self._start_timer = asyncio.get_running_loop().call_later(seconds, self._start_overdue)

    def _start_overdue(self) -> None:
        now = time.monotonic()
        spent = now - self._started
        lag = self._monitor.lag_between(self._started, now)
        if spent < self._start_limit + lag:
            # Our own lag is credited to the bot; its Ready may still be unread.
            self._set_start_timer(self._start_limit + lag - spent)
            return
        if self._is_voided(lag, span=spent):
            self.void(f"the referee lagged {lag:.3f} s while {self.label} started")
        owes = "Hello" if self.phase is SessionPhase.HELLO else "Ready"
        with self.void_on_error():
            self.end_bot(
                ForfeitReason.NO_SHOW, f"no {owes} within {self._start_limit:g} s of its start"
            )

    def process_exited(self) -> None:
        """Judge the end of the process, once its last messages have been read."""
        if self.phase not in _ENDED:
            asyncio.get_running_loop().call_later(LAST_MESSAGE_DELAY, self.stream_ended)

    def stream_ended(self) -> None:
        """Judge the end of the stream; before MatchOver, wait for the process's exit first."""
        early = self.phase not in _ENDED
        self.close()
        if early:
            self._exit_task = asyncio.create_task(self._report_exit())

    async def _report_exit(self) -> None:
        report = await self.wait_for_exit(EXIT_WAIT)
        with self.void_on_error():
            self.end_bot(*early_end(report))

    async def exit_reported(self) -> None:
        """Wait until an early end of the stream has been judged."""
        if self._exit_task is not None:
            await self._exit_task

    # Check 2: the message is well-formed and in order.

    def receive(self, data: bytes, arrival: float) -> None:
        """Judge one message of the bot that arrived at this moment of `time.monotonic`."""
        if self.phase is SessionPhase.CLOSED:
            return
        if len(data) > MESSAGE_LIMIT:
            self._refuse(f"a message of {len(data)} bytes; the limit is {MESSAGE_LIMIT}")
            return
        try:
            message = pb.PlayRequest.FromString(data)
        except DecodeError:
            self._refuse(f"a message of {len(data)} bytes that is no PlayRequest")
            return
        kind = message.WhichOneof("content")
        if kind == "actions" and self.phase is SessionPhase.PLAYING:
            self._receive_actions(message.actions.actions, arrival)
        elif kind == "hello" and self.phase is SessionPhase.HELLO:
            self._receive_hello(message.hello)
        elif kind == "ready" and self.phase is SessionPhase.READY:
            self.phase = SessionPhase.PLAYING
            self.stop_start_timer()
            self.became_ready()
        elif kind == "resign" and self.phase is SessionPhase.PLAYING:
            self._receive_resign(message.resign.game, arrival)
        elif self.phase is not SessionPhase.OVER:
            self._refuse(f"{kind or 'an empty message'} came while {self.phase.value}")
        # Else it is Goodbye, or was sent before MatchOver arrived.

    def misused(self, detail: str) -> None:
        """End a process that made another call than its one stream."""
        with self.void_on_error():
            self._refuse(f"a call that is not its stream: {detail}")

    def _refuse(self, detail: str) -> None:
        self.end_bot(ForfeitReason.INVALID_MESSAGE, detail)

    def _receive_hello(self, hello: pb.Hello) -> None:
        if hello.protocol.major > wire.PROTOCOL[0]:
            self._refuse(
                f"protocol {hello.protocol.major}.{hello.protocol.minor} is newer than this "
                f"referee's {wire.PROTOCOL[0]}.{wire.PROTOCOL[1]}; use an older SDK"
            )
            return
        self.phase = SessionPhase.READY
        welcome = self._welcome
        if hello.parallel_games > 0:
            welcome.parallel_games = min(welcome.parallel_games, hello.parallel_games)
        self.parallel_games = welcome.parallel_games
        self._outbox.post(pb.PlayResponse(welcome=welcome))

    def _receive_resign(self, game: int, arrival: float) -> None:
        # The open turn of a resigned game needs no answer (see Resign in the protocol).
        self._unanswered.drop(game, arrival)
        self._outbox.drop(game)
        if not self.has_started(game):
            self._refuse(f"Resign of game {game}, never started")
        elif game in self._resigned:
            self._refuse(f"Resign of game {game} a second time")
        else:
            # The game may have ended before the message arrived.
            self._resigned.add(game)
            self.forfeit_game(game, ForfeitReason.RESIGN, "the bot resigned")
        self._after_answers(arrival)

    def _receive_actions(self, actions: Sequence[pb.Action], arrival: float) -> None:
        if not actions:
            self._refuse("Actions without an action")
            return
        unanswered = self._unanswered
        turns = unanswered.turns
        span = arrival - unanswered.service_start() if turns else 0.0
        shares = (
            [span]
            if len(actions) == 1
            else split_span(span, [action.elapsed_us * 1e-6 for action in actions])
        )
        unanswered.note_answer(arrival)
        for action, share in zip(actions, shares, strict=True):
            if not turns or turns[0].game != action.game or turns[0].ply != action.ply:
                self._refuse(self._out_of_order(action))
                return
            turn = turns.popleft()
            if turn.live:
                turn.arrival = arrival
                # What the bot says of itself, as far as it can be true.
                turn.think_us = min(max(0, action.elapsed_us), int((arrival - turn.sent) * 1e6))
                self._judge_answer(turn, action.action, share)
                if self.phase is not SessionPhase.PLAYING:
                    return
        self._after_answers(arrival)

    def _out_of_order(self, action: pb.Action) -> str:
        what = f"an answer to game {action.game}, ply {action.ply}"
        turns = self._unanswered.turns
        if not turns:
            return f"{what}, but no turn is open: it was answered before, or never asked"
        expected = f"the oldest open turn is game {turns[0].game}, ply {turns[0].ply}"
        if any(turn.game == action.game and turn.ply == action.ply for turn in turns):
            return f"{what}, but {expected}; answer turns in the order in which they came"
        return f"{what}, which is not open: it was answered before, or never asked; {expected}"

    def _after_answers(self, now: float) -> None:
        self._unanswered.set_clock(now)
        self._outbox.after_answers()

    # Checks 3 to 6: the answer is in time, an action, legal; then it is applied.

    def _judge_answer(self, turn: OpenTurn, text: str, share: float) -> None:
        lag = 0.0
        if share > LAG_CREDIT_FROM or share > turn.clock.allowance:
            lag = min(share, self._monitor.lag_between(turn.arrival - share, turn.arrival))
        turn.charged = share - lag
        if not turn.clock.charge(turn.charged):
            self._flag_fell(turn, turn.charged, lag)
            return
        error = self.apply(turn, text)
        if error is not None:
            self._forfeit_illegal(turn, str(error))

    def _forfeit_illegal(self, turn: OpenTurn, error: str) -> None:
        self._illegal_actions += 1
        self.forfeit_game(turn.game, ForfeitReason.ILLEGAL_ACTION, error)
        if self._illegal_actions >= ILLEGAL_LIMIT:
            self.end_bot(
                ForfeitReason.ILLEGAL_ACTION,
                f"the process was ended after {ILLEGAL_LIMIT} illegal actions, the last: {error}",
            )

    # Check 3: called for a late answer, or by the clock of `UnansweredTurns` while none comes.

    def _flag_fell(self, turn: OpenTurn, spent: float, lag: float) -> None:
        turn.live = False
        if self._is_voided(lag, span=spent + lag):
            self.void(
                f"the referee lagged {lag:.3f} s during a turn of {self.label}{pressure_clause()}"
            )
            return
        self.forfeit_game(
            turn.game,
            ForfeitReason.TIMEOUT,
            f"{spent:.3f} s for one turn with {turn.clock.bank:.3f} s left in the bank of "
            f"{turn.clock.control}",
        )

    def _stalled(self) -> None:
        self.end_bot(ForfeitReason.STALL, f"no answer for {self._stall:g} s after a time-out")


def early_end(report: ExitReport | None) -> tuple[ForfeitReason, str]:
    """Return reason and detail of the forfeit when a stream ends before MatchOver.

    Args:
        report: the exit of its process; None while it runs.
    """
    if report is None:
        return ForfeitReason.CRASH, (
            f"the process closed its stream, or sent a message of more than "
            f"{GRPC_MESSAGE_LIMIT} bytes, and went on running"
        )
    if report.overuse:
        reason = ForfeitReason.PRESSURE if report.pressed else ForfeitReason.OUT_OF_MEMORY
        return reason, f"the process was ended: {report}"
    return ForfeitReason.CRASH, f"the process ended early: {report}"
