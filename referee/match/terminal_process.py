"""Start a bot on our own terminal, for a debugger."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from referee.errors import InvalidBotError
from referee.sandbox.process import GRACE, ExitReport
from referee.sandbox.sandbox import BotCommand, bot_environment, resolve_program

if TYPE_CHECKING:
    from collections.abc import Callable


class TerminalProcess:
    """Run a bot on our own terminal: its debugger reads it, and Ctrl-C goes to the bot."""

    def __init__(self, process: asyncio.subprocess.Process, exited: Callable[[], None]) -> None:
        self._process = process
        self._end = asyncio.create_task(self._wait(exited))

    @classmethod
    async def start(cls, command: BotCommand, *, exited: Callable[[], None]) -> TerminalProcess:
        """Start it with our whole environment.

        Raises:
            InvalidBotError: the command names no program, or the bot needs its stdin and stdout.
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
