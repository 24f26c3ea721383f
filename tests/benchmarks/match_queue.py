"""Measures the queue: transitions per second, server time a transition, bytes a result.

Run it with ``python tests/benchmarks/match_queue.py [MATCHES]``.
"""

import argparse
import asyncio
import hashlib
import json
import secrets
import time
from collections.abc import Awaitable, Iterable
from datetime import timedelta
from itertools import combinations, pairwise
from typing import Any

from redis.asyncio import Redis

from arena.db.connection import connect
from arena.queue.ladder import Ladder
from arena.queue.match_queue import MatchQueue
from arena.queue.models import LadderResult, Lease, MatchSpec
from referee.outcome import Termination
from tests.redis_server import BINARIES, RedisServer

BOTS = [f"{name}-{number}" for name in ("greedy", "random", "minimax") for number in range(10)]
Rows = dict[str, dict[str, float]]
LONG = timedelta(seconds=30)


def _spec(number: int, entrants: int) -> MatchSpec:
    names = [BOTS[(number * 7 + 11 * seat) % len(BOTS)] for seat in range(entrants)]
    return MatchSpec(
        id=f"ladder-{number:06d}",
        ruleset="quasenbo",
        flow="ladder",
        entrants=tuple(f"{name}@3" for name in names),
        boards=8 if entrants == 2 else 1,
        seed=hashlib.sha256(str(number).encode()).digest(),
        time_control="5+0.05",
        rated=True,
        cost=16 if entrants == 2 else 4,
    )


def _result(number: int, entrants: int) -> LadderResult:
    scores = [[0] * entrants for _ in range(entrants)]
    for i, j in combinations(range(entrants), 2):
        scores[i][j] = (number * 62_500) % 1_000_001 if entrants == 2 else number % 9 * 125_000
        scores[j][i] = 1_000_000 - scores[i][j]
    return LadderResult(
        scores=tuple(map(tuple, scores)),
        digest=hashlib.sha256(str(number).encode()).digest(),
        terminations={Termination.FINISHED: 16 if entrants == 2 else 4},
        sets=(2, 3, 1, 4, 0, 2, 2, 1) if entrants == 2 else (),
        points=(120,) * entrants,
        played=timedelta(seconds=12),
    )


async def _server_times(redis: Redis) -> tuple[int, float]:
    stats: Any = await redis.info("commandstats")
    script = stats.get("cmdstat_evalsha", {"calls": 0, "usec": 0})
    return int(script["calls"]), float(script["usec"])


async def _measured(
    redis: Redis, name: str, steps: Iterable[Awaitable[object]]
) -> tuple[str, dict[str, float]]:
    """Await the steps one after another; return the rate and the server's time for each."""
    calls, usec = await _server_times(redis)
    start = time.perf_counter()
    for step in steps:
        await step
    wall = time.perf_counter() - start
    more_calls, more_usec = await _server_times(redis)
    count = more_calls - calls
    return name, {"per_second": count / wall, "server_us": (more_usec - usec) / count}


async def _play_all(queue: MatchQueue, redis: Redis, matches: int, entrants: int) -> Rows:
    """Run each kind of transition over all matches."""
    specs = [_spec(number, entrants) for number in range(matches)]
    enqueued = (queue.enqueue(spec, flow_weight=1, cap=10**7, epoch=1) for spec in specs)
    rows = [await _measured(redis, "enqueue", enqueued)]
    leases: list[Lease] = []

    async def lease() -> None:
        taken = await queue.lease("w1", token=secrets.token_hex(16), duration=LONG)
        assert taken is not None
        leases.append(taken)

    rows.append(await _measured(redis, "lease", (lease() for _ in specs)))
    renewals = (queue.renew(each, duration=LONG) for each in leases)
    rows.append(await _measured(redis, "renew", renewals))
    commits = (queue.commit(each, _result(n, entrants)) for n, each in enumerate(leases))
    rows.append(await _measured(redis, "commit", commits))
    return dict(rows)


async def _memory(redis: Redis) -> tuple[int, int]:
    """Return the server's used memory, and the sum over all keys by MEMORY USAGE."""
    info: Any = await redis.info("memory")
    keys: Any = await redis.keys("*")
    usage = [await redis.memory_usage(key, samples=0) or 0 for key in keys]
    return int(info["used_memory"]), sum(usage)


async def _measure(server: RedisServer, matches: int, entrants: int) -> Rows:
    redis = await connect(server.url)
    await redis.flushall()
    queue, ladder = MatchQueue(redis, "quasenbo"), Ladder(redis, "quasenbo")
    for bot in BOTS:
        await ladder.enter(bot)
    await _play_all(queue, redis, 100, entrants)
    await redis.delete(*[f"{{l:quasenbo}}:{part}" for part in ("done", "log")])
    sizes = [await _memory(redis)]
    rows = await _play_all(queue, redis, matches, entrants)
    sizes.append(await _memory(redis))
    for name, row in rows.items():
        per_second, server_us = row["per_second"], row["server_us"]
        print(f"  {name:8} {per_second:8.0f} a second  {server_us:6.1f} us of server time")
    ((used, keys),) = (tuple(b - a for a, b in zip(*pair, strict=True)) for pair in pairwise(sizes))
    print(
        f"  a result  {used / matches:.0f} bytes of used memory, {keys / matches:.0f} by its keys"
    )
    await redis.aclose()
    return rows | {"result": {"used_bytes": used / matches, "key_bytes": keys / matches}}


def main() -> None:
    """Print a table for each kind of server, with and without the disk, and JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("matches", nargs="?", type=int, default=5000)
    matches = parser.parse_args().matches
    measured = {}
    for name, binary in sorted(BINARIES.items()):
        for entrants in (2, 4):
            print(f"{name}, {matches} matches of {entrants}, in memory")
            server = RedisServer(binary)
            measured[f"{name}-{entrants}"] = asyncio.run(_measure(server, matches, entrants))
            server.close()
        print(f"{name}, {matches // 5} matches of 2, appendfsync always")
        server = RedisServer(binary, durable=True)
        measured[f"{name}-durable"] = asyncio.run(_measure(server, matches // 5, 2))
        server.close()
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
