"""Queues the matches of one ruleset, and leases them to workers."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial

from redis.asyncio import Redis

from arena.db.keys import ladder_key, milliseconds
from arena.db.scripts import Scripts
from arena.errors import InputError
from arena.queue import log_binary
from arena.queue.log_entries import CommitReply
from arena.queue.models import (
    FLOW,
    WORKER,
    Committed,
    DeadMatch,
    Enqueued,
    FlowCounts,
    LadderResult,
    Lease,
    MatchCounts,
    MatchPhase,
    MatchSpec,
    Reaped,
    Renewed,
    RetryPolicy,
    Returned,
)


class MatchQueue:
    """The queue of one ladder; every method is one atomic step on the server's clock.

    Every method raises `redis.exceptions.RedisError` when the server does not answer. All but
    `lease` may then be repeated: a repeated step changes nothing more. A repeated lease may leave
    the first one to expire.
    """

    def __init__(self, redis: Redis, ruleset: str, *, policy: RetryPolicy | None = None) -> None:
        self.ruleset = ruleset
        self._redis = redis
        self._scripts = Scripts(redis, "queue", partial(ladder_key, ruleset))
        self._policy = policy or RetryPolicy()

    def _key(self, part: str) -> str:
        return ladder_key(self.ruleset, part)

    async def enqueue(
        self, spec: MatchSpec, *, flow_weight: int, cap: int, epoch: int | None
    ) -> Enqueued:
        """Add a match at the end of its flow, unless ``cap`` matches of the ladder wait already.

        Args:
            spec: the match; its ruleset is this queue's.
            flow_weight: the share of its flow, relative to the ladder's others, 1..1000000.
            cap: the most matches of the ladder that may wait.
            epoch: of the active scheduler; None for a challenge.
        """
        if spec.ruleset != self.ruleset:
            raise InputError(f"a match of {spec.ruleset} does not belong to {self.ruleset}'s queue")
        if not 1 <= flow_weight <= 10**6:
            raise InputError(f"the weight of a flow is 1 to 1000000, not {flow_weight}")
        answer = await self._scripts.run(
            "enqueue",
            *(spec.id, spec.to_json(), spec.flow, spec.cost),
            *(flow_weight, cap, "" if epoch is None else epoch),
        )
        return Enqueued(answer.decode())

    async def fence(self, epoch: int) -> bool:
        """Refuse schedulers older than ``epoch`` from now on; False when a newer one is active."""
        return bool(await self._scripts.run("fence", epoch))

    async def lease(
        self,
        worker: str,
        *,
        token: str,
        duration: timedelta,
        expired: Callable[[int], None] | None = None,
    ) -> Lease | None:
        """Lease the next match, or None when none is ready.

        Promotes delayed matches that are due, and reaps expired leases; ``expired`` is called with
        their number, as `Reaped.expired`, if any. The token is 128 random bits as 32 hex digits,
        ``secrets.token_hex(16)``, new for each lease.
        """
        if not WORKER.fullmatch(worker):
            raise InputError(f"{worker!r} is no worker's name; possible: {WORKER.pattern}")
        if len(token) != 32:
            raise InputError("a token is 32 hex digits, secrets.token_hex(16)")
        unrenewed, *reply = await self._scripts.run(
            "lease",
            *(token, milliseconds(duration), worker),
            *(self._policy.attempts, milliseconds(self._policy.backoff)),
        )
        if unrenewed and expired is not None:
            expired(int(unrenewed))
        if not reply:
            return None
        spec, attempts, voids, created, deadline = reply
        return Lease(
            spec=MatchSpec.from_json(spec, created_time_ms=int(created)),
            token=token,
            attempt=int(attempts) + 1,
            voids=int(voids),
            deadline_ms=int(deadline),
        )

    async def renew(self, lease: Lease, *, duration: timedelta) -> Renewed:
        """Extend a lease to ``duration`` from now."""
        arguments = (lease.match_id, lease.token, milliseconds(duration))
        return Renewed((await self._scripts.run("renew", *arguments)).decode())

    async def release(self, lease: Lease, *, reason: str) -> Returned:
        """Return a match to the head of the queue; the attempt is not counted."""
        answer = await self._scripts.run("release", lease.match_id, lease.token, reason)
        return Returned(answer.decode())

    async def void(self, lease: Lease, *, reason: str) -> Returned:
        """Return a match that failed through no bot's fault, to be played with the same seed.

        It waits for a backoff; the last void of the policy makes it dead. Not an attempt.
        """
        answer = await self._scripts.run(
            "void",
            *(lease.match_id, lease.token, reason),
            *(self._policy.voids, milliseconds(self._policy.backoff)),
        )
        return Returned(answer.decode())

    async def commit(self, lease: Lease, result: LadderResult) -> CommitReply:
        """Store the result, change the ratings, and end the lease, in one idempotent step.

        The replay must be in the archive before.
        """
        spec = lease.spec
        if len(result.scores) != len(spec.entrants):
            raise InputError(
                f"{spec.id} has {len(spec.entrants)} entrants, the result {len(result.scores)}"
            )
        reply = await self._scripts.run(
            "commit",
            *(spec.id, lease.token, result.digest[: log_binary.DIGEST_BYTES], int(spec.rated)),
            *(log_binary.encode_body(spec, result), len(spec.entrants)),
            *spec.bots,
            *spec.entrants,
            *result.pair_scores,
        )
        answer = Committed(reply[0].decode())
        if len(reply) == 1:
            return CommitReply(answer=answer)
        return CommitReply(answer=answer, logged=log_binary.decode_result(int(reply[1]), reply[2]))

    async def reap(self) -> Reaped:
        """Requeue expired leases, or declare their matches dead; promote delayed matches."""
        requeued, dead, expired = await self._scripts.run(
            "reap", self._policy.attempts, milliseconds(self._policy.backoff)
        )
        waiting, ended = (tuple(each.decode() for each in ids) for ids in (requeued, dead))
        return Reaped(waiting, ended, int(expired))

    async def cancel(self, match_id: str) -> bool:
        """Cancel an unfinished match; False when there is none.

        A match that is being played ends at its worker's next renewal or commit.
        """
        return bool(await self._scripts.run("cancel", match_id))

    async def cancel_flow(self, flow: str) -> int:
        """Cancel every unfinished match of a flow, and forget the flow; return how many."""
        return int(await self._scripts.run("cancel_flow", _flow(flow)))

    async def cancel_bot(self, bot: str) -> int:
        """Cancel every unfinished match of a bot; return how many.

        Not atomic: matches that are enqueued meanwhile may be missed.
        """
        found = 0
        for text in await self._redis.hvals(self._key("spec")):
            spec = MatchSpec.from_json(text)
            if bot in spec.bots:
                found += await self.cancel(spec.id)
        return found

    async def entrants(self) -> set[str]:
        """Return the versions of every unfinished match, dead ones among them."""
        texts = await self._redis.hvals(self._key("spec"))
        return {each for text in texts for each in MatchSpec.from_json(text).entrants}

    async def pause(self, flow: str) -> int:
        """Pause a flow, less what is being played; return how many matches waited."""
        return int(await self._scripts.run("pause", _flow(flow)))

    async def resume(self, flow: str) -> int:
        """Resume a paused flow; return how many of its matches are ready now."""
        return int(await self._scripts.run("resume", _flow(flow)))

    async def dead(self) -> list[DeadMatch]:
        """Return the dead matches, the longest dead first."""
        rows = await self._scripts.run("dead")
        return [
            DeadMatch(
                spec=MatchSpec.from_json(spec, created_time_ms=int(created)),
                attempts=int(attempts),
                voids=int(voids),
                reason=reason.decode(),
                time=datetime.fromtimestamp(int(since) / 1000, UTC),
            )
            for spec, created, attempts, voids, reason, since in rows
        ]

    async def retry(self, match_id: str) -> bool:
        """Queue a dead match again, attempts and voids reset; False when it is not dead."""
        return bool(await self._scripts.run("retry", match_id))

    async def purge(self, match_id: str) -> bool:
        """Forget a dead match; False when it is not dead."""
        return bool(await self._scripts.run("purge", match_id))

    async def phase(self, match_id: str) -> MatchPhase | None:
        """Return a match's phase; None when it is unknown or only in the archive."""
        pipe = self._redis.pipeline(transaction=False)
        pipe.hget(self._key("state"), match_id)
        pipe.hexists(self._key("done"), match_id)
        state, done = await pipe.execute()
        if state is not None:
            return MatchPhase(state.split(b" ", 1)[0].decode())
        return MatchPhase.DONE if done else None

    async def spec(self, match_id: str) -> MatchSpec | None:
        """Return an unfinished match, with the time of its enqueueing; None when unknown."""
        pipe = self._redis.pipeline(transaction=False)
        pipe.hget(self._key("spec"), match_id)
        pipe.hget(self._key("state"), match_id)
        spec, state = await pipe.execute()
        if spec is None or state is None:
            return None
        return MatchSpec.from_json(spec, created_time_ms=int(state.split(b" ", 7)[6]))

    async def counts(self) -> MatchCounts:
        """Return the number of matches by phase."""
        return MatchCounts(*map(int, await self._scripts.run("counts")))

    async def flows(self) -> Mapping[str, FlowCounts]:
        """Return the flows of the ladder, by name."""
        rows = await self._scripts.run("flow_counts")
        return {
            name.decode(): FlowCounts(
                int(weight), bool(int(paused)), int(waiting), int(leased), int(dead)
            )
            for name, weight, paused, waiting, leased, dead in rows
        }

    async def oldest_seconds(self) -> float:
        """Return how long the match that is leased next has waited; 0 when none is ready."""
        return float(await self._scripts.run("oldest")) / 1000


def _flow(flow: str) -> str:
    if not FLOW.fullmatch(flow):
        raise InputError(f"{flow!r} is no flow; possible: {FLOW.pattern}")
    return flow
