"""How exact the clock is: what a turn is charged, minus what the bot took for it.

Each bot measures its own service times. ``python tests/benchmarks/clock.py`` prints a table and,
last, one line of JSON: for 1, 8 and 32 parallel games, the median and the 99th percentile of
charged minus actual, and what a fast turn was charged while every tenth turn of the same bot took
fifty milliseconds. Numbers are those of an idle machine or they mean little.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import uvloop

from referee.bot_folder import BotFolder, load_bot_folder
from referee.clock import TimeControl
from referee.games import parse_ruleset
from referee.match.runner import MatchPlan, Referee
from referee.match.settings import TableSettings
from referee.sandbox.sandbox import PlainSandbox

if TYPE_CHECKING:
    from referee.games.replay import TurnTimes

PARALLEL_GAMES = (1, 8, 32)
FAST_US = 1_000
BOT = """
import time
from referee.sdk import Bot, run

class Sleeper(Bot):
    asked = -1
    def act(self, turn):
        self.asked += 1
        {act}
        return turn.legal_actions[0]

run(Sleeper())
"""
ACTS = {
    "even": "time.sleep(0.002 + 0.018 * turn.rng.random())",
    "uneven": "time.sleep(0.05 if self.asked % 10 == 9 else 0)",
    "fast": "pass",
}


def write_bot(folder: Path, name: str) -> BotFolder:
    """Write one of the bots of this benchmark."""
    home = folder / name
    home.mkdir()
    (home / "bot.py").write_text(BOT.format(act=ACTS[name]), encoding="utf-8")
    (home / "bot.toml").write_text(
        f'name = "{name}"\nrulesets = ["quasenbo"]\ncommand = ["python", "bot.py"]\n',
        encoding="utf-8",
    )
    return load_bot_folder(home)


async def play(bots: tuple[BotFolder, BotFolder], parallel_games: int) -> list[TurnTimes]:
    """Play a table and return the turns of the first bot."""
    plan = MatchPlan(
        game=parse_ruleset("quasenbo"),
        seed=hashlib.sha256(b"clock").digest(),
        boards=max(24, 2 * parallel_games),
        entrants=bots,
        settings=TableSettings(control=TimeControl.parse("60+1"), parallel_games=parallel_games),
        rotations=1,
    )
    result = await Referee(sandbox=PlainSandbox(), cores=2, tables=1).play(plan)
    return [
        times
        for game in result.replay.games
        for times in game.times
        if times is not None and game.seats[times.seat] == 0
    ]


def percentile(values: list[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def measure(folder: Path, parallel_games: int) -> dict[str, float]:
    """Return the numbers of one line of the table, in milliseconds."""
    even, uneven, fast = (write_bot(folder, name) for name in ACTS)
    turns = await play((even, fast), parallel_games)
    errors = [(turn.charged - turn.think) / 1000 for turn in turns]
    beside = await play((uneven, fast), parallel_games)
    charges = [turn.charged / 1000 for turn in beside if turn.think < FAST_US]
    return {
        "turns": len(turns),
        "median": median(errors),
        "p99": percentile(errors, 0.99),
        "fast_median": median(charges),
        "fast_p99": percentile(charges, 0.99),
        "fast_max": max(charges),
    }


async def measure_all() -> None:
    """Print one line per number of parallel games."""
    found = {}
    print("parallel  turns   charged - actual, ms    a fast turn beside slow ones, ms")
    print("  games           median      p99         median      p99      max")
    for parallel_games in PARALLEL_GAMES:
        with tempfile.TemporaryDirectory() as folder:
            row = found[parallel_games] = await measure(Path(folder), parallel_games)
        turns, *numbers = row.values()
        print(f"{parallel_games:7} {turns:7}" + "".join(f"{number:9.2f}" for number in numbers))
    print(json.dumps({"charged_minus_actual_ms": found}))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    uvloop.run(measure_all())
