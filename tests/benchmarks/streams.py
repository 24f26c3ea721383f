"""How many decisions one table makes, beside a bare ping-pong over the same kind of stream.

``python tests/benchmarks/streams.py`` prints a table and, last, one line of JSON. Compare ratios
within one run: the ping-pong is a message each way over a unix socket, one at a time, between this
process (grpc.aio) and a Python process (synchronous grpc), with bytes of a turn's and an action's
size and nothing parsed.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import grpc
import uvloop

from referee.bot_folder import load_bot_folder
from referee.clock import TimeControl
from referee.games import parse_ruleset
from referee.match.runner import MatchPlan, Referee
from referee.match.settings import TableSettings
from referee.sandbox.sandbox import PlainSandbox

BOT = Path(__file__).parents[2] / "sample_bots" / "first_legal"
TURN_BYTES = 220
ACTION_BYTES = 16
BOARDS = {1: 150, 8: 800, 32: 2000, 64: 3000}
ROUNDS = 3  # the best of them counts: a shared machine only ever makes a round slower

_ECHO = """
import queue, sys, grpc
sys.setswitchinterval(0.0005)
outbox = queue.SimpleQueue()
with grpc.insecure_channel(sys.argv[1]) as channel:
    outbox.put(b"x" * int(sys.argv[2]))
    for _ in channel.stream_stream("/pingpong/Play")(iter(outbox.get, None)):
        outbox.put(b"x" * int(sys.argv[2]))
"""


async def ping_pong(seconds: float) -> float:
    """Return the round trips per second of a bare stream."""
    done: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def play(_requests: object, context: Any) -> None:
        message = b"x" * TURN_BYTES
        for _ in range(200):
            await context.read()
            await context.write(message)
        trips, begun = 0, time.perf_counter()
        while (spent := time.perf_counter() - begun) < seconds:
            await context.read()
            await context.write(message)
            trips += 1
        done.set_result(trips / spent)

    with tempfile.TemporaryDirectory() as folder:
        server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
        handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(play)
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("pingpong", {"Play": handler}),)
        )
        server.add_insecure_port(f"unix:{folder}/s")
        await server.start()
        words = [sys.executable, "-c", _ECHO, f"unix:{folder}/s", str(ACTION_BYTES)]
        client = await asyncio.create_subprocess_exec(*words, stderr=subprocess.DEVNULL)
        rate = await done
        client.kill()
        await client.wait()
        await server.stop(0.2)
    return rate


async def decisions(parallel: int, boards: int) -> float:
    """Return the decisions per second of one table of two trivially fast bots, start-up apart."""
    referee = Referee(sandbox=PlainSandbox(), cores=2, tables=1)
    plan = MatchPlan(
        game=parse_ruleset("quasenbo"),
        seed=bytes(32),
        boards=boards,
        entrants=(load_bot_folder(BOT),) * 2,
        settings=TableSettings(control=TimeControl.parse("5+0.05"), parallel_games=parallel),
        rotations=1,
    )
    last = 0.0

    def ended(_game: object) -> None:
        nonlocal last
        last = time.monotonic()

    begun = time.monotonic()
    result = await referee.play(plan, progress=ended)
    start = max(record.start_seconds or 0.0 for record in result.processes)
    count = sum(asked is not None for game in result.replay.games for asked in game.times)
    return count / (last - begun - start)


def run(*, rounds: int = ROUNDS) -> dict[str, Any]:
    """Return round trips and decisions per second, and their ratios."""
    bare = max(uvloop.run(ping_pong(1.0)) for _ in range(rounds))
    rates = {
        parallel: max(uvloop.run(decisions(parallel, boards)) for _ in range(rounds))
        for parallel, boards in BOARDS.items()
    }
    return {
        "ping_pong_per_second": round(bare),
        "decisions_per_second": {n: round(rate) for n, rate in rates.items()},
        "ratio": {n: round(rate / bare, 2) for n, rate in rates.items()},
    }


def main() -> None:
    """Print the table and the JSON."""
    found = run()
    print(f"bare ping-pong      {found['ping_pong_per_second']:8} round trips/s")
    for parallel, rate in found["decisions_per_second"].items():
        ratio = found["ratio"][parallel]
        print(f"{parallel:3} parallel games  {rate:8} decisions/s  {ratio:5.2f} x ping-pong")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
