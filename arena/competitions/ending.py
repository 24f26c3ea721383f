"""Finishes competitions: ranks them, notifies owners, and cancels what is queued."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import structlog

from arena.competitions.records import CompetitionState
from arena.competitions.report import ranking
from arena.competitions.run import CompetitionRun
from arena.competitions.store import CompetitionStore
from arena.version_id import bot_of
from arena.webhooks.events import competition_event
from arena.webhooks.store import Webhooks

if TYPE_CHECKING:
    from arena.competitions.progress import CompetitionProgress
    from arena.competitions.records import CompetitionRecord
    from arena.competitions.specs import MatchSpecs
    from arena.context import Arena


class CompetitionFinisher:
    """Ends competitions, and cleans up those that have ended.

    Args:
        arena: whose competitions.
        specs: looks up whose the entrants are.
    """

    def __init__(self, arena: Arena, specs: MatchSpecs) -> None:
        self._competitions = CompetitionStore(arena.redis)
        self._queues = arena.queues
        self._specs = specs
        self._webhooks = Webhooks(arena.redis)
        self._log: Any = structlog.get_logger()

    async def end(self, run: CompetitionRun, progress: CompetitionProgress) -> bool:
        """End a competition whose matches have all been played.

        Returns:
            False when it goes on, because a match of it is being annulled, or was cancelled.
        """
        final = await asyncio.to_thread(ranking, run.record, run.results)
        if not await progress.end(run.record.id, final):
            return False
        self._log.info("competition ended", competition=run.record.id, first=final[0][0])
        await self.settle(await self._competitions.get(run.record.id), run, progress)
        return True

    async def settle(
        self, record: CompetitionRecord, run: CompetitionRun | None, progress: CompetitionProgress
    ) -> None:
        """Clean up after an ended or cancelled competition; idempotent.

        Its matches leave the queue, seeds are told, and owners hear of their bots' places.
        """
        if record.divisions:
            await self._queues.queue(record.rules.ruleset).cancel_flow(record.flow)
            if run is None:
                rounds = await self._competitions.rounds(record.id)
                run = CompetitionRun(record, {}, rounds)
            await progress.note_rounds(record.id, run.tell_seeds(all_of_them=True))
        if record.state is CompetitionState.ENDED:
            await self._tell_owners(record)
        await self._competitions.settle(record.id)
        self._log.info("competition settled", competition=record.id, state=record.state.value)

    async def _tell_owners(self, record: CompetitionRecord) -> None:
        """Queue events with the places for the owners' webhooks, each at least once."""
        await self._specs.look_up(record)
        for division in record.ranking:
            for place, version in enumerate(division, start=1):
                bot = bot_of(version)
                owner = self._specs.bots[bot].owner
                event = competition_event(competition=record.id, owner=owner, bot=bot, place=place)
                await self._webhooks.post(event)
