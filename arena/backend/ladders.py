"""Lists ladders and their standings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.backend import pages
from arena.backend.access import Service, authorized
from arena.backend.pages import Page
from arena.queue.strengths import published

if TYPE_CHECKING:
    from arena.backend.access import Caller
    from arena.backend.pages import PageRequest
    from arena.bots.registry import Bot
    from arena.queue.models import Standing
    from arena.queue.strengths import LadderStrength


@dataclass(frozen=True, slots=True)
class LadderSummary:
    """A ladder.

    Attributes:
        match_count: that have ended and that it remembers.
    """

    ruleset: str
    bot_count: int
    match_count: int


@dataclass(frozen=True, slots=True)
class LadderLine:
    """A bot's line of a ladder.

    Attributes:
        bot: the bot, if the registry still knows it.
        rated_matches: of its active version.
        strength: of the batch column, if it has been measured.
    """

    standing: Standing
    bot: Bot | None
    rated_matches: int
    strength: LadderStrength | None


class Ladders(Service):
    """Reads ladders."""

    @authorized(is_public=True)
    async def list_ladders(self, _caller: Caller) -> list[LadderSummary]:
        """Return the ladders by ruleset."""
        return [await self._summary(ruleset) for ruleset in await self._backend.queues.rulesets()]

    @authorized(is_public=True)
    async def get_ladder(
        self, _caller: Caller, ruleset: str, page: PageRequest
    ) -> tuple[LadderSummary, Page[LadderLine]]:
        """Return a ladder and a part of its lines, the best bot first."""
        ruleset = await self._backend.ruleset(ruleset)
        of = ("ladder", ruleset)
        size, start = pages.page_size(page.size), page.start(of=of)
        ladder = self._backend.queues.ladder(ruleset)
        standings = await ladder.standings(start, size + 1)
        names = [each.bot for each in standings[:size]]
        bots = await self._backend.registry.bots_named(names)
        games = await ladder.rated_matches([bot.active_version for bot in bots.values()])
        column = await published(self._backend.redis, ruleset, names)
        lines = []
        for standing in standings[:size]:
            bot = bots.get(standing.bot)
            matches = games.get(bot.active_version, 0) if bot else 0
            lines.append(LadderLine(standing, bot, matches, column.get(standing.bot)))
        token = pages.page_token(start + size, of=of) if len(standings) > size else ""
        return await self._summary(ruleset), Page(lines, token)

    async def _summary(self, ruleset: str) -> LadderSummary:
        counts = await self._backend.queues.queue(ruleset).counts()
        return LadderSummary(
            ruleset, await self._backend.queues.ladder(ruleset).size(), counts.done
        )
