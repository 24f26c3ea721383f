"""``arena demo``: run a whole arena in a temporary folder, with the sample bots."""

from __future__ import annotations

import asyncio
import shutil
import time
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from arena.api.messages import ladder_entry
from arena.backend.ladders import LadderLine
from arena.cli.console import (
    EXIT_FAILED,
    BotFolders,
    Json,
    KeepDir,
    out,
    print_json,
    progress_console,
)
from arena.cli.ladder import ladder_table
from arena.cli.tables import show
from arena.config import LadderSettings, load
from arena.context import Arena, connected
from arena.documents import document
from arena.errors import InputError
from arena.processes.lifecycle import run_until_told
from arena.processes.supervisor import running
from arena.queue import rebuild
from arena.queue.strengths import LadderStrengths
from arena.sample_bots import shipped_bot
from referee.bot_folder import load_bot_folder
from referee.games import parse_ruleset
from referee.sandbox.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from arena.bots.registry import AddedVersion
    from arena.config import Settings
    from arena.v1 import ladders_pb2

RULESETS = ("quasenbo", "pese-katesh")
TIME_CONTROL = "1"
"""Long enough for bots that search on a machine that has more to do."""
BOARDS = 1
"""Short matches: most of their time is the start of bots, sixteen of them in a match of four."""

SHOWN = 50
"""Bots of a ladder."""

HOUSE = "house"
"""The owner whose bots may meet each other."""

LOOK = 0.25
"""Seconds between two looks at the ladders."""


def demo(
    *,
    matches: Annotated[
        int | None, typer.Option("--matches", min=1, help="End after so many matches in all.")
    ] = None,
    boards: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Of a match: more tell bots apart sooner; 1."),
    ] = None,
    data_dir: KeepDir = None,
    bots: BotFolders = None,
    json: Json = False,
) -> None:
    """Play ladders of both games with the sample bots."""
    folders = [load_bot_folder(each).path for each in bots] if bots else sample_bots()
    ladder = LadderSettings(boards=boards or BOARDS, time_control=TIME_CONTROL)
    show = _Show(matches=matches, quiet=json)
    with own_settings(data_dir=data_dir, ladders=dict.fromkeys(RULESETS, ladder)) as settings:
        run_until_told(lambda stopping: _run(settings, folders, show, stopping))
    show.end(json=json)
    if not show.sound:
        raise typer.Exit(EXIT_FAILED)


def sample_bots() -> list[Path]:
    """Return the folders of the sample bots that can play on this machine."""
    home = shipped_bot("random").parent
    return [each.parent for each in sorted(home.glob("*/bot.toml")) if _can_play(each)]


def _can_play(file: Path) -> bool:
    """Return whether a sample bot is no faulty one and has its programs and packages here."""
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    if document["name"] == "faulty":
        return False
    if document["command"][0] != "node":
        return True
    return shutil.which("node") is not None and (file.parent / "node_modules").is_dir()


@contextmanager
def own_settings(*, data_dir: Path | None, **others: Any) -> Iterator[Settings]:
    """Yield the settings of an arena that runs as long as its command.

    Args:
        data_dir: where everything is kept; None for a folder that is removed at the end.
        **others: further settings.
    """
    scratch = Scratch("arena")
    try:
        yield load(
            data_dir=data_dir or scratch.path / "data",
            redis_url="",
            archive_url="",
            workers=1,
            grace=2,
            metrics_port=None,
            **others,
        )
    finally:
        scratch.remove()


@asynccontextmanager
async def own_arena(
    settings: Settings, stopping: asyncio.Event, *, log: str, scheduling: Sequence[str] = ()
) -> AsyncIterator[tuple[Arena, asyncio.Task[None]]]:
    """Run an arena while the block runs.

    Args:
        settings: as `own_settings` makes them.
        stopping: ends the arena; is set at the end of the block.
        log: the file below the data folder to which its processes write.
        scheduling: further arguments of the scheduler.

    Yields:
        the arena, and the task that ends when its processes do.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    with (settings.data_dir / log).open("ab") as output:
        async with running(settings, scheduling=scheduling, output=output) as supervisor:
            watching = asyncio.create_task(supervisor.watch(stopping))
            try:
                here = settings.model_copy(update={"redis_url": supervisor.url})
                async with connected(here) as arena:
                    yield arena, watching
            finally:
                stopping.set()
                await watching


async def _run(
    settings: Settings, folders: Sequence[Path], show: _Show, stopping: asyncio.Event
) -> None:
    scheduling = () if show.matches is None else ("--matches", str(show.matches))
    running_here = own_arena(settings, stopping, log="demo.log", scheduling=scheduling)
    async with running_here as (arena, watching):
        for folder in folders:
            await add_bot(arena, folder, owner=HOUSE, rulesets=RULESETS)
        show.begin(await _playable(arena))
        while not watching.done() and not show.complete:
            await asyncio.wait({watching}, timeout=LOOK)
            await show.look(arena)
        await show.check(arena)


async def _playable(arena: Arena) -> list[str]:
    """Return the ladders of the demo that have enough bots; InputError if none has."""
    playable = [
        ruleset
        for ruleset in RULESETS
        if await arena.queues.ladder(ruleset).size() >= parse_ruleset(ruleset).entrants
    ]
    if not playable:
        raise InputError("too few bots for any ladder; name more folders with --bot")
    return playable


async def add_bot(
    arena: Arena, folder: Path, *, owner: str, rulesets: Collection[str] | None = None
) -> AddedVersion:
    """Register a folder as the active version of its bot, and enter its ladders.

    Args:
        arena: where.
        folder: holds bot.toml.
        owner: registered if new.
        rulesets: the ladders to enter; None for all that the bot plays.

    Raises:
        InputError: the folder or the owner's name is not fit, or the bot is another owner's.
    """
    await arena.registry.add_owner(owner)
    added = await arena.registry.add_folder(folder, owner=owner, house=owner == HOUSE)
    for ruleset in added.bot.rulesets:
        if rulesets is None or ruleset in rulesets:
            await arena.queues.open_ladder(ruleset)
            await arena.queues.ladder(ruleset).enter(added.bot.name)
    return added


async def _entries(arena: Arena, ruleset: str) -> list[ladders_pb2.LadderEntry]:
    """Return the best bots of a ladder, with what all rated results say of them."""
    ladder = arena.queues.ladder(ruleset)
    # The scheduler keeps the sums; what was logged since is added here.
    strengths = LadderStrengths(arena.redis, ladder, archive=arena.archive)
    await strengths.update()
    column = strengths.column()
    bots = {bot.name: bot for bot in await arena.registry.bots(ruleset=ruleset)}
    games = await ladder.rated_matches([bot.active_version for bot in bots.values()])
    return [
        ladder_entry(
            LadderLine(
                each,
                bots.get(each.bot),
                games.get(bots[each.bot].active_version, 0) if each.bot in bots else 0,
                column.get(each.bot),
            )
        )
        for each in await ladder.standings(0, SHOWN)
    ]


class _Ladder(NamedTuple):
    entries: list[ladders_pb2.LadderEntry]
    matches: int


class _Show:
    """Shows the ladders of the demo: live tables on a terminal, lines elsewhere."""

    def __init__(self, *, matches: int | None, quiet: bool) -> None:
        self.matches = matches
        self.sound = False
        self._rulesets: list[str] = []
        self._ladders: dict[str, _Ladder] = {}
        self._reports: dict[str, rebuild.ReplayReport] = {}
        self._begun = time.monotonic()
        self._seconds = 0.0
        self._told = 0
        self._quiet = quiet
        on_terminal = progress_console.is_terminal and not quiet
        self._live = Live(console=progress_console, auto_refresh=False) if on_terminal else None

    @property
    def played(self) -> int:
        """The number of matches played."""
        return sum(each.matches for each in self._ladders.values())

    @property
    def complete(self) -> bool:
        """Whether as many matches have been played as were asked for."""
        return self.matches is not None and self.played >= self.matches

    def begin(self, rulesets: list[str]) -> None:
        """Begin to show these ladders."""
        self._rulesets, self._begun = rulesets, time.monotonic()
        if self._live is not None:
            self._live.start()

    async def look(self, arena: Arena) -> None:
        """Read the ladders, and show what has changed."""
        self._seconds = time.monotonic() - self._begun
        for ruleset in self._rulesets:
            done = (await arena.queues.queue(ruleset).counts()).done
            if ruleset in self._ladders and self._ladders[ruleset].matches == done:
                continue
            self._ladders[ruleset] = _Ladder(await _entries(arena, ruleset), done)
        if self._live is not None:
            self._live.update(self._picture(), refresh=True)
        elif not self._quiet and self.played >= self._told + 10:
            self._told = self.played
            progress_console.print(self._progress())

    async def check(self, arena: Arena) -> None:
        """Compare the ratings and the bank with those that follow from the logs."""
        for ruleset in self._rulesets:
            self._reports[ruleset] = await rebuild.replay(
                arena.queues.ladder(ruleset), arena.archive
            )
        await self.look(arena)
        self.sound = all(report.equal for report in self._reports.values())
        if self._live is not None:
            self._live.stop()

    def end(self, *, json: bool) -> None:
        """Print the final ladders."""
        if json:
            print_json(self._document())
            return
        if self._live is None:
            show(self._picture())
        for ruleset, report in self._reports.items():
            verdict = "live = replayed" if report.equal else "live and replayed differ"
            out.print(f"{ruleset}: sum + bank {report.balance}, {verdict}")

    def _progress(self) -> str:
        of = f" of {self.matches}" if self.matches is not None else ""
        rate = self.played / self._seconds if self._seconds else 0.0
        return f"{self.played}{of} matches in {self._seconds:.0f} s, {rate:.2f} matches per second"

    def _picture(self) -> Group:
        width = progress_console.width if self._live is not None else None
        tables = [
            ladder_table(self._title(each), ladder.entries, width=width)
            for each, ladder in self._ladders.items()
        ]
        return Group(*tables, Text(self._progress()))

    def _title(self, ruleset: str) -> str:
        matches = self._ladders[ruleset].matches
        rate = matches / self._seconds if self._seconds else 0.0
        return f"{ruleset}: {matches} matches, {rate:.2f} per second"

    def _document(self) -> dict[str, Any]:
        return {
            "ladders": {
                ruleset: [document(entry) for entry in ladder.entries]
                for ruleset, ladder in self._ladders.items()
            },
            "matches": self.played,
            "seconds": round(self._seconds, 3),
            "bank_checks": {
                ruleset: {"sum_plus_bank": report.balance, "balanced": report.balance == 0}
                for ruleset, report in self._reports.items()
            },
            "replayed_equal": {
                ruleset: not report.differences for ruleset, report in self._reports.items()
            },
        }
