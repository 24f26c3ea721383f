"""One bot process at a table, with its stream: from its start to what it leaves."""

from __future__ import annotations

import asyncio
import errno
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from referee.errors import VoidMatchError
from referee.match.session import Phase, Session
from referee.match.streams import GRPC_MESSAGE_LIMIT
from referee.outcome import ForfeitReason
from referee.sandbox.process import BotProcess, ExitReport
from referee.sandbox.sandbox import BotCommand, Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from referee.bot_folder import BotFolder


def early_end(report: ExitReport | None) -> tuple[ForfeitReason, str]:
    """Return what a bot forfeits for whose stream ended before the match, and the sentence.

    Args:
        report: how its process ended; None when it has not.
    """
    if report is None:
        return ForfeitReason.CRASH, (
            f"the process closed its stream, or sent a message of more than "
            f"{GRPC_MESSAGE_LIMIT} bytes, and went on running"
        )
    if report.overuse:
        return ForfeitReason.OUT_OF_MEMORY, f"the process was ended: {report}"
    return ForfeitReason.CRASH, f"the process ended early: {report}"


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """What a bot process left.

    Attributes:
        table: its table.
        entrant: whose process it was.
        hand: 0, or 1 for the second process of a team.
        start_seconds: from its start to Ready; None when it never was ready.
        stdout: what it printed, bounded.
        stderr: what it printed there, bounded.
        report: how it ended.
    """

    table: int
    entrant: int
    hand: int
    start_seconds: float | None
    stdout: str
    stderr: str
    report: ExitReport


class Chair:
    """One bot process at the table, with its stream.

    Attributes:
        entrant: whose process it is.
        hand: 0, or 1 for the second process of a team.
        folder: the bot.
        session: its stream.
        process: its process; None before the start, and when its command cannot be started.
        started: when it was started.
        settled: set once it is ready, or has failed.
        failure: why it was ended; None while it may play.
        illegal: how many illegal actions it has answered.
    """

    def __init__(self, *, entrant: int, hand: int, folder: BotFolder, session: Session) -> None:
        self.entrant = entrant
        self.hand = hand
        self.folder = folder
        self.session = session
        self.process: BotProcess | None = None
        self.started = 0.0
        self.settled = asyncio.Event()
        self.failure: tuple[ForfeitReason, str] | None = None
        self.illegal = 0
        self._start_seconds: float | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def expects_end(self) -> bool:
        """Whether the end of the process is no surprise."""
        return self.session.phase in {Phase.OVER, Phase.CLOSED}

    def start(
        self,
        sandbox: Sandbox,
        *,
        socket: Path,
        token: str,
        exited: Callable[[Chair], None],
    ) -> None:
        """Start the process.

        Args:
            sandbox: what it becomes.
            socket: where the referee waits for it.
            token: what it must say there.
            exited: called when it has ended.

        Raises:
            InvalidBotError: the command cannot be started.
            OSError: the command is too long for the kernel.
            VoidMatchError: the machine has no process, descriptor or memory left, or what we start
                bots with is missing: no fault of the bot.
        """
        command = BotCommand(
            words=self.folder.command,
            folder=self.folder.path,
            socket=socket,
            token=token,
            protocol=self.folder.protocol,
        )
        self.started = time.monotonic()
        try:
            self.process = BotProcess(command, sandbox, exited=lambda _: exited(self))
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise
            raise VoidMatchError(
                f"no process can be started: {error}", reason="internal_error"
            ) from error

    def await_ready(self, limit: float, overdue: Callable[[Chair], None]) -> None:
        """Call ``overdue`` unless the bot is ready within ``limit`` seconds."""
        self._deadline = asyncio.get_running_loop().call_later(limit, overdue, self)

    def became_ready(self) -> None:
        """Note how long the start took."""
        self._start_seconds = time.monotonic() - self.started
        self.close_start()

    def close_start(self) -> None:
        """Wait no longer for the bot to be ready."""
        if self._deadline is not None:
            self._deadline.cancel()
        self.settled.set()

    async def dismiss(self, limit: float) -> None:
        """Say MatchOver, and give the bot up to ``limit`` seconds to say Goodbye."""
        if self.failure is None and self.process is not None:
            self.session.finish()
            await self.process.wait(limit)

    async def end(self) -> None:
        """End the stream, then the process and all that it started."""
        self.session.close()
        self.close_start()
        if self.process is not None:
            await self.process.stop()

    def record(self, table: int) -> ProcessRecord:
        """Return what the process left at a table."""
        process = self.process
        report = process.report if process is not None else None
        return ProcessRecord(
            table=table,
            entrant=self.entrant,
            hand=self.hand,
            start_seconds=self._start_seconds,
            stdout=process.stdout.ring.text() if process is not None else "",
            stderr=process.stderr.ring.text() if process is not None else "",
            report=report or ExitReport(code=127, stopped=False, peak_memory=0, cpu_seconds=0.0),
        )
