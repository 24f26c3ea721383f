"""Plays matches of sample bots through the referee, with real processes."""

import asyncio
import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

from referee.bot_folder import load_bot_folder
from referee.clock import TimeControl
from referee.games import parse_ruleset
from referee.match.health import LagMonitor
from referee.match.runner import MatchPlan, MatchResult, Referee
from referee.match.settings import TableSettings
from referee.outcome import Forfeit
from referee.sandbox.sandbox import PlainSandbox

SAMPLE_BOTS = Path(__file__).resolve().parents[2] / "sample_bots"


class NeverLate(LagMonitor):
    """Blames nothing on the referee: the tests beside it burn every core, and no match is void."""

    def lag_between(self, start: float, end: float) -> float:
        """Return no lag."""
        del start, end
        return 0.0


async def play(
    ruleset: str,
    *bots: Path | str,
    boards: int,
    rotations: int | None = None,
    control: str = "5+0.05",
    seed: str = "sample bots",
    tables: int = 2,
    **settings: Any,
) -> MatchResult:
    """Play a match.

    Args:
        ruleset: what is played.
        bots: a folder, or the name of a sample bot, for each entrant; one alone takes all places.
        boards: how many.
        rotations: of each board; all when None.
        control: the clock.
        seed: a text that is hashed.
        tables: how many run at the same time.
        settings: of `TableSettings`.
    """
    game = parse_ruleset(ruleset)
    folders = [load_bot_folder(SAMPLE_BOTS / bot) for bot in bots]
    entrants = folders * game.entrants if len(folders) == 1 else folders
    plan = MatchPlan(
        game=game,
        seed=hashlib.sha256(seed.encode()).digest(),
        boards=boards,
        entrants=tuple(entrants),
        settings=TableSettings(control=TimeControl.parse(control), **settings),
        rotations=game.rotations if rotations is None else rotations,
    )
    referee = Referee(sandbox=PlainSandbox(), cores=2, tables=tables)
    referee.monitor = NeverLate()
    return await referee.play(plan)


def forfeits(result: MatchResult) -> list[Forfeit]:
    """Return every forfeit of a match."""
    return [forfeit for game in result.replay.games for forfeit in game.forfeits]


def printed(result: MatchResult) -> str:
    """Return what the processes complained of, for the message of a failed assertion."""
    return "\n".join(record.stderr for record in result.processes)


def points(result: MatchResult) -> list[int]:
    """Return the sum of points by entrant."""
    sums = [0] * len(result.replay.entrants)
    for game in result.replay.games:
        for entrant, gain in zip(game.seats, game.outcome.points, strict=True):
            sums[entrant] += gain
    return sums


def wins(result: MatchResult) -> list[int]:
    """Return the number of games by entrant that it won alone or with others."""
    sums = [0] * len(result.replay.entrants)
    for game in result.replay.games:
        winners = zip(game.seats, game.outcome.places, strict=True)
        for entrant in {entrant for entrant, place in winners if place == 1}:
            sums[entrant] += 1
    return sums


def make_faulty(folder: Path, fault: str) -> Path:
    """Copy the faulty bot below a folder, with a command that names the fault."""
    copy = folder / "faulty"
    shutil.copytree(SAMPLE_BOTS / "faulty", copy)
    (copy / "bot.toml").write_text(
        'name = "faulty"\n'
        'rulesets = ["quasenbo", "pese-katesh"]\n'
        f'command = ["python", "bot.py", "--fault", "{fault}"]\n'
    )
    return copy


async def processes_left(folder: Path) -> list[int]:
    """Return the processes that work below a folder, after waiting for them to vanish."""
    for _ in range(50):
        if not (left := _working_below(folder)):
            break
        await asyncio.sleep(0.1)
    return left


def _working_below(folder: Path) -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if _works_below(entry, folder)]


def _works_below(process: Path, folder: Path) -> bool:
    try:
        return process.name.isdecimal() and (process / "cwd").readlink().is_relative_to(folder)
    except OSError:
        return False


def make_quick(folder: Path, bot: str, *, seconds: float) -> Path:
    """Copy a bot that searches below a folder, with another limit for each turn."""
    copy = folder / bot
    shutil.copytree(SAMPLE_BOTS / bot, copy)
    program = copy / "bot.py"
    text, count = re.subn(
        r"^MOST_SECONDS = .*$",
        f"MOST_SECONDS = {seconds}",
        program.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert count == 1
    program.write_text(text, encoding="utf-8")
    return copy
