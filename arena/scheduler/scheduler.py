"""Schedules matches: fills each ladder's queue and requeues expired leases.

One scheduler is active at a time (`Leadership`), the others stand by. Matches of all ladders are
numbered in one sequence: a number is taken before its match is queued, and whoever follows a
scheduler that died in between queues another match under the same number.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import structlog

from arena.backoff import Backoff
from arena.competitions.runner import CompetitionRunner
from arena.competitions.store import StaleEpochError
from arena.db.keys import arena_key
from arena.db.presence import Announcement, Presence, announced
from arena.db.retry import UNREACHABLE
from arena.errors import ArenaError
from arena.metrics import QUEUE_STATES, Metrics
from arena.queue.models import Enqueued, MatchSpec
from arena.queue.strengths import LadderStrengths
from arena.scheduler.leadership import Leadership
from arena.scheduler.pool import LadderPool, Roster
from referee.games import parse_ruleset
from referee.tasks import cancel, is_set_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.context import Arena

FLOW: Final = "ladder"
QUEUED_PER_SLOT: Final = 2
"""Tables of a ladder that wait, for each slot of all workers."""

MOST_A_TICK: Final = 4
"""Matches made for one ladder in one tick, so that a tick stays short."""

_NUMBERS: Final = arena_key("ladder-numbers")
"""ZSET ruleset -> the latest number that was taken for a match of it."""

_LEASE: Final = timedelta(seconds=10)
_RENEWAL: Final = 3.0
_MEASURE: Final = 2.0
_REST: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderPlan:
    """The matches of a ladder.

    Attributes:
        weight: the share of the ladder's flow beside tournaments and challenges.
        cap: the most matches of the ladder that may wait.
    """

    boards: int
    time_control: str
    weight: int = 1
    cap: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """The options of a scheduler.

    Attributes:
        name: a name that no other scheduler has, for people.
        plan: of a ruleset's ladder.
        tick: between two looks at the queues.
        upkeep: between two reapings and counts.
        most_matches: no ladder match beyond this number is made; None for no end.
    """

    name: str
    plan: Callable[[str], LadderPlan]
    tick: timedelta = timedelta(seconds=0.2)
    upkeep: timedelta = timedelta(seconds=1)
    most_matches: int | None = None


def match_id(number: int) -> str:
    """Return the id of a ladder match."""
    return f"{FLOW}-{number:06d}"


class Scheduler:
    """Schedules ladders and competitions while it is the active scheduler."""

    def __init__(
        self, arena: Arena, *, metrics: Metrics, metrics_port: int, options: SchedulerOptions
    ) -> None:
        self._arena = arena
        self._queues = arena.queues
        self._workers = Presence(arena.redis)
        self._leadership = Leadership(arena.redis, secrets.token_hex(16))
        self._roster = Roster(arena)
        self._competitions = CompetitionRunner(arena, cap=lambda ruleset: options.plan(ruleset).cap)
        self._metrics = metrics
        self._metrics_port = metrics_port
        self._options = options
        self._pools: dict[str, LadderPool] = {}
        self._slots = 0
        self._number = 1
        self._rulesets: list[str] = []
        self._log: Any = structlog.get_logger().bind(scheduler=options.name)

    async def run(self, stopping: asyncio.Event) -> None:
        """Stand by, schedule when it can, until ``stopping`` is set."""
        announcement = Announcement(
            name=self._options.name, kind="scheduler", slots=0, metrics_port=self._metrics_port
        )
        async with (
            announced(self._arena.redis, announcement),
            asyncio.TaskGroup() as group,
        ):
            upkeep = group.create_task(self._keep_up())
            await self._stand_by_or_lead(stopping)
            await cancel(upkeep)
            with suppress(*UNREACHABLE):
                await self._leadership.resign()
        self._log.info("scheduler stopped")

    async def _stand_by_or_lead(self, stopping: asyncio.Event) -> None:
        backoff = Backoff(0.1, 5.0)
        while not stopping.is_set():
            try:
                epoch = await self._leadership.acquire(duration=_LEASE)
                backoff.reset()
                if epoch is None:
                    await is_set_within(stopping, 1.0)
                else:
                    await self._lead(epoch, stopping)
            except UNREACHABLE as error:
                pause = backoff.pause()
                self._log.warning("redis not reached", error=str(error), pause_seconds=pause)
                await is_set_within(stopping, pause)

    async def _lead(self, epoch: int, stopping: asyncio.Event) -> None:
        """Schedule until the lease is lost, Redis does not answer, or it is time to stop."""
        self._log.info("scheduler became active", epoch=epoch)
        self._pools.clear()
        self._competitions.forget()
        await self._queues.fence(epoch)
        self._number = await self._first_number()
        renewing = asyncio.create_task(self._renew(epoch))
        try:
            while not stopping.is_set() and not renewing.done():
                await self.tick(epoch)
                await is_set_within(stopping, self._options.tick.total_seconds())
            if renewing.done():
                renewing.result()
        except StaleEpochError:
            self._log.warning("scheduler deposed", epoch=epoch)
        finally:
            await cancel(renewing)

    async def _renew(self, epoch: int) -> None:
        while True:
            if not await self._leadership.renew(epoch=epoch, duration=_LEASE):
                raise StaleEpochError(f"epoch {epoch} is over")
            await asyncio.sleep(_RENEWAL)

    # Matches.

    async def tick(self, epoch: int) -> int:
        """Fill the queue of every ladder and competition; return how many matches were made."""
        made = sum([await self._fill(ruleset, epoch) for ruleset in self._rulesets])
        return made + await self._competitions.tick(epoch, slots=self._slots)

    async def _fill(self, ruleset: str, epoch: int) -> int:
        game = parse_ruleset(ruleset)
        if ruleset not in self._pools:
            ladder = self._queues.ladder(ruleset)
            strengths = LadderStrengths(self._arena.redis, ladder, archive=self._arena.archive)
            self._pools[ruleset] = LadderPool(ladder, self._roster, strengths)
        pool = self._pools[ruleset]
        await pool.update()
        flow = (await self._queues.queue(ruleset).flows()).get(FLOW)
        if len(pool.pool) < game.entrants or (flow is not None and flow.paused):
            return 0
        tables = QUEUED_PER_SLOT * self._slots
        wanted = max(min(1, tables), tables // game.rotations)
        missing = wanted - (flow.waiting if flow is not None else 0)
        made = 0
        for _ in range(min(missing, MOST_A_TICK)):
            if not await self._make_match(ruleset, pool, epoch):
                break
            made += 1
        return made

    async def _make_match(self, ruleset: str, pool: LadderPool, epoch: int) -> bool:
        """Pair, number and queue one match; False when none can be made now."""
        game = parse_ruleset(ruleset)
        plan = self._options.plan(ruleset)
        begun, seed = time.perf_counter(), secrets.token_bytes(32)
        decision = pool.pool.decide(entrants=game.entrants, seed=seed)
        if decision is None:
            return False
        took = time.perf_counter() - begun
        number, most = self._number, self._options.most_matches
        if most is not None and number > most:
            return False
        await self._arena.redis.zadd(_NUMBERS, {ruleset: number}, gt=True)
        spec = MatchSpec(
            id=match_id(number),
            ruleset=ruleset,
            flow=FLOW,
            entrants=tuple(each.version for each in decision.entrants),
            boards=plan.boards,
            seed=secrets.token_bytes(32),
            time_control=plan.time_control,
            rated=True,
            cost=plan.boards * game.rotations,
            metadata={"reason": decision.reason},
        )
        answer = await self._queues.queue(ruleset).enqueue(
            spec, flow_weight=plan.weight, cap=plan.cap, epoch=epoch
        )
        if answer is Enqueued.STALE_EPOCH:
            raise StaleEpochError(f"epoch {epoch} is over")
        if answer is not Enqueued.FULL:
            self._number = number + 1
        if answer is not Enqueued.QUEUED:
            self._log.warning("match refused", match=spec.id, ruleset=ruleset, answer=answer.value)
            return False
        pool.note_scheduled(spec.id, spec.bots, when=time.time())
        self._log.info(
            "match scheduled",
            match=spec.id,
            ruleset=ruleset,
            entrants=spec.entrants,
            reason=decision.reason,
            candidates=decision.candidates,
            decision_seed=seed.hex(),
            commitment=spec.commitment,
            seconds=round(took, 6),
        )
        return True

    async def _first_number(self) -> int:
        """Return the number of the next match: the last one taken, if its match was never queued.

        The ladders were fenced before, so that no other scheduler can still queue it.
        """
        newest: Any = await self._arena.redis.zrevrange(_NUMBERS, 0, 0, withscores=True)
        if not newest:
            return 1
        number = int(newest[0][1])
        rulesets: Any = await self._arena.redis.zrangebyscore(_NUMBERS, number, number)
        for ruleset in rulesets:
            if await self._queues.queue(ruleset.decode()).phase(match_id(number)) is not None:
                return number + 1
        return number

    # Upkeep: whoever stands by sees the queues, too; the active one alone reaps.

    async def _keep_up(self) -> None:
        due = 0.0
        while True:
            try:
                self._slots = await self._workers.slots()
                await self._roster.refresh()
                self._rulesets = await self._queues.rulesets()
                for ruleset in self._rulesets:
                    await self._look_after(ruleset)
                if time.monotonic() >= due:
                    begun = time.monotonic()
                    for pool in list(self._pools.values()):
                        await pool.measure()
                    # Where it takes long, it is done less often.
                    due = time.monotonic() + max(_MEASURE, _REST * (time.monotonic() - begun))
            except (*UNREACHABLE, ArenaError) as error:
                self._log.warning("upkeep failed", error=str(error))
            await asyncio.sleep(self._options.upkeep.total_seconds())

    async def _look_after(self, ruleset: str) -> None:
        queue = self._queues.queue(ruleset)
        if ruleset in self._pools:
            reaped = await queue.reap()
            if reaped.requeued or reaped.dead:
                self._log.warning(
                    "leases reaped", ruleset=ruleset, requeued=reaped.requeued, dead=reaped.dead
                )
            self._metrics.lease_expirations.inc(reaped.expired)
        counts = await queue.counts()
        for state in QUEUE_STATES:
            self._metrics.queue_matches.labels(ruleset, state).set(getattr(counts, state))
        self._metrics.queue_oldest.labels(ruleset).set(await queue.oldest_seconds())
