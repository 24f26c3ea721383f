"""Run one command in a sandbox to its end: a build, or a self-test."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from referee.sandbox.build import receive
from referee.sandbox.process import BotProcess, ExitReport
from referee.tasks import run_to_end

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from referee.sandbox.limits import ResourceLimits
    from referee.sandbox.sandbox import BotCommand, Sandbox


@dataclass(frozen=True, slots=True)
class RunReport:
    """Report how a command ended; its output is bounded."""

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
        command: needs no socket. Files that it leaves in a writable folder are bounded by
            `ResourceLimits.folder_bytes`, and no more to be trusted than the command.
        sandbox: runs it.
        limit: the time limit.
        limits: replace the sandbox's own.

    Raises:
        InvalidBotError: the command names no program.
        OSError: it cannot be started.
    """
    process = BotProcess(command, sandbox, exited=lambda _: None, limits=limits)
    fresh = command.folder.with_name(f"{command.folder.name}.built")
    receiving = None
    if process.built is not None:
        most_bytes = (limits or sandbox.limits).folder_bytes
        receiving = asyncio.create_task(
            asyncio.to_thread(receive, process.built, fresh, most_bytes=most_bytes)
        )
    try:
        ended = await process.wait(limit.total_seconds())
    finally:
        report = await run_to_end(process.stop(grace=0))
        excess = "" if receiving is None else await run_to_end(_result(receiving))
    if fresh.exists():
        await asyncio.to_thread(_replace, command.folder, fresh)
    report = replace(report, overuse=report.overuse or excess)
    return RunReport(
        exit=report,
        timed_out=ended is None,
        stdout=process.stdout.ring.text(),
        stderr=process.stderr.ring.text(),
    )


async def _result(receiving: asyncio.Task[str]) -> str:
    return await receiving


def _replace(folder: Path, fresh: Path) -> None:
    shutil.rmtree(folder)
    fresh.rename(folder)
