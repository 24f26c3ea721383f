"""Ask a bot stored turns over the protocol of a match, without a clock."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from referee.clock import SeatClock, TimeControl
from referee.errors import InvalidBotError
from referee.match.health import LagMonitor
from referee.match.permits import PermitPool
from referee.match.session import Session
from referee.match.streams import StreamServer
from referee.match.terminal_process import TerminalProcess
from referee.match.turns import OpenTurn
from referee.sandbox.process import BotProcess
from referee.sandbox.sandbox import BotCommand
from referee.tasks import run_to_end
from referee.wire import welcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from referee.bot_folder import BotFolder
    from referee.match.stored_turn import StoredTurn
    from referee.outcome import ForfeitReason
    from referee.sandbox.process import ExitReport
    from referee.sandbox.sandbox import Sandbox

START_LIMIT = 10.0
"""Seconds from the start of the process to its Ready, unless it is debugged."""

_YEAR = 365 * 24 * 3600.0
_GOODBYE = 2.0


@dataclass(frozen=True, slots=True)
class Reply:
    """Hold a bot's answer, or the fault that prevented it.

    Attributes:
        action: the answer; None when there was none.
        think: thinking time in seconds, as the bot reports it.
        took: seconds from the turn to the answer.
        reason: of the fault; None when it answered.
        detail: the fault in a sentence; empty when it answered.
        stdout: empty where the bot had a terminal, as is stderr.
        report: None where it had a terminal.
    """

    action: str | None
    think: float
    took: float
    reason: ForfeitReason | None
    detail: str
    stdout: str
    stderr: str
    report: ExitReport | None


async def ask_bot(
    turns: Sequence[StoredTurn],
    folder: BotFolder,
    *,
    control: TimeControl,
    sandbox: Sandbox,
    terminal: bool = False,
) -> Reply:
    """Start a bot, ask it one seat's turns of a game, and return the answer to the last one.

    Args:
        turns: of one seat in one game, in order; answers to all but the last are discarded.
        folder: the bot.
        control: sent to the bot; no clock runs.
        sandbox: isolates the bot, unless it gets the terminal.
        terminal: whether the bot runs on our own terminal for a debugger, with any time to start.

    Raises:
        InvalidBotError: the bot cannot be started.
    """
    token = secrets.token_hex(16)
    question = _Question(turns, folder, control=control)
    server = StreamServer({token: question})
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
            question.process = await TerminalProcess.start(command, exited=question.process_exited)
        else:
            question.start_in(sandbox, command)
        return await question.reply()
    finally:
        await run_to_end(_clean_up(question, server))


async def _clean_up(question: _Question, server: StreamServer) -> None:
    try:
        await question.end()
    finally:
        await server.stop()


class _StoppedClock(SeatClock):
    """Show the time left in the bank, and charge nothing."""

    @property
    def allowance(self) -> float:
        """No limit, for a debugger."""
        return _YEAR

    def charge(self, spent: float) -> bool:
        """Charge nothing."""
        del spent
        return True


class _Question(Session):
    """Ask a bot turns one after another, and keep the answer to the last."""

    def __init__(
        self, turns: Sequence[StoredTurn], folder: BotFolder, *, control: TimeControl
    ) -> None:
        super().__init__(
            folder.name,
            welcome=welcome(turns[0].state.game, control, parallel_games=1),
            permits=PermitPool(1),
            monitor=LagMonitor(),
            stall=_YEAR,
        )
        self.process: BotProcess | TerminalProcess | None = None
        self._turns = list(turns)
        self._control = control
        self._answer: tuple[str, float, float] | None = None
        self._fault: tuple[ForfeitReason, str] | None = None
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def start_in(self, sandbox: Sandbox, command: BotCommand) -> None:
        """Start the bot as a match does, with captured output and a start limit."""
        try:
            self.process = BotProcess(command, sandbox, exited=lambda _: self.process_exited())
        except OSError as error:
            raise InvalidBotError(f"the bot cannot be started: {error}") from error
        self.await_ready(START_LIMIT)

    async def reply(self) -> Reply:
        """Wait for the answer or a fault, then for the end of the process."""
        await self._done
        assert self.process is not None
        if self._fault is None:
            self.finish()
            await self.process.wait(_GOODBYE)
        self.close()
        report = await self.process.stop()
        bot = self.process if isinstance(self.process, BotProcess) else None
        action, think, took = self._answer or (None, 0.0, 0.0)
        reason, detail = self._fault or (None, "")
        return Reply(
            action=action,
            think=think,
            took=took,
            reason=reason,
            detail=detail,
            stdout=bot.stdout.ring.text() if bot is not None else "",
            stderr=bot.stderr.ring.text() if bot is not None else "",
            report=report if bot is not None else None,
        )

    async def end(self) -> None:
        """End the stream and the process."""
        self.close()
        self.stop_start_timer()
        await self.exit_reported()
        if self.process is not None:
            await self.process.stop()

    # Callbacks of the judgement.

    def became_ready(self) -> None:
        """Start the game and ask the first turn."""
        first = self._turns[0]
        self.start_game(game=first.game.board, seat=first.seat, seed=first.seed)
        self._ask_next()

    def apply(self, turn: OpenTurn, text: str) -> None:
        """Ask the next turn; keep the answer to the last one, legal or not."""
        if self._turns:
            self._ask_next()
            return
        self._answer = (text, turn.think_us / 1e6, turn.arrival - turn.sent)
        self._settle()

    def has_started(self, game: int) -> bool:
        """Accept a resignation of any game as the answer."""
        del game
        return True

    def forfeit_game(self, game: int, reason: ForfeitReason, detail: str) -> None:
        """Report a resignation in place of an answer."""
        del game
        self.end_bot(reason, detail)

    def end_bot(self, reason: ForfeitReason, detail: str) -> None:
        """Report a fault in place of an answer."""
        if not self._done.done():
            self._fault = (reason, detail)
            self._settle()

    async def wait_for_exit(self, limit: float) -> ExitReport | None:
        """Wait up to ``limit`` seconds for the end of the process."""
        return await self.process.wait(limit) if self.process is not None else None

    def void(self, message: str) -> None:
        """Ignore our own lag: no clock runs."""

    @contextmanager
    def void_on_error(self) -> Iterator[None]:
        """Pass an exception of ours to the task that awaits the answer."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- raised in the task that awaits the answer
            if not self._done.done():
                self._done.set_exception(error)

    def _ask_next(self) -> None:
        turn = self._turns.pop(0)
        clock = _StoppedClock(self._control)
        clock.bank = turn.time_left
        self.ask(
            OpenTurn(
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

    def _settle(self) -> None:
        self.stop_start_timer()
        if not self._done.done():
            self._done.set_result(None)
