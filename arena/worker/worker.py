"""Plays matches: leases them, referees them, archives and commits their results.

Whatever happens to a worker, no match is lost and none counts twice: a result is committed under
the lease's token, and whoever cannot renew a lease ends the bots and drops the match.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import structlog

from arena.backoff import Backoff
from arena.db.presence import Announcement, announced
from arena.db.retry import UNREACHABLE, until_answered
from arena.errors import ArenaError, is_full
from arena.metrics import MatchEnd, Metrics
from arena.processes.lifecycle import is_orphan
from arena.queue.models import Committed, Lease, Renewed
from arena.worker import artifacts as match_files
from arena.worker.full_disk import FullDisk
from arena.worker.leased_match import MatchInPlay
from arena.worker.result import match_result
from referee.clock import TimeControl
from referee.errors import RefereeError, VoidMatchError
from referee.games import parse_ruleset
from referee.match.runner import MatchPlan, Referee
from referee.match.runner import MatchResult as Played
from referee.match.settings import TableSettings
from referee.tasks import cancel, is_set_within

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from arena.context import Arena
    from referee.games.replay import ReplayGame
    from referee.sandbox.sandbox import Sandbox

_FIRST_PAUSE: Final = 0.1
_LAG_WINDOW: Final = 5.0
_RELEASE_LIMIT: Final = 5.0
_END_LIMIT: Final = 15.0
"""Seconds in which a match has ended its bots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The options of a worker.

    Attributes:
        name: a name that no other worker has, for people.
        slots: tables played at the same time.
        cores: bots that may think at the same time.
        parallel_games: by ruleset, the most games that a table has open at once.
        grace: how long a stopping worker goes on with what it plays.
        lease: how long a lease lives unless renewed, every ``renewal``.
        silence: without any renewal for so long, a match is dropped; less than ``lease``.
        poll: the longest wait before an empty queue is asked again.
        allows_unsandboxed: whether bots that nobody trusts may run outside the sandbox.
    """

    name: str
    slots: int
    cores: int
    parallel_games: Callable[[str], int]
    grace: timedelta = timedelta(seconds=60)
    lease: timedelta = timedelta(seconds=30)
    renewal: timedelta = timedelta(seconds=10)
    silence: timedelta = timedelta(seconds=25)
    poll: timedelta = timedelta(seconds=0.5)
    allows_unsandboxed: bool = False


class Worker:
    """Plays matches until it is told to stop."""

    def __init__(
        self,
        arena: Arena,
        *,
        sandbox: Sandbox,
        metrics: Metrics,
        metrics_port: int,
        options: WorkerOptions,
    ) -> None:
        self._arena = arena
        self._queues = arena.queues
        self._metrics = metrics
        self._metrics_port = metrics_port
        self._options = options
        self._referee = Referee(sandbox=sandbox, cores=options.cores, tables=options.slots)
        self._matches: dict[MatchInPlay, asyncio.Task[None]] = {}
        self._freed = asyncio.Event()
        self._disk = FullDisk(emptied=self._freed.set)
        self._log: Any = structlog.get_logger().bind(worker=options.name)

    async def run(self, stopping: asyncio.Event) -> None:
        """Play matches until ``stopping`` is set and what is being played has been settled."""
        self._referee.monitor.start_sampling()
        self._log.info("worker started", slots=self._options.slots, cores=self._options.cores)
        announcement = Announcement(
            name=self._options.name,
            kind="worker",
            slots=self._options.slots,
            metrics_port=self._metrics_port,
        )
        async with (
            announced(self._arena.redis, announcement),
            asyncio.TaskGroup() as group,
        ):
            watching = group.create_task(self._watch())
            await self._take_matches(stopping)
            await self._finish()
            await cancel(watching)
        self._referee.monitor.stop_sampling()
        self._log.info("worker stopped")

    def in_use(self) -> set[str]:
        """Return the digests of the bots that it is playing."""
        return {digest for match in self._matches for digest in match.digests}

    # Taking matches.

    async def _take_matches(self, stopping: asyncio.Event) -> None:
        """Lease as many matches as fill the slots, and no more."""
        stop = asyncio.create_task(stopping.wait())
        backoff = Backoff(_FIRST_PAUSE, self._options.poll.total_seconds())
        while not stopping.is_set():
            self._freed.clear()
            if self._busy() >= self._options.slots or self._disk.is_full:
                await self._first_of(stop, self._freed.wait())
                continue
            lease = await self._lease()
            if lease is None:
                await self._first_of(stop, asyncio.sleep(backoff.pause()))
            else:
                backoff.reset()
                self._start(lease)

    async def _first_of(self, stop: asyncio.Task[bool], other: Awaitable[object]) -> None:
        waiting = asyncio.ensure_future(other)
        await asyncio.wait({stop, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    def _busy(self) -> int:
        return sum(len(match.tables) for match in self._matches)

    async def _lease(self) -> Lease | None:
        try:
            return await self._queues.lease(
                self._options.name,
                token=secrets.token_hex(16),
                duration=self._options.lease,
                expired=self._metrics.lease_expirations.inc,
            )
        except UNREACHABLE as error:
            self._log.warning("lease failed", error=str(error))
            return None

    def _start(self, lease: Lease) -> None:
        self._metrics.know_ruleset(lease.spec.ruleset)
        match = MatchInPlay(lease)

        def settled(_: asyncio.Task[None]) -> None:
            self._matches.pop(match)
            self._freed.set()

        self._matches[match] = asyncio.create_task(self._run_match(match))
        self._matches[match].add_done_callback(settled)

    async def _finish(self) -> None:
        """Let what is being played end within the grace, and release the rest."""
        running = list(self._matches.values())
        if not running:
            return
        self._log.info("worker drained", matches=len(running))
        deadline = time.monotonic() + self._options.grace.total_seconds()
        # An orphan lets go at once: the server may be gone soon, too.
        while running and not is_orphan() and time.monotonic() < deadline:
            _, left = await asyncio.wait(running, timeout=0.2)
            running = list(left)
        for match in self._matches:
            match.let_go.set()
        if running:
            await asyncio.wait(running)

    # One match.

    async def _run_match(self, match: MatchInPlay) -> None:
        """Play a match, keep its lease meanwhile, and count how it ended."""
        lease = match.lease
        log = self._log.bind(match=lease.match_id, ruleset=lease.spec.ruleset)
        log.info("match leased", attempt=lease.attempt, voids=lease.voids)
        play = asyncio.create_task(self._play(match, log))
        keep = asyncio.create_task(self._keep(match))
        try:
            await asyncio.wait({play, keep}, return_when=asyncio.FIRST_COMPLETED)
            if play.done():
                end = play.result()
            else:
                end = keep.result()
                await cancel(play, again=_END_LIMIT)
            if end in {MatchEnd.CANCELLED, MatchEnd.RELEASED}:
                # Another worker need not wait for the lease's end.
                reason = f"{end} by worker {self._options.name}"
                queue = self._queues.queue(lease.spec.ruleset)
                with suppress(TimeoutError):
                    await until_answered(
                        lambda: queue.release(lease, reason=reason), limit=_RELEASE_LIMIT
                    )
        finally:
            await cancel(play, again=_END_LIMIT)
            await cancel(keep)
        self._metrics.matches.labels(lease.spec.ruleset, end.value).inc()
        log.info("match ended", result=end.value)

    async def _play(self, match: MatchInPlay, log: Any) -> MatchEnd:
        """Play, archive and commit; void the match for whatever is not the bots' fault."""
        try:
            played = await self._referee.play(
                await self._plan(match), progress=lambda game: self._game_ended(match, game)
            )
            match.played = True
            match.tables.clear()
            self._freed.set()
            return await self._commit(match, played, log)
        except VoidMatchError as error:
            reason, sentence, cause = error.reason, str(error), error.__cause__
        except Exception as error:  # noqa: BLE001 -- whatever it is, no bot may pay for it
            if is_full(error):
                log.warning("disk full", detail=str(error))
                self._disk.note_full()
                return MatchEnd.RELEASED
            told = isinstance(error, (ArenaError, RefereeError))
            sentence = str(error) if told else f"internal error: {error!r}"
            reason, cause = "internal_error", error
        self._metrics.void(reason)
        log.error("match voided", reason=reason, detail=sentence, exc_info=cause)
        match.tables.clear()
        self._freed.set()
        queue = self._queues.queue(match.lease.spec.ruleset)
        with suppress(TimeoutError):
            await until_answered(
                lambda: queue.void(match.lease, reason=sentence[:500]),
                limit=self._options.silence.total_seconds(),
            )
        return MatchEnd.VOID

    async def _plan(self, match: MatchInPlay) -> MatchPlan:
        spec = match.lease.spec
        game = parse_ruleset(spec.ruleset)
        versions = await self._arena.registry.versions(spec.entrants)
        if not (self._options.allows_unsandboxed or all(each.trusted for each in versions)):
            self._referee.sandbox.require_isolation()
        match.digests = tuple(each.digest for each in versions)
        folders = await asyncio.to_thread(match_files.folders, self._arena.archive, match.digests)
        return MatchPlan(
            game=game,
            seed=spec.seed,
            boards=spec.boards,
            entrants=tuple(folders),
            settings=TableSettings(
                control=TimeControl.parse(spec.time_control),
                parallel_games=self._options.parallel_games(spec.ruleset),
            ),
            rotations=game.rotations,
        )

    def _game_ended(self, match: MatchInPlay, game: ReplayGame) -> None:
        """Make room for another match as soon as a table has played its last game."""
        match.tables[game.table] -= 1
        if match.tables[game.table] == 0:
            del match.tables[game.table]
            self._freed.set()

    async def _commit(self, match: MatchInPlay, played: Played, log: Any) -> MatchEnd:
        """Archive, then commit until Redis has answered; the token makes repeats harmless."""
        lease, spec = match.lease, match.lease.spec
        store = partial(match_files.store, self._arena.archive, spec, played, digests=match.digests)
        digest = await self._disk.until_stored(store, log=log)
        result = match_result(played.replay, digest=digest, seconds=played.seconds)
        queue = self._queues.queue(spec.ruleset)
        reply = await until_answered(lambda: queue.commit(lease, result), limit=None)
        self._metrics.commits.labels(reply.answer.value).inc()
        if reply.answer in {Committed.COMMITTED, Committed.ALREADY}:
            self._metrics.count_play(played.replay)
            self._metrics.match_seconds.labels(spec.ruleset).observe(played.seconds)
            for process in played.processes:
                if process.start_seconds is not None:
                    self._metrics.bot_start.observe(process.start_seconds)
            return MatchEnd.COMMITTED
        ladder = self._queues.ladder(spec.ruleset)
        counted = await until_answered(lambda: ladder.result(spec.id), limit=None)
        # Another worker's play may have an equal replay, the same file, which is yet to count.
        is_other = counted is not None and not digest.startswith(counted.digest)
        if is_other or reply.answer is not Committed.STALE:
            await asyncio.to_thread(
                match_files.remove, self._arena.archive, spec, digest, played.processes
            )
        if reply.answer is Committed.CANCELLED:
            return MatchEnd.CANCELLED
        log.warning("result refused", answer=reply.answer.value)
        return MatchEnd.LOST

    # Its lease.

    async def _keep(self, match: MatchInPlay) -> MatchEnd:
        """Renew the lease until the match must be let go; return how it ends then."""
        options = self._options
        queue = self._queues.queue(match.lease.spec.ruleset)
        renewal, silence = options.renewal.total_seconds(), options.silence.total_seconds()
        pause = renewal
        while not await is_set_within(match.let_go, pause):
            begun = time.monotonic()
            left = max(0.1, match.renewed + silence - begun)
            try:
                async with asyncio.timeout(left):
                    answer = await queue.renew(match.lease, duration=options.lease)
            except (*UNREACHABLE, TimeoutError):
                # A match that has been played needs its token alone, and waits for the server.
                if time.monotonic() - match.renewed >= silence and not match.played:
                    return MatchEnd.LOST
                pause = min(1.0, renewal)
                continue
            pause = renewal
            if answer is Renewed.OK:
                match.renewed = begun
            elif not match.played:
                return MatchEnd.CANCELLED if answer is Renewed.CANCELLED else MatchEnd.LOST
        return MatchEnd.RELEASED

    # What others see.

    async def _watch(self) -> None:
        while True:
            busy, now = self._busy(), time.monotonic()
            self._metrics.slots.labels("busy").set(min(busy, self._options.slots))
            self._metrics.slots.labels("free").set(max(0, self._options.slots - busy))
            self._metrics.referee_lag.set(self._referee.monitor.lag_between(now - _LAG_WINDOW, now))
            await asyncio.sleep(0.5)
