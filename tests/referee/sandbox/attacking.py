"""Play a hostile bot against an honest one, both in the sandbox."""

from __future__ import annotations

import asyncio
import json
import secrets
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from referee.bot_folder import BotFolder, load_bot_folder
from referee.clock import TimeControl
from referee.games import parse_ruleset
from referee.match.health import LagMonitor
from referee.match.runner import MatchPlan, MatchResult, Referee
from referee.match.settings import TableSettings
from referee.sandbox.limits import ResourceLimits

if TYPE_CHECKING:
    from referee.match.connection import ProcessRecord
    from referee.outcome import ForfeitReason
    from referee.sandbox.sandbox import Sandbox

ATTACKER, HONEST = 0, 1
BOARDS = 3
SMALL = ResourceLimits(
    memory=160 << 20, tmp_bytes=8 << 20, shm_bytes=4 << 20, file_bytes=2 << 20, files=1000
)
"""ResourceLimits that an attack reaches soon."""

# What the attack returns goes to stdout as a line of JSON; then the bot plays on.
_BOT = """
import os

def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True

STARTED_WITH = [number for number in range(128) if is_open(number)]

import ctypes, errno, json, mmap, os, signal, socket, sys, threading, time
from pathlib import Path
from referee.sdk import Bot, run

LIBC = ctypes.CDLL(None, use_errno=True)

def error_of(call, *arguments):
    "The name of the error that a call raises, or none."
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "none"

def system_call(number, *arguments):
    "The name of the error that a system call answers, or none."
    ctypes.set_errno(0)
    words = [ctypes.c_long(argument) for argument in arguments]
    answer = LIBC.syscall(ctypes.c_long(number), *words)
    return errno.errorcode[ctypes.get_errno()] if answer == -1 else "none"

def attack():
{attack}

class Attacker(Bot):
    attacked = False
    def act(self, turn):
        if not self.attacked:
            self.attacked = True
            print("found", json.dumps(attack()), flush=True)
        return turn.legal_actions[0]

run(Attacker())
"""

HONEST_BOT = """
from referee.sdk import Bot, run

class Honest(Bot):
    def act(self, turn):
        return turn.legal_actions[0]

run(Honest())
"""


class NeverLate(LagMonitor):
    """Blame nothing on the referee: an attack, and the tests beside it, burn every core."""

    def lag_between(self, start: float, end: float) -> float:
        """Return no lag."""
        del start, end
        return 0.0


class AlwaysLate(LagMonitor):
    """Find half of every interval to be the referee's own lag."""

    def lag_between(self, start: float, end: float) -> float:
        """Return half of it."""
        return (end - start) / 2


@dataclass(frozen=True)
class Attack:
    """Hold a match that was played.

    Attributes:
        result: the match.
        mark: a word that is in the command of both bots.
    """

    result: MatchResult
    mark: str

    @property
    def attacker(self) -> ProcessRecord:
        """What the hostile bot's process left."""
        return next(r for r in self.result.processes if r.entrant == ATTACKER)

    @property
    def honest(self) -> ProcessRecord:
        """What the honest bot's process left."""
        return next(r for r in self.result.processes if r.entrant == HONEST)

    @property
    def found(self) -> Any:
        """What the attack returned."""
        lines = [line for line in self.attacker.stdout.splitlines() if line.startswith("found ")]
        assert lines, self.attacker.stderr
        return json.loads(lines[0].removeprefix("found "))

    @property
    def reasons(self) -> set[ForfeitReason]:
        """Why games were forfeited."""
        return {forfeit.reason for game in self.result.replay.games for forfeit in game.forfeits}

    @property
    def details(self) -> str:
        """The sentences about forfeits."""
        games = self.result.replay.games
        return "\n".join(forfeit.detail for game in games for forfeit in game.forfeits)


async def attack(sandbox: Sandbox, folder: Path, script: str, **settings: Any) -> Attack:
    """Play a match in which one bot attacks at its first turn, and see that the other is unharmed.

    Args:
        sandbox: what both run in.
        folder: an empty folder.
        script: the body of the function ``attack``.
        settings: of `play` and `TableSettings`.
    """
    mark = f"mark-{secrets.token_hex(8)}"
    code = _BOT.replace("{attack}", textwrap.indent(textwrap.dedent(script), "    "))
    bots = (
        write_bot(folder / "attacker", code, mark),
        write_bot(folder / "honest", HONEST_BOT, mark),
    )
    found = Attack(await play(sandbox, *bots, **settings), mark)
    assert_unharmed(found)
    assert await left(mark) == []
    return found


def write_bot(folder: Path, code: str, *words: str, toml: str = "") -> BotFolder:
    """Write a bot's folder, with more words for its command and more lines for ``bot.toml``."""
    folder.mkdir(parents=True)
    (folder / "bot.py").write_text(code, encoding="utf-8")
    command = json.dumps(["python", "bot.py", *words])
    (folder / "bot.toml").write_text(
        f'name = "{folder.name}"\nrulesets = ["quasenbo"]\ncommand = {command}\n{toml}',
        encoding="utf-8",
    )
    return load_bot_folder(folder)


async def play(
    sandbox: Sandbox,
    *bots: BotFolder,
    control: str = "10+1",
    monitor: LagMonitor | None = None,
    **settings: Any,
) -> MatchResult:
    """Play a short match at one table."""
    defaults = {"start_limit": 60.0, "stall": 0.3, "goodbye": 20.0, "parallel_games": 2}
    plan = MatchPlan(
        game=parse_ruleset("quasenbo"),
        seed=bytes(32),
        boards=BOARDS,
        entrants=bots,
        settings=TableSettings(control=TimeControl.parse(control), **{**defaults, **settings}),
        rotations=1,
    )
    referee = Referee(sandbox=sandbox, cores=2, tables=1)
    referee.monitor = monitor or NeverLate()
    return await referee.play(plan)


def assert_unharmed(found: Attack) -> None:
    """Assert that the honest bot finished every game, and went home in peace."""
    games = found.result.replay.games
    assert len(games) == BOARDS
    for game in games:
        assert {game.seats[forfeit.seat] for forfeit in game.forfeits} <= {ATTACKER}
        if game.forfeits:
            assert game.outcome.places[game.seats.index(HONEST)] == 1
    report = found.honest.report
    assert (report.code, report.stopped, found.honest.stderr) == (0, False, "")


async def left(mark: str) -> list[str]:
    """Return the commands that still run and hold a word, after waiting for them to vanish."""
    for _ in range(50):
        if not (found := running(mark)):
            break
        await asyncio.sleep(0.1)
    return found


def running(mark: str) -> list[str]:
    """Return the commands of processes that hold a word."""
    commands = (_command(entry) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [command for command in commands if mark in command]


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
