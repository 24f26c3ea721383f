"""Connect one bot process to a table: start it, end it, and record its output and exit."""

from __future__ import annotations

import asyncio
import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING

from referee.errors import InputError, VoidMatchError
from referee.match.session import Session
from referee.sandbox.process import BotProcess, ExitReport
from referee.sandbox.sandbox import BotCommand, Sandbox
from referee.wire import welcome

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from referee.bot_folder import BotFolder
    from referee.match.permits import PermitPool
    from referee.match.table import Table
    from referee.match.turns import OpenTurn
    from referee.outcome import ForfeitReason


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """Record the output, bounded, and the exit of a bot process.

    Attributes:
        table: its table.
        entrant: its entrant's index.
        member: 0, or 1 for the second process of a team.
        start_seconds: from its start to Ready; None when it never was ready.
    """

    table: int
    entrant: int
    member: int
    start_seconds: float | None
    stdout: str
    stderr: str
    report: ExitReport


class BotConnection(Session):
    """Connect one bot process to its table, and apply the judgement to its games.

    Attributes:
        entrant: its entrant's index.
        member: 0, or 1 for the second process of a team.
        folder: the bot.
        process: None before the start, and when its command cannot be started.
        start_settled: set once it is ready, or has failed.
        failure: why it was ended; None while it may play.
    """

    def __init__(
        self, table: Table, *, entrant: int, member: int, folder: BotFolder, permits: PermitPool
    ) -> None:
        settings = table.plan.settings
        parallel = min(filter(None, (settings.parallel_games, folder.parallel_games)))
        super().__init__(
            f"table {table.number}, {folder.name}",
            welcome=welcome(table.plan.game, settings.control, parallel_games=parallel),
            permits=permits,
            monitor=table.monitor,
            stall=settings.stall,
        )
        self.entrant = entrant
        self.member = member
        self.folder = folder
        self.process: BotProcess | None = None
        self.start_settled = asyncio.Event()
        self.failure: tuple[ForfeitReason, str] | None = None
        self._table = table
        self._games = table.open_games
        self._start_seconds: float | None = None

    def start_process(self, sandbox: Sandbox, *, socket: Path, token: str) -> None:
        """Start the process, which connects to the socket with the token.

        Raises:
            InvalidBotError: the command cannot be started.
            OSError: the command is too long for the kernel.
            VoidMatchError: the machine has no process, descriptor or memory left, or a system tool
                that starts bots is missing: no fault of the bot.
        """
        command = BotCommand(
            words=self.folder.command,
            folder=self.folder.path,
            socket=socket,
            token=token,
            protocol=self.folder.protocol,
        )
        self.await_ready(self._table.plan.settings.start_limit)
        try:
            self.process = BotProcess(
                command,
                sandbox,
                exited=lambda _: self.process_exited(),
                thinks=lambda: self.may_think,
            )
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise
            raise VoidMatchError(
                f"no process can be started: {error}", reason="internal_error"
            ) from error

    async def finish_within(self, limit: float) -> None:
        """Send MatchOver, and wait up to ``limit`` seconds for the process to exit."""
        if self.failure is None and self.process is not None:
            self.finish()
            await self.process.wait(limit)

    def close_stream(self) -> None:
        """Stop reading, sending, and waiting for Ready."""
        self.close()
        self.stop_start_timer()
        self.start_settled.set()

    async def end(self) -> None:
        """End the stream, then the process and its descendants."""
        self.close_stream()
        if self.process is not None:
            await self.process.stop()

    def record(self) -> ProcessRecord:
        """Return the output and exit of the process."""
        process = self.process
        report = process.report if process is not None else None
        return ProcessRecord(
            table=self._table.number,
            entrant=self.entrant,
            member=self.member,
            start_seconds=self._start_seconds,
            stdout=process.stdout.ring.text() if process is not None else "",
            stderr=process.stderr.ring.text() if process is not None else "",
            report=report or ExitReport(code=127, stopped=False, peak_memory=0, cpu_seconds=0.0),
        )

    # Callbacks of the judgement.

    def became_ready(self) -> None:
        """Record the start's duration; the table begins when all its bots are ready."""
        self._start_seconds = self.seconds_since_start()
        self.start_settled.set()

    def apply(self, turn: OpenTurn, text: str) -> InputError | None:
        """Apply the answer to its game; return why that cannot be done."""
        return self._games[turn.game].apply(turn, text)

    def has_started(self, game: int) -> bool:
        """Return whether a game has started, be it over or not."""
        return self._table.has_started(game)

    def forfeit_game(self, game: int, reason: ForfeitReason, detail: str) -> None:
        """Let the bot lose one game, unless that is over."""
        if game in self._games:
            self._games[game].forfeit(self, reason, detail)

    def end_bot(self, reason: ForfeitReason, detail: str) -> None:
        """End the process; the bot loses its open games and those to come."""
        if self.failure is not None or self._table.is_over:
            return
        self.failure = (reason, detail)
        self._table.spawn(self.end())
        # The stream closes before anything else happens, the process when it can.
        self.close_stream()
        for play in list(self._games.values()):
            play.forfeit(self, reason, detail)

    async def wait_for_exit(self, limit: float) -> ExitReport | None:
        """Wait up to ``limit`` seconds for the end of the process."""
        return await self.process.wait(limit) if self.process is not None else None

    def runnable_since(self, start: float) -> float:
        """Return how many of the bot's threads wanted a core on average since ``start``."""
        return 0.0 if self.process is None else self.process.runnable_since(start)

    def void(self, message: str) -> None:
        """Void the match."""
        self._table.void(message)

    def void_on_error(self) -> AbstractContextManager[None]:
        """Return the table's context in which an exception voids the match."""
        return self._table.void_on_error()
