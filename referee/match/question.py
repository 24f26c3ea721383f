"""Puts stored turns to a bot, over the very protocol of a match; no clock runs."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from referee.clock import SeatClock, TimeControl
from referee.errors import InvalidBotError
from referee.match.chair import early_end
from referee.match.health import LagMonitor
from referee.match.permits import PermitPool
from referee.match.session import Session
from referee.match.streams import StreamServer
from referee.match.turns import OpenTurn
from referee.outcome import ForfeitReason
from referee.sandbox.process import GRACE, BotProcess, ExitReport
from referee.sandbox.sandbox import BotCommand, bot_environment, resolve_program
from referee.tasks import see_through

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from referee.bot_folder import BotFolder
    from referee.match.stored_turn import StoredTurn
    from referee.sandbox.sandbox import Sandbox
    from referee.v1 import referee_pb2 as pb

START_LIMIT = 10.0
"""Seconds from the start of the process to its Ready, where nobody debugs it."""

_YEAR = 365 * 24 * 3600.0
_EXIT_WAIT = 5.0
_GOODBYE = 2.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question.

    Attributes:
        action: the answer; None when there was none.
        think: seconds that the bot says it thought.
        took: seconds from the question to the answer.
        reason: what kind of fault kept it from answering; None when it answered.
        detail: the fault in a sentence; empty when it answered.
        stdout: what it printed; empty where it had a terminal.
        stderr: likewise.
        report: how the process ended; None where it had a terminal.
    """

    action: str | None
    think: float
    took: float
    reason: ForfeitReason | None
    detail: str
    stdout: str
    stderr: str
    report: ExitReport | None


async def put(
    turns: Sequence[StoredTurn],
    folder: BotFolder,
    *,
    control: TimeControl,
    sandbox: Sandbox,
    terminal: bool = False,
) -> Reply:
    """Start a bot, put one seat's turns of a game to it, and return the answer to the last one.

    Args:
        turns: of one seat in one game, in order; answers to all but the last are thrown away.
        folder: the bot.
        control: what the bot is told of the clock, which does not run.
        sandbox: what the process becomes, unless it gets the terminal.
        terminal: whether the bot runs on our own terminal, so that a debugger can be used; then
            it may also take any time to start.

    Raises:
        InvalidBotError: the bot cannot be started.
    """
    token = secrets.token_hex(16)
    question = _Question(turns, folder, control=control)
    server = StreamServer({token: question.session})
    try:
        await server.start()
        command = BotCommand(
            words=folder.command,
            folder=folder.path,
            socket=server.socket(token),
            token=token,
            protocol=folder.protocol,
        )
        if terminal:
            question.process = await TerminalProcess.start(command, exited=question.exited)
        else:
            question.start_in(sandbox, command)
        return await question.reply()
    finally:
        await see_through(_clear_away(question, server))


async def _clear_away(question: _Question, server: StreamServer) -> None:
    try:
        await question.end()
    finally:
        await server.stop()


class _Process(Protocol):
    """What a question needs of the bot's process."""

    async def wait(self, limit: float) -> ExitReport | None:
        """Wait up to ``limit`` seconds for its end."""

    async def stop(self) -> ExitReport:
        """End it."""


class TerminalProcess:
    """A bot that has our own terminal: a debugger may read there, and Ctrl-C is the bot's."""

    def __init__(self, process: asyncio.subprocess.Process, exited: Callable[[], None]) -> None:
        self._process = process
        self._end = asyncio.create_task(self._wait(exited))

    @classmethod
    async def start(cls, command: BotCommand, *, exited: Callable[[], None]) -> TerminalProcess:
        """Start it with our whole environment.

        Raises:
            InvalidBotError: the command names no program, or the terminal cannot be the bot's.
        """
        if command.protocol != "grpc":
            raise InvalidBotError(
                "a bot that speaks JSON lines holds the conversation on its stdin and stdout, "
                "which leaves no terminal to a debugger; ask it without --debug, or let its "
                "debugger listen on a port"
            )
        try:
            process = await asyncio.create_subprocess_exec(
                *resolve_program(command),
                cwd=command.folder,
                env={**os.environ, **bot_environment(command, command.socket)},
            )
        except OSError as error:
            raise InvalidBotError(f"the bot cannot be started: {error}") from error
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, lambda: None)
        return cls(process, exited)

    async def _wait(self, exited: Callable[[], None]) -> ExitReport:
        code = await self._process.wait()
        exited()
        return ExitReport(code=code, stopped=False, peak_memory=0, cpu_seconds=0.0)

    async def wait(self, limit: float) -> ExitReport | None:
        """Wait up to ``limit`` seconds for its end."""
        await asyncio.wait({self._end}, timeout=limit)
        return self._end.result() if self._end.done() else None

    async def stop(self) -> ExitReport:
        """End it: SIGTERM, a grace, SIGKILL."""
        if not self._end.done():
            self._process.terminate()
            if await self.wait(GRACE) is None:
                self._process.kill()
        report = await self._end
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        return report


class _StoppedClock(SeatClock):
    """Shows what is left in the bank, and never takes from it."""

    @property
    def allowance(self) -> float:
        """As long as anybody may debug."""
        return _YEAR

    def charge(self, spent: float) -> bool:
        """Charge nothing."""
        del spent
        return True


class _Question:
    """Turns on their way to a bot; what its session is told (SessionListener)."""

    def __init__(
        self, turns: Sequence[StoredTurn], folder: BotFolder, *, control: TimeControl
    ) -> None:
        self.process: _Process | None = None
        self._turns = list(turns)
        self._control = control
        self._bot: BotProcess | None = None
        self._answer: tuple[str, float, float] | None = None
        self._fault: tuple[ForfeitReason, str] | None = None
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._start_timer: asyncio.TimerHandle | None = None
        self._burial: asyncio.Task[None] | None = None
        self.session = Session(
            folder.name,
            listener=self,
            permits=PermitPool(1),
            monitor=LagMonitor(),
            stall=_YEAR,
        )

    def start_in(self, sandbox: Sandbox, command: BotCommand) -> None:
        """Start the bot as a match does, its output kept, its start limited."""
        try:
            self._bot = BotProcess(command, sandbox, exited=lambda _: self.exited())
        except OSError as error:
            raise InvalidBotError(f"the bot cannot be started: {error}") from error
        self.process = self._bot
        self._start_timer = self._loop.call_later(START_LIMIT, self._start_overdue)

    async def reply(self) -> Reply:
        """Wait for the answer or for what prevents it, then for the end of the process."""
        await self._done
        assert self.process is not None
        if self._fault is None:
            self.session.finish()
            await self.process.wait(_GOODBYE)
        self.session.close()
        report = await self.process.stop()
        action, think, took = self._answer or (None, 0.0, 0.0)
        reason, detail = self._fault or (None, "")
        return Reply(
            action=action,
            think=think,
            took=took,
            reason=reason,
            detail=detail,
            stdout=self._bot.stdout.ring.text() if self._bot is not None else "",
            stderr=self._bot.stderr.ring.text() if self._bot is not None else "",
            report=report if self._bot is not None else None,
        )

    async def end(self) -> None:
        """End the stream and the process, whatever they are doing."""
        self.session.close()
        self._start_settled()
        if self._burial is not None:
            await self._burial
        if self.process is not None:
            await self.process.stop()

    def exited(self) -> None:
        """Hear that the process ended; what it said last may still be on its way."""
        self._loop.call_later(0.1, self.vanished, self.session)

    # What the session says (SessionListener).

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Bring an exception of ours to whoever waits for the answer."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- else it would be lost in the event loop
            if not self._done.done():
                self._done.set_exception(error)

    def greeted(self, session: Session, hello: pb.Hello) -> None:
        """Answer Hello with Welcome."""
        del hello
        game = self._turns[0].state.game
        session.welcome(
            ruleset=game.ruleset, seats=game.seats, control=self._control, parallel_games=1
        )

    def became_ready(self, session: Session) -> None:
        """Start the game and put the first turn."""
        self._start_settled()
        first = self._turns[0]
        session.start_game(game=first.game.board, seat=first.seat, seed=first.seed)
        self._put_next()

    def answered(self, session: Session, turn: OpenTurn, text: str) -> None:
        """Put the next turn, or be content."""
        del session
        if self._turns:
            self._put_next()
            return
        self._answer = (text, turn.think_us / 1e6, turn.arrival - turn.sent)
        self._settle()

    def timed_out(self, session: Session, turn: OpenTurn, spent: float) -> None:
        """Give up after a year."""
        del session, turn
        self._fail(ForfeitReason.TIMEOUT, f"no answer for {spent:.0f} s")

    def resigned(self, session: Session, game: int) -> None:
        """Take a resignation for the answer."""
        del session, game
        self._fail(ForfeitReason.RESIGN, "the bot resigned")

    def broke(self, session: Session, reason: ForfeitReason, detail: str) -> None:
        """Hear that the bot broke the protocol."""
        del session
        self._fail(reason, detail)

    def vanished(self, session: Session) -> None:
        """Find out how a process ended whose stream did."""
        session.close()
        if not self._done.done() and self._burial is None:
            self._burial = asyncio.create_task(self._bury())

    def lagged(self, session: Session, lag: float) -> None:
        """Ignore our own lag: no clock runs."""

    def _put_next(self) -> None:
        turn = self._turns.pop(0)
        clock = _StoppedClock(self._control)
        clock.bank = turn.time_left
        self.session.ask(
            OpenTurn(
                None,
                game=turn.game.board,
                seat=turn.seat,
                ply=turn.ply,
                clock=clock,
                legal_actions=turn.legal_actions,
                events=turn.events,
                observation=turn.state.observe(turn.seat),
                ready=time.monotonic(),
            )
        )

    def _start_overdue(self) -> None:
        self._fail(ForfeitReason.NO_SHOW, f"not ready within {START_LIMIT:g} s of its start")

    def _start_settled(self) -> None:
        if self._start_timer is not None:
            self._start_timer.cancel()

    async def _bury(self) -> None:
        assert self.process is not None
        report = await self.process.wait(_EXIT_WAIT)
        self._fail(*early_end(report))

    def _fail(self, reason: ForfeitReason, detail: str) -> None:
        if not self._done.done():
            self._fault = (reason, detail)
            self._settle()

    def _settle(self) -> None:
        self._start_settled()
        if not self._done.done():
            self._done.set_result(None)
