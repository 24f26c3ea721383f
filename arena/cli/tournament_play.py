"""A tournament on an arena of its own: server, scheduler and worker for as long as it lasts."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from arena.cli.bot import HOUSE, add_bot
from arena.cli.competition import (
    Shown,
    competition_id,
    create_tournament,
    look,
    start_tournament,
    tell,
    until_over,
)
from arena.cli.connection import settings_of
from arena.cli.console import DataDir, Json
from arena.cli.demo import sample_bots
from arena.cli.format_options import FormatChoice, Ruleset, TimeControl, takes_format
from arena.competitions.records import CompetitionRules, Seeding
from arena.context import Arena, connected
from arena.errors import ArenaError, InputError
from arena.processes.lifecycle import run_until_told
from arena.processes.supervisor import Supervisor, running
from arena.scheduler.scheduler import FLOW
from referee.bot_folder import load_bot_folder
from referee.games import parse_ruleset
from referee.sandbox.scratch import Scratch
from referee.tasks import cancel

if TYPE_CHECKING:
    from arena.config import Settings

_T = TypeVar("_T")
Folders = Annotated[
    list[Path] | None, typer.Option("--bot", help="A bot's folder; the sample bots.")
]
Clones = Annotated[
    int, typer.Option(min=1, max=200, help="Enter each bot so many times, under names of its own.")
]
Sandbox = Annotated[bool, typer.Option("--sandbox", help="Run the bots in the sandbox.")]
_NAME = re.compile(r'^name\s*=\s*".*"', re.MULTILINE)


HERE = "here"
"""The name of a tournament of an arena of its own."""


@takes_format
def play(  # noqa: PLR0913 -- a command's options
    ruleset: Ruleset,
    *,
    chosen: FormatChoice,
    folders: Folders = None,
    clones: Clones = 1,
    time: TimeControl = None,
    seed: Annotated[str, typer.Option(help="Text that all boards follow from.")] = "",
    slots: Annotated[int | None, typer.Option(min=1, help="Tables at once; one per core.")] = None,
    sandbox: Sandbox = False,
    cross: Annotated[bool, typer.Option("--cross", help="Add who did how against whom.")] = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Play a whole tournament here and now, on an arena of its own."""

    async def tournament(arena: Arena, entries: Sequence[str]) -> Shown:
        canonical = parse_ruleset(ruleset).ruleset
        rules = CompetitionRules(
            ruleset=canonical,
            format=chosen.format,
            options=chosen.options(arena, canonical, lot=seed),
            time_control=time or arena.settings.time_control,
            seeding=Seeding.GIVEN,
        )
        await create_tournament(arena, HERE, rules, entries, seed=seed)
        await start_tournament(arena, HERE)
        await until_over(arena, competition_id(HERE), quiet=json)
        return await look(arena, competition_id(HERE))

    shown = play_here(
        tournament,
        ruleset=ruleset,
        folders=folders,
        clones=clones,
        options={"data_dir": data_dir, "slots": slots, "sandbox": sandbox},
    )
    tell(shown, json=json, cross=cross)


def play_here(
    tournament: Callable[[Arena, Sequence[str]], Awaitable[_T]],
    *,
    ruleset: str,
    folders: Sequence[Path] | None,
    clones: int,
    options: Mapping[str, Any],
) -> _T:
    """Run an arena until a tournament on it is over, and return what came of it.

    Args:
        tournament: plays it, given the arena and who enters.
        ruleset: what the bots are to play; of the sample bots only those that do enter.
        folders: of bots; None for the sample bots.
        clones: how many of each enter.
        options: of the arena's settings; without ``data_dir`` everything is forgotten at the end.

    Raises:
        ArenaError: it was interrupted.
    """
    canonical = parse_ruleset(ruleset).ruleset
    chosen = [load_bot_folder(each) for each in folders or sample_bots()]
    playing = [each.path for each in chosen if folders or canonical in each.rulesets]
    if not playing:
        raise InputError(f"no sample bot plays {canonical}; name folders with --bot")
    scratch = Scratch("tournament")
    settings = settings_of(
        **{**options, "data_dir": options.get("data_dir") or scratch.path / "data"},
        redis_url="",
        archive_url="",
        workers=1,
        grace=2,
        metrics_port=None,
    )
    found: list[_T] = []

    async def main(stopping: asyncio.Event) -> None:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        with (settings.data_dir / "tournament.log").open("ab") as log:
            async with running(settings, output=log) as supervisor:
                watching = asyncio.create_task(supervisor.watch(stopping))
                entries = [copy for path in playing for copy in _copies(path, scratch.path, clones)]
                played = asyncio.create_task(
                    _play(tournament, settings, supervisor, entries, canonical)
                )
                await asyncio.wait({watching, played}, return_when=asyncio.FIRST_COMPLETED)
                stopping.set()
                if played.done():
                    found.append(played.result())
                await cancel(played)
                await watching

    try:
        run_until_told(main)
    finally:
        scratch.remove()
    if not found:
        raise ArenaError("the tournament was interrupted")
    return found[0]


async def _play(
    tournament: Callable[[Arena, Sequence[str]], Awaitable[_T]],
    settings: Settings,
    supervisor: Supervisor,
    folders: Sequence[Path],
    ruleset: str,
) -> _T:
    async with connected(settings.model_copy(update={"redis_url": supervisor.url})) as arena:
        # The bots stand on the ladder, but all workers are the tournament's.
        await arena.queues.open_ladder(ruleset)
        await arena.queues.queue(ruleset).pause(FLOW)
        added = [await add_bot(arena, each, owner=HOUSE, rulesets=[ruleset]) for each in folders]
        return await tournament(arena, [each.bot.name for each in added])


def _copies(folder: Path, scratch: Path, clones: int) -> list[Path]:
    """Return the folder, and copies of it whose bots have names of their own."""
    name = load_bot_folder(folder).name
    copies = [folder]
    for number in range(2, clones + 1):
        copy = scratch / "clones" / f"{name}-{number}"
        shutil.copytree(folder, copy, symlinks=True)
        toml = copy / "bot.toml"
        text = toml.read_text(encoding="utf-8")
        toml.write_text(_NAME.sub(f'name = "{copy.name}"', text, count=1), encoding="utf-8")
        copies.append(copy)
    return copies
