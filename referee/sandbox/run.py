"""Run one command in a sandbox to its end: a build, or a self-test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from referee.sandbox.process import BotProcess, ExitReport
from referee.tasks import run_to_end

if TYPE_CHECKING:
    from datetime import timedelta

    from referee.sandbox.limits import ResourceLimits
    from referee.sandbox.sandbox import BotCommand, Sandbox


@dataclass(frozen=True, slots=True)
class RunReport:
    """Report how a command ended.

    Attributes:
        exit: its code, what it used.
        timed_out: whether it was ended because it took too long.
        stdout: what it printed, bounded.
        stderr: what it printed there, bounded.
    """

    exit: ExitReport
    timed_out: bool
    stdout: str
    stderr: str

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself with code 0."""
        return self.exit.code == 0 and not (self.exit.stopped or self.exit.overuse)

    def __str__(self) -> str:
        return "it took too long" if self.timed_out else str(self.exit)


async def run_in_sandbox(
    command: BotCommand, sandbox: Sandbox, *, limit: timedelta, limits: ResourceLimits | None = None
) -> RunReport:
    """Run a command without a network, and leave no process of it behind.

    Args:
        command: what is run; nobody listens to it, so it needs no socket. Where it may write the
            folder, what it leaves there is bounded by `ResourceLimits.folder_bytes`, and as little
            to be trusted as the command.
        sandbox: what it runs in.
        limit: how long it may take.
        limits: other ones than the sandbox's own.

    Raises:
        InvalidBotError: the command names no program.
        OSError: it cannot be started.
    """
    process = BotProcess(command, sandbox, exited=lambda _: None, limits=limits)
    try:
        ended = await process.wait(limit.total_seconds())
    finally:
        report = await run_to_end(process.stop(grace=0))
    return RunReport(
        exit=report,
        timed_out=ended is None,
        stdout=process.stdout.ring.text(),
        stderr=process.stderr.ring.text(),
    )
