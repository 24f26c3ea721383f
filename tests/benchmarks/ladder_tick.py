"""How long the scheduler takes to make a match on ladders of many bots.

A decision and taking note of it, in memory; what Redis takes for the queueing comes on top.
"""

import hashlib
import random
import statistics
import time

from arena.scheduler.candidates import Candidate
from arena.scheduler.pairing import Pool

DECISIONS = 500


def crowd(bots: int) -> Pool:
    """Return a pool of bots of many owners with some matches behind them."""
    draw = random.Random(bots)
    pool = Pool()
    pool.fill(
        Candidate(
            bot=f"bot-{number}",
            version=f"bot-{number}@1",
            owner=f"owner-{number // 3}",
            rating=round(draw.gauss(1500, 200) * 1e6),
            matches=draw.randrange(100),
            last=draw.random() * 1e6,
        )
        for number in range(bots)
    )
    return pool


def main() -> None:
    """Print the milliseconds of a decision by the number of bots and of entrants."""
    print(f"{'bots':>8} {'entrants':>8} {'median ms':>10} {'99 % ms':>10}")
    for bots in (100, 10_000, 100_000):
        for entrants in (2, 4):
            pool, took = crowd(bots), []
            for number in range(DECISIONS):
                seed = hashlib.sha256(b"%d" % number).digest()
                begun = time.perf_counter()
                decision = pool.decide(entrants=entrants, seed=seed)
                assert decision is not None
                pool.note_match([each.bot for each in decision.entrants], when=1e6 + number)
                took.append(1000 * (time.perf_counter() - begun))
            last = statistics.quantiles(took, n=100)[98]
            print(f"{bots:>8} {entrants:>8} {statistics.median(took):>10.2f} {last:>10.2f}")


if __name__ == "__main__":
    main()
