"""Runs competitions: queues their matches beside the ladders', and stores their results.

Everything that matters stands in Redis. A scheduler that dies is followed by another, which reads
the results that were folded in and the ladder's log from where the folding stopped, and plans
again: ids are deterministic, so a match is queued once and counts once.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import structlog

from arena.bots.registry import BotState, VersionState
from arena.competitions.ending import CompetitionFinisher
from arena.competitions.progress import CompetitionProgress
from arena.competitions.records import CompetitionState, RetiredMatchId, competition_of, planned_id
from arena.competitions.run import CompetitionRun
from arena.competitions.seasons import LeagueRunner
from arena.competitions.specs import MatchSpecs
from arena.competitions.store import CompetitionStore, StaleEpochError
from arena.errors import ArenaError, PreconditionError
from arena.queue.log_entries import Annulled, LoggedResult
from arena.queue.models import Enqueued, MatchPhase, MatchSpec
from arena.queue.retention import whole_log
from arena.version_id import bot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from arena.bots.registry import Version
    from arena.competitions.records import CompetitionRecord
    from arena.competitions.results import CompetitionResult
    from arena.context import Arena
    from arena.formats.model import PlannedMatch
    from arena.queue.models import FlowCounts

REFRESH_SECONDS: Final = 1.0
"""Time between two refreshes of which competitions there are, and who has left."""

QUEUED_PER_SLOT: Final = 2
MOST_A_TICK: Final = 32
_FAR: Final = 2_000
"""Log entries of others after which the cursor is written down."""

_AWAY: Final = {BotState.RETIRED, BotState.SUSPENDED}


class CompetitionRunner:
    """Runs every competition, in the active scheduler only.

    Args:
        arena: whose competitions.
        cap: by ruleset, the most matches of its ladder that may wait.
    """

    def __init__(self, arena: Arena, *, cap: Callable[[str], int] = lambda _: 10_000) -> None:
        self.competitions = CompetitionStore(arena.redis)
        self.leagues = LeagueRunner(arena)
        self._arena = arena
        self._queues = arena.queues
        self._cap = cap
        self._specs = MatchSpecs(arena)
        self._finisher = CompetitionFinisher(arena, self._specs)
        self._runs: dict[str, CompetitionRun] = {}
        self._refreshed = 0.0
        self._log: Any = structlog.get_logger()

    def forget(self) -> None:
        """Clear the cache: another scheduler may have been active meanwhile."""
        self._runs.clear()
        self._refreshed = 0.0

    async def tick(self, epoch: int, *, slots: int) -> int:
        """Store what was played and queue what comes next; return how many matches were queued.

        Args:
            epoch: of the right to schedule.
            slots: of all workers.

        Raises:
            StaleEpochError: another scheduler has become active.
        """
        progress = CompetitionProgress(self.competitions, epoch=epoch)
        if time.monotonic() - self._refreshed >= REFRESH_SECONDS:
            self._refreshed = time.monotonic()
            try:
                await self._refresh(progress)
            except StaleEpochError:
                raise
            except ArenaError as error:
                # An operator stopped something meanwhile: the next refresh sees it.
                self._log.error("competitions not refreshed", error=str(error))
        made = 0
        runs = sorted(self._runs.values(), key=lambda run: run.record.rules.ruleset)
        for ruleset, group in groupby(runs, key=lambda run: run.record.rules.ruleset):
            ids = [run.record.id for run in group]
            try:
                made += await self._drive_all(ruleset, ids, progress, slots)
            except StaleEpochError:
                raise
            except ArenaError as error:
                # Ladders, and the competitions of others, go on.
                self._log.error("competitions failed", ruleset=ruleset, error=str(error))
        return made

    async def _drive_all(
        self, ruleset: str, ids: Sequence[str], progress: CompetitionProgress, slots: int
    ) -> int:
        await self._follow(ruleset, ids, progress)
        flows = await self._queues.queue(ruleset).flows()
        made = 0
        for each in ids:
            run = self._runs[each]
            made += await self._drive(run, flows.get(run.record.flow), progress, slots)
        return made

    # Which competitions there are, and who has left them.

    async def _refresh(self, progress: CompetitionProgress) -> None:
        await self.leagues.begin_due(progress.epoch)
        unsettled = await self.competitions.unsettled()
        for gone in self._runs.keys() - set(unsettled):
            del self._runs[gone]
        for competition in unsettled:
            record = await self.competitions.get(competition)
            if record.state not in {CompetitionState.RUNNING, CompetitionState.PAUSED}:
                await self._finisher.settle(record, self._runs.pop(record.id, None), progress)
            elif record.id in self._runs:
                self._runs[record.id].record = record
            else:
                await self._load(record.id, progress)
        for run in self._runs.values():
            await self._note_departures(run)
            await self._find_removed(run)

    async def _load(self, competition: str, progress: CompetitionProgress) -> None:
        """Load a competition that is under way, and cancel queued matches whose ids are retired."""
        await progress.claim(competition)
        record = await self.competitions.get(competition)
        results = await self.competitions.results(competition)
        rounds = await self.competitions.rounds(competition)
        run = CompetitionRun(record, results, rounds)
        await asyncio.to_thread(run.plan)
        queue = self._queues.queue(record.rules.ruleset)
        for each in record.retired_ids:
            await queue.cancel(each)
        self._runs[competition] = run

    async def _note_departures(self, run: CompetitionRun) -> None:
        """Withdraw entrants whose bots were retired or suspended."""
        entrants = [each for each in run.record.entrants if each not in run.record.gone]
        await self._specs.look_up(run.record)
        found = await self._arena.registry.versions(entrants)
        versions: dict[str, Version] = {each.id: each for each in found}
        for entrant in entrants:
            bot, version = self._specs.bots[bot_of(entrant)], versions[entrant]
            if bot.state in _AWAY:
                reason = bot.state.value
            elif version.state is VersionState.SUSPENDED:
                reason = version.state.value
            else:
                continue
            with suppress(PreconditionError):
                await self.competitions.leave(run.record.id, entrant, reason=reason)
            self._log.warning(
                "entrant left", competition=run.record.id, entrant=entrant, reason=reason
            )
        run.record = await self.competitions.get(run.record.id)

    async def _find_removed(self, run: CompetitionRun) -> None:
        """Find matches that somebody removed from the queue, so that they are queued again."""
        queue = self._queues.queue(run.record.rules.ruleset)
        for match in list(run.scheduled):
            if await queue.phase(match) is None:
                run.scheduled.discard(match)

    # Results.

    async def _follow(
        self, ruleset: str, ids: Sequence[str], progress: CompetitionProgress
    ) -> None:
        """Process the log's new entries in order: store results, follow annulments."""
        new: dict[str, list[CompetitionResult]] = {each: [] for each in ids}
        after = last = min(self._runs[each].cursor for each in ids)
        async for entry in whole_log(
            self._queues.ladder(ruleset), self._arena.archive, after=after
        ):
            last = entry.sequence
            if isinstance(entry, LoggedResult):
                for each, found in new.items():
                    run = self._runs[each]
                    result = run.result_of(entry) if entry.sequence > run.cursor else None
                    if result is not None:
                        found.append(result)
            elif isinstance(entry, Annulled):
                each = competition_of(entry.match_id) or ""
                if each in new and entry.sequence > self._runs[each].cursor:
                    await self._annul(self._runs[each], entry, new[each], progress)
                    new[each] = []
        for each, found in new.items():
            run = self._runs[each]
            run.cursor = max(run.cursor, last)
            if found or run.cursor - run.record.cursor > _FAR:
                await self._fold(run, found, progress)

    async def _fold(
        self,
        run: CompetitionRun,
        results: Sequence[CompetitionResult],
        progress: CompetitionProgress,
    ) -> None:
        if await progress.fold(run.record.id, results, cursor=run.cursor):
            run.add(results)
            await asyncio.to_thread(run.plan)
            await progress.note_rounds(run.record.id, run.tell_seeds())

    async def _annul(
        self,
        run: CompetitionRun,
        entry: Annulled,
        before: Sequence[CompetitionResult],
        progress: CompetitionProgress,
    ) -> None:
        """Follow an annulment, after what was logged before; the match is then played again."""
        run.cursor = entry.sequence - 1
        if before:
            await self._fold(run, before, progress)
        following = run.annulment(entry.match_id)
        log = self._log.bind(competition=run.record.id, match=entry.match_id)
        if following is None or following.played:
            run.cursor = entry.sequence
            await self.competitions.release(run.record.id, entry.match_id)
            log.warning("annulment not followed", played=following and following.played)
            return
        queue = self._queues.queue(run.record.rules.ruleset)
        queued = [each for each in following.dropped if await queue.phase(each.id) is not None]
        round_ = run.results[planned_id(entry.match_id)].round
        retired = {each.id: RetiredMatchId(run.round_of(each), annulled=False) for each in queued}
        retired[entry.match_id] = RetiredMatchId(round_, annulled=True)
        if await progress.annul(
            run.record.id, entry.match_id, following, retired=retired, cursor=entry.sequence
        ):
            log.info(
                "annulment followed", reason=entry.reason, dropped=[each.id for each in queued]
            )
        # What was annulled before, by a scheduler that is no more, is read back, too.
        await self._load(run.record.id, progress)

    # Matches.

    async def _drive(
        self,
        run: CompetitionRun,
        flow: FlowCounts | None,
        progress: CompetitionProgress,
        slots: int,
    ) -> int:
        record = run.record
        queue = self._queues.queue(record.rules.ruleset)
        if not run.is_running:
            if flow is None or not flow.paused:
                await queue.pause(record.flow)
            return 0
        if flow is not None and flow.paused:
            await queue.resume(record.flow)
        if record.gone:
            await self._score_walkovers(run, progress)
        if run.is_finished:
            if await self._finisher.end(run, progress):
                del self._runs[record.id]
            return 0
        tables = QUEUED_PER_SLOT * slots
        rotations = record.rules.rotations
        wanted = max(min(1, tables), tables // rotations)
        room = min(MOST_A_TICK, wanted - (flow.waiting if flow is not None else 0))
        matches = (match for match in run.left() if match.id not in run.scheduled)
        return await self._queue(run, matches, room=room, progress=progress)

    async def _score_walkovers(self, run: CompetitionRun, progress: CompetitionProgress) -> None:
        """Score matches of those who left as walkovers, repeatedly while new ones appear."""
        while True:
            off = [
                match
                for match in run.left()
                if not run.record.gone.keys().isdisjoint(match.entrants)
                and await self._is_walkover(run, match)
            ]
            if not off:
                return
            decided = [run.walkover(match) for match in off]
            await self._fold(run, decided, progress)
            if not run.results.keys() >= {result.match_id for result in decided}:
                return

    async def _is_walkover(self, run: CompetitionRun, match: PlannedMatch) -> bool:
        """Cancel a match of somebody who left; return whether it is a walkover."""
        queue = self._queues.queue(run.record.rules.ruleset)
        spec = await queue.spec(match.id)
        away = run.record.gone.keys() & set(match.entrants)
        if spec is not None and not away.isdisjoint(spec.entrants):
            if await queue.phase(match.id) is MatchPhase.LEASED:
                return False
            await queue.cancel(match.id)
        if await queue.phase(match.id) is not None:
            return False
        run.scheduled.discard(match.id)
        return not await self._specs.stand_ins(run.record, match)

    async def _queue(
        self,
        run: CompetitionRun,
        matches: Iterable[PlannedMatch],
        *,
        room: int,
        progress: CompetitionProgress,
    ) -> int:
        """Queue as many matches as there is room for; return how many."""
        made = 0
        for match in matches:
            if made >= room:
                break
            spec = await self._specs.spec(run, match)
            begun = run.begin_rounds([run.round_of(match)])
            await progress.note_rounds(run.record.id, begun)
            answer = await self._queues.queue(spec.ruleset).enqueue(
                spec,
                flow_weight=run.record.rules.weight,
                cap=self._cap(spec.ruleset),
                epoch=progress.epoch,
            )
            if answer is Enqueued.STALE_EPOCH:
                raise StaleEpochError(f"epoch {progress.epoch} is over")
            if answer is Enqueued.FULL:
                break
            run.scheduled.add(match.id)
            if answer is Enqueued.QUEUED:
                made += 1
                self._log_match(spec, run.record)
        return made

    def _log_match(self, spec: MatchSpec, record: CompetitionRecord) -> None:
        self._log.info(
            "match scheduled",
            match=spec.id,
            ruleset=spec.ruleset,
            entrants=spec.entrants,
            competition=record.id,
            commitment=spec.commitment,
        )
