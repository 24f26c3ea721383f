"""``arena check``: run the checks that a bot has to pass before it may play."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from arena.check.report import CheckReport, Step, StepState
from arena.check.run import CheckOptions, check_folder
from arena.cli.console import EXIT_FAILED, Json, complain, out, print_json
from arena.cli.loop import run_async
from arena.cli.play import core_count
from referee.clock import TimeControl
from referee.match.runner import Referee
from referee.sandbox.sandbox import PlainSandbox
from referee.sandbox.selftest import detect_sandbox

STYLES = {StepState.OK: "green", StepState.WARN: "yellow", StepState.FAIL: "red"}


def check(
    bot: Annotated[Path, typer.Argument(help="The folder that holds bot.toml.")],
    *,
    time: Annotated[str, typer.Option(help="BANK+INCREMENT in seconds.")] = "5+0.05",
    sandbox: Annotated[
        bool, typer.Option(help="Run the bot as the arena does, where this machine can.")
    ] = True,
    json: Json = False,
) -> None:
    """Put a bot through the arena's checks; exit 1 if one fails."""
    options = CheckOptions(control=TimeControl.parse(time))

    async def told(step: Step) -> None:
        if not json:
            _show(step)

    async def main() -> CheckReport:
        walls = await detect_sandbox() if sandbox else PlainSandbox()
        if sandbox and walls.tier == PlainSandbox.tier:
            complain(f"no sandbox works here, so the bot runs as a process of yours: {walls.why}")
        referee = Referee(sandbox=walls, cores=core_count(), tables=core_count())
        return await check_folder(bot, referee, options=options, on_step=told)

    report = run_async(main())
    if json:
        print_json(report.document())
    else:
        fit = "fit" if report.passed else "not fit"
        out.print(f"{report.bot or bot} is {fit} to play; sandbox: {report.tier}")
    if not report.passed:
        raise typer.Exit(EXIT_FAILED)


def _show(step: Step) -> None:
    head = Text.assemble(f"{step.number:2}  ", (f"{step.state:<4}", STYLES[step.state]))
    out.print(head.append(f"  {step.name}: {step.detail}"))
    if step.advice:
        out.print(f"          to do: {step.advice}")
    for line in step.output.splitlines():
        out.print(f"          | {line}")
