"""Turns planned matches of a competition into match specs for the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.bots.registry import BotState
from arena.queue.models import MatchSpec
from arena.version_id import bot_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.bots.registry import Bot
    from arena.competitions.records import CompetitionRecord
    from arena.competitions.run import CompetitionRun
    from arena.context import Arena
    from arena.formats.model import PlannedMatch


class MatchSpecs:
    """Makes match specs, and caches the bots of entrants.

    Args:
        arena: whose bots.

    Attributes:
        bots: those that were looked up, by name.
    """

    def __init__(self, arena: Arena) -> None:
        self._registry = arena.registry
        self.bots: dict[str, Bot] = {}

    async def look_up(self, record: CompetitionRecord) -> None:
        """Look up the bots of all entrants."""
        names = dict.fromkeys(bot_of(each) for each in record.entrants)
        self.bots |= await self._registry.bots_named(names)

    async def stand_ins(self, record: CompetitionRecord, match: PlannedMatch) -> dict[str, str]:
        """Return house bots for who left a larger table; {} when it cannot be played."""
        away = [each for each in match.entrants if each in record.gone]
        if len(match.entrants) - len(away) < 2 or not away:
            return {}
        seated = {bot_of(each) for each in match.entrants}
        house = [
            bot.active_version
            for bot in await self._registry.bots(ruleset=record.rules.ruleset)
            if bot.house and bot.state is BotState.ACTIVE and bot.name not in seated
        ]
        return dict(zip(away, house, strict=False)) if len(house) >= len(away) else {}

    async def spec(self, run: CompetitionRun, match: PlannedMatch) -> MatchSpec:
        """Return the spec of a match, whose entrants' bots were looked up before.

        Args:
            run: whose match it is.
            match: under the id that it is played under.
        """
        rules = run.record.rules
        stand_ins = await self.stand_ins(run.record, match) if run.record.gone else {}
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
        bots = [self.bots[bot_of(each)] for each in entrants]
        owners = [bot.owner for bot in bots if not bot.house]
        return len(set(owners)) == len(owners) and len({bot.name for bot in bots}) == len(bots)
