"""How many matches the whole service plays, beside the same matches without it.

``python tests/benchmarks/service.py`` prints a table and, last, one line of JSON. Compare the ratio
within one run. The service is the embedded server with its append-only file, one worker process,
the archive and the commit, sandbox off; the same matches (rulesets, seeds, bots) are then played by
the referee alone, each replay written to a file, as ``arena play`` does. Both play two tables at
the same time. The first match of either is left out: processes and caches start with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from arena.cli.demo import add_bot
from arena.config import load
from arena.context import Arena, connected
from arena.db.embedded import EmbeddedServer
from arena.matches import replay_file as replay_files
from arena.queue.models import MatchSpec
from referee.bot_folder import load_bot_folder
from referee.clock import TimeControl
from referee.games import parse_ruleset
from referee.games.random_streams import board_seed
from referee.match.runner import MatchPlan, Referee
from referee.match.settings import TableSettings
from referee.sandbox.sandbox import PlainSandbox

if TYPE_CHECKING:
    from collections.abc import Callable

BOTS = tuple(Path(__file__).parents[2] / "sample_bots" / name for name in ("random", "first_legal"))
RULESET = "quasenbo"
BOARDS = 32
MATCHES = 21
ROUNDS = 3
CONTROL = "5+0.05"
TABLES = 2
LIMIT = 300.0
"""Seconds after which a round is given up."""


def seed_of(number: int) -> bytes:
    """Return the seed of a match."""
    return board_seed(bytes(32), number)


async def alone(folder: Path) -> float:
    """Return the matches per second of the referee and the replay files."""
    game = parse_ruleset(RULESET)
    referee = Referee(sandbox=PlainSandbox(), cores=TABLES, tables=TABLES)
    begun = 0.0
    for number in range(MATCHES):
        plan = MatchPlan(
            game=game,
            seed=seed_of(number),
            boards=BOARDS,
            entrants=tuple(load_bot_folder(bot) for bot in BOTS),
            settings=TableSettings(control=TimeControl.parse(CONTROL)),
            rotations=game.rotations,
        )
        result = await referee.play(plan)
        replay_files.write(folder / f"{number}.replay", result.replay)
        begun = begun or time.perf_counter()
    return (MATCHES - 1) / (time.perf_counter() - begun)


async def serviced(folder: Path) -> float:
    """Return the matches per second of the whole service, from its first result on."""
    server = EmbeddedServer(folder)
    server.start()
    worker: subprocess.Popen[bytes] | None = None
    try:
        settings = load(data_dir=folder, redis_url=server.url)
        async with connected(settings) as arena:
            await _enqueue(arena)
            words = [sys.executable, "-m", "arena", "worker", "--slots", str(TABLES)]
            worker = subprocess.Popen(  # noqa: ASYNC220 -- nothing else runs on this loop
                [*words, "--data-dir", str(folder), "--metrics-port", "0"],
                env={**os.environ, "ARENA_REDIS_URL": server.url},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            return await _rate(arena)
    finally:
        if worker is not None:
            worker.send_signal(signal.SIGTERM)
            worker.wait()
        server.stop()


async def _enqueue(arena: Arena) -> None:
    for bot in BOTS:
        await add_bot(arena, bot, owner="house", rulesets=[RULESET])
    queue = arena.queues.queue(RULESET)
    for number in range(MATCHES):
        spec = MatchSpec(
            id=f"bench-{number}",
            ruleset=RULESET,
            flow="ladder",
            entrants=("random@1", "first_legal@1"),
            boards=BOARDS,
            seed=seed_of(number),
            time_control=CONTROL,
            rated=True,
            cost=2 * BOARDS,
        )
        await queue.enqueue(spec, flow_weight=1, cap=MATCHES, epoch=None)


async def _rate(arena: Arena) -> float:
    """Wait for the last result; return the rate from the first result on."""
    ladder = arena.queues.ladder(RULESET)
    deadline = time.monotonic() + LIMIT
    begun, seen = 0.0, 0
    while time.monotonic() < deadline:
        played = len(await ladder.latest(MATCHES))
        if played and not seen:
            begun, seen = time.perf_counter(), played
        if played == MATCHES:
            return (MATCHES - seen) / (time.perf_counter() - begun)
        await asyncio.sleep(0.05)
    raise TimeoutError(f"the service did not play {MATCHES} matches in {LIMIT:g} s")


def run(*, rounds: int = ROUNDS) -> dict[str, Any]:
    """Return both rates and their ratio, medians over rounds that take turns."""
    rates: dict[str, list[float]] = {"service": [], "alone": []}
    ways: dict[str, Callable[[Path], Any]] = {"service": serviced, "alone": alone}
    for _ in range(rounds):
        for name, way in ways.items():
            with tempfile.TemporaryDirectory(prefix="bench-") as folder:
                rates[name].append(uvloop.run(way(Path(folder))))
    ratios = [one / two for one, two in zip(rates["service"], rates["alone"], strict=True)]
    return {
        "matches_per_second": {
            name: round(statistics.median(found), 3) for name, found in rates.items()
        },
        "games_per_match": 2 * BOARDS,
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def main() -> None:
    """Print the table and the JSON."""
    found = run()
    for name, rate in found["matches_per_second"].items():
        print(f"{name:8} {rate:8.2f} matches/s of {found['games_per_match']} games")
    print(f"ratio    {found['ratio']:8.2f} (by round: {found['ratios']})")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
