"""Calls about ladders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.api import pages
from arena.api.gate import call
from arena.api.messages import ladder_entry
from arena.queue.strengths import published
from arena.v1 import ladders_pb2

if TYPE_CHECKING:
    from arena.api.backend import Backend


class LadderCalls:
    """Answers calls about ladders.

    Args:
        backend: the arena.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @call(is_public=True)
    async def list_ladders(
        self, request: ladders_pb2.ListLaddersRequest
    ) -> ladders_pb2.ListLaddersResponse:
        """List the ladders."""
        del request
        rulesets = await self._backend.queues.rulesets()
        return ladders_pb2.ListLaddersResponse(
            ladders=[await self._ladder(ruleset) for ruleset in rulesets]
        )

    @call(is_public=True)
    async def get_ladder(
        self, request: ladders_pb2.GetLadderRequest
    ) -> ladders_pb2.GetLadderResponse:
        """Return a part of a ladder, the best bot first."""
        ruleset = await self._backend.ruleset(request.ruleset)
        size, of = pages.page_size(request.page_size), ("ladder", ruleset)
        start = max(0, pages.place(request.page_token, int, of=of) or 0)
        ladder = self._backend.queues.ladder(ruleset)
        standings = await ladder.standings(start, size + 1)
        bots = await self._backend.bots(each.bot for each in standings)
        games = await ladder.rated_matches([bot.active_version for bot in bots.values()])
        column = await published(
            self._backend.redis, ruleset, [each.bot for each in standings[:size]]
        )
        entries = []
        for standing in standings[:size]:
            bot = bots.get(standing.bot)
            matches = games.get(bot.active_version, 0) if bot else 0
            entries.append(ladder_entry(standing, bot, matches, column.get(standing.bot)))
        return ladders_pb2.GetLadderResponse(
            ladder=await self._ladder(ruleset),
            entries=entries,
            next_page_token=(
                pages.page_token(start + size, of=of) if len(standings) > size else ""
            ),
        )

    async def _ladder(self, ruleset: str) -> ladders_pb2.Ladder:
        counts = await self._backend.queues.queue(ruleset).counts()
        return ladders_pb2.Ladder(
            ruleset=ruleset,
            bot_count=await self._backend.queues.ladder(ruleset).size(),
            match_count=counts.done,
        )
