"""How a tournament of 10,000 matches and a ladder share the workers.

``python tests/benchmarks/sharing.py [ENTRANTS]`` prints a table and, last, one line of JSON.
Server, scheduler, competitions, leases and commits are the service's own; only the cards are not
played: results follow from made-up strengths. A share is the tournament's part of all games that
were leased while both had more matches waiting; its error is relative to the smaller of the two
dues, over the whole run and over the worst 500 matches in a row.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import time

import structlog

from arena.db.connection import connect
from tests.arena.competitions.hall import Hall
from tests.arena.competitions.sharing import Rivals, Shared, share
from tests.redis_server import BINARIES, RedisServer


async def measured(server: RedisServer, rivals: Rivals) -> Shared:
    """Play a tournament beside a ladder on an empty server."""
    redis = await connect(server.url)
    try:
        await redis.flushall()
        return await share(Hall(redis), rivals)
    finally:
        await redis.aclose()


def main() -> None:
    """Print a line for each pair of weights, and JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("entrants", nargs="?", type=int, default=142, help="of a round robin")
    entrants = parser.parse_args().entrants
    quiet = structlog.make_filtering_bound_logger(logging.WARNING)
    structlog.configure(wrapper_class=quiet)
    server = RedisServer(BINARIES["valkey"])
    server.settle()
    rows = []
    print(f"{'tournament':40} {'contested':>9} {'due':>7} {'share':>7} {'error':>7} {'worst':>7}")
    for weight, ladder_weight in ((1, 1), (3, 1), (1, 2)):
        rivals = Rivals(entrants=entrants, weight=weight, ladder_weight=ladder_weight)
        begun = time.perf_counter()
        shared = asyncio.run(measured(server, rivals))
        row = {
            "tournament": str(rivals),
            "contested": len(shared.contested),
            "due": rivals.due,
            "share": shared.share,
            "error": shared.error,
            "worst_error": shared.worst_error,
            "seconds": time.perf_counter() - begun,
        }
        rows.append(row)
        print(
            f"{row['tournament']:40} {row['contested']:9} {rivals.due:7.2%} {shared.share:7.2%}"
            f" {shared.error:7.2%} {shared.worst_error:7.2%}"
        )
    server.close()
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
