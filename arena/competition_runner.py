"""Runs competitions: keeps their matches coming beside the ladders', and folds their results in.

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

from arena.competition_records import CompetitionState
from arena.competition_report import ranking
from arena.competition_run import CompetitionRun
from arena.competition_store import CompetitionStore, StaleEpochError
from arena.errors import ArenaError, PreconditionError
from arena.events import competition_event
from arena.league_runner import LeagueRunner
from arena.leagues import LeagueStore
from arena.queue.entries import LoggedResult
from arena.queue.models import Enqueued, MatchSpec, Phase
from arena.queue.retention import whole_log
from arena.store import BotState, VersionState
from arena.webhooks import Webhooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from redis.asyncio import Redis

    from arena.competition_records import CompetitionRecord
    from arena.competition_results import CompetitionResult
    from arena.competitions.model import PlannedMatch
    from arena.queue.models import FlowCounts
    from arena.queue.queues import Queues
    from arena.queue.retention import ResultsArchive
    from arena.store import Bot, Store

LOOK: Final = 1.0
"""Seconds between two looks at which competitions there are, and at who has left."""

QUEUED_PER_SLOT: Final = 2
MOST_A_TICK: Final = 32
_FAR: Final = 2_000
"""Log entries of others after which the cursor is written down."""

_AWAY: Final = {BotState.RETIRED, BotState.SUSPENDED}


class CompetitionRunner:
    """Drives every competition; only the active scheduler does.

    Args:
        redis: a client made by `arena.queue.connection.connect`.
        queues: where matches go.
        store: the registry of bots.
        archive: where old results are; None when none were ever archived.
        cap: by ruleset, the most matches of its ladder that may wait.
    """

    def __init__(
        self,
        redis: Redis,
        *,
        queues: Queues,
        store: Store,
        archive: ResultsArchive | None = None,
        cap: Callable[[str], int] = lambda _: 10_000,
    ) -> None:
        self.competitions = CompetitionStore(redis)
        self.leagues = LeagueRunner(
            LeagueStore(redis), self.competitions, store=store, queues=queues
        )
        self._webhooks = Webhooks(redis)
        self._queues = queues
        self._store = store
        self._archive = archive
        self._cap = cap
        self._runs: dict[str, CompetitionRun] = {}
        self._bots: dict[str, Bot] = {}
        self._looked = 0.0
        self._log: Any = structlog.get_logger()

    def forget(self) -> None:
        """Forget everything that was read: another scheduler may have been active meanwhile."""
        self._runs.clear()
        self._looked = 0.0

    async def tick(self, epoch: int, *, slots: int) -> int:
        """Fold in what was played and queue what comes next; return how many matches were queued.

        Args:
            epoch: of the right to schedule.
            slots: of all workers.

        Raises:
            StaleEpochError: another scheduler has become active.
        """
        if time.monotonic() - self._looked >= LOOK:
            await self._look(epoch)
            self._looked = time.monotonic()
        made = 0
        runs = sorted(self._runs.values(), key=lambda run: run.record.rules.ruleset)
        for ruleset, group in groupby(runs, key=lambda run: run.record.rules.ruleset):
            try:
                made += await self._drive_all(ruleset, list(group), epoch, slots)
            except StaleEpochError:
                raise
            except ArenaError as error:
                # Ladders, and the competitions of others, go on.
                self._log.error("competitions failed", ruleset=ruleset, error=str(error))
        return made

    async def _drive_all(
        self, ruleset: str, runs: Sequence[CompetitionRun], epoch: int, slots: int
    ) -> int:
        await self._follow(ruleset, runs, epoch)
        flows = await self._queues.queue(ruleset).flows()
        made = 0
        for run in runs:
            made += await self._drive(run, flows.get(run.record.flow), epoch, slots)
        return made

    # Which competitions there are, and who has left them.

    async def _look(self, epoch: int) -> None:
        await self.leagues.look(epoch)
        unsettled = await self.competitions.unsettled()
        for gone in self._runs.keys() - set(unsettled):
            del self._runs[gone]
        for competition in unsettled:
            record = await self.competitions.get(competition)
            if record.state in {CompetitionState.RUNNING, CompetitionState.PAUSED}:
                await self._take_up(record)
            else:
                await self._settle(record, epoch)
        for run in self._runs.values():
            await self._note_departures(run)
            await self._find_lost(run)

    async def _take_up(self, record: CompetitionRecord) -> None:
        run = self._runs.get(record.id)
        if run is not None:
            run.record = record
            return
        results = await self.competitions.results(record.id)
        rounds = await self.competitions.rounds(record.id)
        run = CompetitionRun(record, results, rounds)
        await asyncio.to_thread(run.plan)
        self._runs[record.id] = run

    async def _settle(self, record: CompetitionRecord, epoch: int) -> None:
        """Take what is left of an ended or cancelled competition out of the queue."""
        run = self._runs.pop(record.id, None)
        if record.divisions:
            await self._queues.queue(record.rules.ruleset).cancel_flow(record.flow)
            if run is None:
                rounds = await self.competitions.rounds(record.id)
                run = CompetitionRun(record, {}, rounds)
            seeds = run.tell_seeds(all_of_them=True)
            await self.competitions.note_rounds(record.id, seeds, epoch=epoch)
        await self.competitions.settle(record.id)
        self._log.info("competition settled", competition=record.id, state=record.state.value)

    async def _note_departures(self, run: CompetitionRun) -> None:
        """Withdraw entrants whose bots were retired or suspended."""
        entrants = [each for each in run.record.entrants if each not in run.record.gone]
        names = dict.fromkeys(each.partition("@")[0] for each in run.record.entrants)
        self._bots |= await self._store.bots_named(names)
        versions = {each.id: each for each in await self._store.versions(entrants)}
        for entrant in entrants:
            bot, version = self._bots[entrant.partition("@")[0]], versions[entrant]
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

    async def _find_lost(self, run: CompetitionRun) -> None:
        """Forget that matches were queued which somebody took out of the queue."""
        queue = self._queues.queue(run.record.rules.ruleset)
        for match in list(run.scheduled):
            if await queue.phase(match) is None:
                run.scheduled.discard(match)

    # Results.

    async def _follow(self, ruleset: str, runs: Sequence[CompetitionRun], epoch: int) -> None:
        """Fold in the log's new entries."""
        new: dict[str, list[CompetitionResult]] = {run.record.id: [] for run in runs}
        after = last = min(run.cursor for run in runs)
        async for entry in whole_log(self._queues.ladder(ruleset), self._archive, after=after):
            last = entry.sequence
            if isinstance(entry, LoggedResult):
                for run in runs:
                    result = run.result_of(entry) if entry.sequence > run.cursor else None
                    if result is not None:
                        new[run.record.id].append(result)
        for run in runs:
            run.cursor = max(run.cursor, last)
            if new[run.record.id] or run.cursor - run.record.cursor > _FAR:
                await self._fold(run, new[run.record.id], epoch)

    async def _fold(
        self, run: CompetitionRun, results: Sequence[CompetitionResult], epoch: int
    ) -> None:
        folded = await self.competitions.fold(
            run.record.id, results, cursor=run.cursor, epoch=epoch
        )
        if folded:
            run.add(results)
            await asyncio.to_thread(run.plan)
            await self.competitions.note_rounds(run.record.id, run.tell_seeds(), epoch=epoch)

    # Matches.

    async def _drive(
        self, run: CompetitionRun, flow: FlowCounts | None, epoch: int, slots: int
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
            await self._pass_over(run, epoch)
        if run.is_finished:
            await self._end(run, epoch)
            return 0
        tables = QUEUED_PER_SLOT * slots
        rotations = record.rules.rotations
        wanted = max(min(1, tables), tables // rotations)
        room = min(MOST_A_TICK, wanted - (flow.waiting if flow is not None else 0))
        matches = (match for match in run.left() if match.id not in run.scheduled)
        return await self._queue(run, matches, room=room, epoch=epoch)

    async def _pass_over(self, run: CompetitionRun, epoch: int) -> None:
        """Decide the matches of those who have left, again while that makes new ones known."""
        while True:
            off = [
                match
                for match in run.left()
                if not run.record.gone.keys().isdisjoint(match.entrants)
                and await self._is_off(run, match)
            ]
            if not off:
                return
            await self._fold(run, [run.walkover(match) for match in off], epoch)
            if not run.results.keys() >= {match.id for match in off}:
                return

    async def _is_off(self, run: CompetitionRun, match: PlannedMatch) -> bool:
        """Return whether a match of somebody who left is not played, and out of the queue."""
        queue = self._queues.queue(run.record.rules.ruleset)
        spec = await queue.spec(match.id)
        away = run.record.gone.keys() & set(match.entrants)
        if spec is not None and not away.isdisjoint(spec.entrants):
            if await queue.phase(match.id) is Phase.LEASED:
                return False
            await queue.cancel(match.id)
        if await queue.phase(match.id) is not None:
            return False
        run.scheduled.discard(match.id)
        return not await self._stand_ins(run, match)

    async def _stand_ins(self, run: CompetitionRun, match: PlannedMatch) -> dict[str, str]:
        """Return house bots for those of a larger table who left; {} when it cannot be played."""
        away = [each for each in match.entrants if each in run.record.gone]
        if len(match.entrants) - len(away) < 2 or not away:
            return {}
        seated = {each.partition("@")[0] for each in match.entrants}
        house = [
            bot.active_version
            for bot in await self._store.bots(ruleset=run.record.rules.ruleset)
            if bot.house and bot.state is BotState.ACTIVE and bot.name not in seated
        ]
        return dict(zip(away, house, strict=False)) if len(house) >= len(away) else {}

    async def _queue(
        self, run: CompetitionRun, matches: Iterable[PlannedMatch], *, room: int, epoch: int
    ) -> int:
        """Queue as many matches as there is room for; return how many."""
        made = 0
        for match in matches:
            if made >= room:
                break
            spec = await self._spec(run, match)
            begun = run.begin_rounds([run.round_of(match)])
            await self.competitions.note_rounds(run.record.id, begun, epoch=epoch)
            answer = await self._queues.queue(spec.ruleset).enqueue(
                spec,
                flow_weight=run.record.rules.weight,
                cap=self._cap(spec.ruleset),
                epoch=epoch,
            )
            if answer is Enqueued.STALE_EPOCH:
                raise StaleEpochError(f"epoch {epoch} is over")
            if answer is Enqueued.FULL:
                break
            run.scheduled.add(match.id)
            if answer is Enqueued.QUEUED:
                made += 1
                self._log_match(spec, run.record)
        return made

    async def _spec(self, run: CompetitionRun, match: PlannedMatch) -> MatchSpec:
        rules = run.record.rules
        stand_ins = await self._stand_ins(run, match) if run.record.gone else {}
        entrants = tuple(stand_ins.get(each, each) for each in match.entrants)
        return MatchSpec(
            id=match.id,
            ruleset=rules.ruleset,
            flow=run.record.flow,
            entrants=entrants,
            boards=match.boards,
            seed=run.record.round_seed(run.round_of(match)),
            time_control=rules.time_control,
            rated=rules.rated and not stand_ins and self._may_be_rated(entrants),
            cost=match.boards * rules.rotations,
            metadata={"round": str(match.round), "table": str(match.table)},
        )

    def _may_be_rated(self, entrants: Sequence[str]) -> bool:
        """Return whether no two are of one owner, the arena's own bots excepted."""
        bots = [self._bots[each.partition("@")[0]] for each in entrants]
        owners = [bot.owner for bot in bots if not bot.house]
        return len(set(owners)) == len(owners) and len({bot.name for bot in bots}) == len(bots)

    def _log_match(self, spec: MatchSpec, record: CompetitionRecord) -> None:
        self._log.info(
            "match scheduled",
            match=spec.id,
            ruleset=spec.ruleset,
            entrants=spec.entrants,
            competition=record.id,
            commitment=spec.commitment,
        )

    async def _end(self, run: CompetitionRun, epoch: int) -> None:
        final = await asyncio.to_thread(ranking, run.record, run.results)
        await self.competitions.note_rounds(
            run.record.id, run.tell_seeds(all_of_them=True), epoch=epoch
        )
        await self._tell_owners(run.record, final)
        try:
            await self.competitions.end(run.record.id, final, epoch=epoch)
        except PreconditionError:
            return  # cancelled a moment ago; the next look settles it
        self._log.info("competition ended", competition=run.record.id, first=final[0][0])
        await self._settle(await self.competitions.get(run.record.id), epoch)

    async def _tell_owners(self, record: CompetitionRecord, final: Sequence[Sequence[str]]) -> None:
        """Put the places in line for the owners' webhooks, each at least once."""
        for division in final:
            for place, version in enumerate(division, start=1):
                bot = version.partition("@")[0]
                event = competition_event(
                    competition=record.id, owner=self._bots[bot].owner, bot=bot, place=place
                )
                await self._webhooks.post(event)
