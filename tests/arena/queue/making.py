"""Makes specs, results and leases for the queue's tests."""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import combinations
from typing import Any

from arena.queue.ladder import Ladder
from arena.queue.match_queue import MatchQueue
from arena.queue.models import Enqueued, LadderResult, Lease, MatchSpec
from referee.outcome import Termination

RULESET = "quasenbo"
LONG = timedelta(seconds=30)


def make_spec(match_id: str = "ladder-000001", *entrants: str, **facts: Any) -> MatchSpec:
    """Return a rated ladder match of ada@1 against bob@1, or as given."""
    values: dict[str, Any] = {
        "ruleset": RULESET,
        "flow": "ladder",
        "boards": 8,
        "seed": hashlib.sha256(match_id.encode()).digest(),
        "time_control": "5+0.05",
        "rated": True,
        "cost": 16,
    }
    return MatchSpec(id=match_id, entrants=entrants or ("ada@1", "bob@1"), **(values | facts))


def make_result(*pair_scores: int, entrants: int = 2, **facts: Any) -> LadderResult:
    """Return the result with these scores of the pairs i < j, by default a win of the first."""
    scores = [[0] * entrants for _ in range(entrants)]
    values = pair_scores or (1_000_000,) * (entrants * (entrants - 1) // 2)
    for (i, j), score in zip(combinations(range(entrants), 2), values, strict=True):
        scores[i][j], scores[j][i] = score, 1_000_000 - score
    defaults: dict[str, Any] = {
        "digest": hashlib.sha256(repr(values).encode()).digest(),
        "terminations": {Termination.FINISHED: 16},
    }
    return LadderResult(scores=tuple(map(tuple, scores)), **(defaults | facts))


async def enqueue(
    queue: MatchQueue, *specs: MatchSpec, weight: int = 1, cap: int = 100_000
) -> None:
    """Enqueue matches, each of which must be taken."""
    for spec in specs:
        answer = await queue.enqueue(spec, flow_weight=weight, cap=cap, epoch=None)
        assert answer is Enqueued.QUEUED


async def take(
    queue: MatchQueue,
    *,
    duration: timedelta = LONG,
    worker: str = "w1",
    expired: Callable[[int], None] | None = None,
) -> Lease:
    """Lease the next match, of which there must be one."""
    token = secrets.token_hex(16)
    lease = await queue.lease(worker, token=token, duration=duration, expired=expired)
    assert lease is not None
    return lease


async def lease_or_none(
    queue: MatchQueue, *, expired: Callable[[int], None] | None = None
) -> Lease | None:
    """Lease the next match, if there is one."""
    return await queue.lease("w1", token=secrets.token_hex(16), duration=LONG, expired=expired)


async def play(
    queue: MatchQueue, match_id: str, entrants: Sequence[str], *pair_scores: int
) -> Lease:
    """Enqueue, lease and commit a match; return its lease."""
    await enqueue(queue, make_spec(match_id, *entrants))
    lease = await take(queue)
    await queue.commit(lease, make_result(*pair_scores, entrants=len(entrants)))
    return lease


async def assert_balanced(ladder: Ladder) -> None:
    """The sum of all ratings and the bank is 0."""
    snapshot = await ladder.snapshot()
    assert sum(snapshot.ratings.values()) + snapshot.bank == 0
