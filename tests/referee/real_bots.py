"""Write bot folders and play matches with real bot processes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from referee.bot_folder import BotFolder, load_bot_folder
from referee.clock import TimeControl
from referee.games import Game, parse_ruleset
from referee.match.runner import MatchPlan, MatchResult, Referee
from referee.match.settings import TableSettings
from referee.sandbox.sandbox import PlainSandbox, Sandbox
from tests.referee.scripted import NeverLate

if TYPE_CHECKING:
    from referee.match.health import LagMonitor
    from referee.outcome import Forfeit

SEED = hashlib.sha256(b"real bots").digest()
FIRST = "return turn.legal_actions[0]"
RANDOM = "return turn.rng.choice(turn.legal_actions)"
HEAD = """
import os, pathlib, sys, time
from referee.sdk import Bot, run

pathlib.Path(f"pid-{os.getpid()}").touch()
"""
TOML = """
name = "{name}"
rulesets = ["quasenbo", "quasenbo:players=3", "quasenbo:players=4", "pese-katesh"]
command = {command}
parallel_games = {parallel_games}
"""


def write_bot(
    folder: Path,
    act: str = FIRST,
    *,
    rest: str = "",
    command: str = '["python", "bot.py"]',
    parallel_games: int = 0,
) -> BotFolder:
    """Write a bot of the SDK.

    Args:
        folder: where; its name is the bot's.
        act: the body of the method ``act``; ``self.asked`` counts the calls before.
        rest: more lines of the class.
        command: of ``bot.toml``.
        parallel_games: likewise.
    """
    lines = [HEAD, "class TestBot(Bot):", "    asked = -1", "    def act(self, turn):"]
    lines += ["        self.asked += 1", *(f"        {line}" for line in act.splitlines())]
    lines += [*(f"    {line}" for line in rest.splitlines()), "", "run(TestBot())", ""]
    return write_script(folder, "\n".join(lines), command=command, parallel_games=parallel_games)


def write_script(
    folder: Path, script: str, *, command: str = '["python", "bot.py"]', parallel_games: int = 0
) -> BotFolder:
    """Write a bot's folder with any script."""
    folder.mkdir()
    (folder / "bot.py").write_text(script, encoding="utf-8")
    toml = TOML.format(name=folder.name, command=command, parallel_games=parallel_games)
    (folder / "bot.toml").write_text(toml, encoding="utf-8")
    return load_bot_folder(folder)


def make_plan(
    ruleset: str | Game,
    *entrants: BotFolder,
    boards: int = 2,
    rotations: int | None = None,
    control: str | TimeControl = "5+0.05",
    **settings: Any,
) -> MatchPlan:
    """Return a plan; `settings` are those of `TableSettings`."""
    game = parse_ruleset(ruleset) if isinstance(ruleset, str) else ruleset
    clock = TimeControl.parse(control) if isinstance(control, str) else control
    return MatchPlan(
        game=game,
        seed=SEED,
        boards=boards,
        entrants=entrants,
        settings=TableSettings(control=clock, **settings),
        rotations=game.rotations if rotations is None else rotations,
    )


def make_referee(
    *,
    cores: int = 2,
    tables: int = 2,
    sandbox: Sandbox | None = None,
    monitor: LagMonitor | None = None,
) -> Referee:
    """Return a referee that blames nothing on itself, unless it is given a monitor."""
    referee = Referee(sandbox=sandbox or PlainSandbox(), cores=cores, tables=tables)
    referee.monitor = monitor or NeverLate()
    return referee


async def play(plan: MatchPlan, *, cores: int = 2, tables: int = 2) -> MatchResult:
    """Play a match and see that every permit came back."""
    referee = make_referee(cores=cores, tables=tables)
    result = await referee.play(plan)
    assert referee._permits.free == cores
    return result


def forfeits(result: MatchResult) -> list[list[Forfeit]]:
    """Return the forfeits of each game."""
    return [list(game.forfeits) for game in result.replay.games]


def bot_pids(*bots: BotFolder) -> list[int]:
    """Return the ids of the processes that bots of this module have had."""
    return [int(file.name.removeprefix("pid-")) for bot in bots for file in bot.path.glob("pid-*")]


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one that nobody has waited for does not."""
    return _state_and_parent(pid)[0] not in {"", "Z"}


def zombies() -> list[int]:
    """Return the children of this process that have ended and that nobody waited for."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return [pid for pid in pids if _state_and_parent(pid) == ("Z", os.getpid())]


def descriptors() -> int:
    """Return how many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def _state_and_parent(pid: int) -> tuple[str, int]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return "", 0
    state, parent = stat.rpartition(")")[2].split()[:2]
    return state, int(parent)


async def all_ended(pids: list[int], patience: float = 5.0) -> bool:
    """Wait until processes have ended; the kernel may take a moment after SIGKILL."""
    for _ in range(int(patience / 0.01)):
        if not any(map(is_alive, pids)):
            return True
        await asyncio.sleep(0.01)
    left = [pid for pid in pids if is_alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return not left


async def appears(file: Path, patience: float = 10.0) -> str:
    """Wait for a file that a bot writes, and return its text."""
    for _ in range(int(patience / 0.005)):
        if text := _text_of(file):
            return text
        await asyncio.sleep(0.005)
    raise AssertionError(f"{file} did not appear")


def _text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""
