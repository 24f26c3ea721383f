"""Bots and their versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from arena.backend.access import Service, authorized
from arena.backend.operations import checked_reason
from arena.backend.pages import Page
from arena.bots.placement import update_ladders
from arena.bots.registry import BotState, VersionState
from arena.errors import PreconditionError
from arena.owners.tokens import Scope
from arena.queue.models import Standing
from arena.version_id import bot_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.backend.access import Caller
    from arena.backend.backend import Backend
    from arena.backend.pages import PageRequest
    from arena.backend.watching import Streams
    from arena.bots.registry import Bot, Version
    from arena.bots.steps import VersionStep

VERSIONS: Final = 50
"""The latest versions that are sent with a bot."""

_SETTLED: Final = {VersionState.ACCEPTED, VersionState.REJECTED, VersionState.SUSPENDED}


@dataclass(frozen=True, slots=True, kw_only=True)
class BotView:
    """A bot as a caller may see it.

    Attributes:
        is_private: whether the caller sees what only its owner and operators see.
        is_rejected: whether it is pending and all of its versions have been rejected.
        versions: the latest, the newest first; () for strangers, and in lists.
        places: by ladder, where it stands and the rated matches of its active version; () in lists.
    """

    bot: Bot
    is_private: bool
    is_rejected: bool = False
    versions: tuple[Version, ...] = ()
    places: tuple[tuple[str, Standing, int], ...] = ()


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version, whether it is the one that plays, and what it went through so far."""

    version: Version
    is_active: bool
    steps: tuple[VersionStep, ...] = ()


class Bots(Service):
    """Reads, activates, suspends and retires bots."""

    def __init__(self, backend: Backend, streams: Streams) -> None:
        super().__init__(backend)
        self._registry = backend.registry
        self._streams = streams

    @authorized(is_public=True)
    async def get_bot(self, caller: Caller, name: str) -> BotView:
        """Return a bot, its places, and its versions for whoever may see them."""
        bot = await self._registry.bot(name)
        versions: list[Version] = []
        if caller.sees_private(bot):
            first = max(1, bot.versions - VERSIONS + 1)
            numbers = range(bot.versions, first - 1, -1)
            versions = await self._registry.versions(f"{bot.name}@{each}" for each in numbers)
        return BotView(
            bot=bot,
            is_private=caller.sees_private(bot),
            is_rejected=await self._is_rejected(bot),
            versions=tuple(versions),
            places=tuple([await self._place(ruleset, bot) for ruleset in bot.rulesets]),
        )

    async def _place(self, ruleset: str, bot: Bot) -> tuple[str, Standing, int]:
        ladder = self._backend.queues.ladder(ruleset)
        standing = await ladder.rating(bot.name) or Standing(bot.name, 0, None)
        games = await ladder.rated_matches([bot.active_version])
        return ruleset, standing, games[bot.active_version]

    async def _is_rejected(self, bot: Bot) -> bool:
        if bot.state is not BotState.PENDING:
            return False
        versions = await self._registry.versions_of(bot.name)
        return {version.state for version in versions} == {VersionState.REJECTED}

    @authorized(is_public=True)
    async def list_bots(
        self, caller: Caller, page: PageRequest, *, owner: str = "", ruleset: str = ""
    ) -> Page[BotView]:
        """Return bots by name, those of an owner or a ladder if named."""
        wanted = await self._backend.ruleset(ruleset) if ruleset else None
        found = await self._registry.bots(owner=owner or None, ruleset=wanted)
        part = page.cut_by_name(found, lambda bot: bot.name, of=("bots", owner, ruleset))
        views = [
            BotView(
                bot=bot,
                is_private=caller.sees_private(bot),
                is_rejected=await self._is_rejected(bot),
            )
            for bot in part.entries
        ]
        return Page(views, part.next_token)

    @authorized(Scope.AUTHOR)
    async def activate_version(self, caller: Caller, version_id: str) -> Bot:
        """Make an accepted version of the caller's the one that plays."""
        await self._backend.own_bot(caller, bot_of(version_id))
        bot = await self._registry.activate(version_id)
        await self._place_bot(bot)
        return bot

    @authorized(Scope.AUTHOR)
    async def retire_bot(self, caller: Caller, name: str) -> tuple[Bot, int]:
        """Retire a bot of the caller's; return how many of its matches were cancelled."""
        before = await self._backend.own_bot(caller, name)
        if before.state is BotState.SUSPENDED:
            raise PreconditionError(
                f"the bot {name} is suspended, and so plays no matches", reason="SUSPENDED"
            )
        bot = await self._registry.set_state(name, BotState.RETIRED)
        return bot, await self._place_bot(bot)

    @authorized(Scope.OPERATOR)
    async def suspend_bot(self, _caller: Caller, name: str, *, reason: str) -> tuple[Bot, int]:
        """Suspend a bot; return how many of its matches were cancelled."""
        reason = checked_reason(reason)
        bot = await self._registry.set_state(name, BotState.SUSPENDED, reason=reason)
        return bot, await self._place_bot(bot)

    @authorized(Scope.OPERATOR)
    async def resume_bot(self, _caller: Caller, name: str) -> Bot:
        """End the suspension of a bot."""
        before = await self._registry.bot(name)
        if before.state is not BotState.SUSPENDED:
            raise PreconditionError(
                f"the bot {name} is not suspended, it is {before.state}", reason="NOT_SUSPENDED"
            )
        bot = await self._registry.set_state(name, BotState.ACTIVE)
        await self._place_bot(bot)
        return bot

    async def _place_bot(self, bot: Bot) -> int:
        """Update a bot's places on ladders; return how many of its matches were cancelled."""
        return await update_ladders(self._registry, self._backend.queues, bot.name)

    @authorized()
    async def get_version(self, caller: Caller, version_id: str) -> VersionView:
        """Return a version with its steps to its owner or an operator."""
        bot = await self._registry.bot(bot_of(version_id))
        if not caller.has(Scope.OPERATOR):
            caller.require_own(bot, what="its versions are nobody else's to see")
        version = await self._registry.version(version_id)
        steps = await self._backend.submissions.steps(version.id)
        # A trial may have ended in between: a version that reads as accepted goes with its bot.
        bot = await self._registry.bot(bot.name)
        return VersionView(version, version.id == bot.active_version, steps)

    @authorized()
    async def watch_version(self, caller: Caller, version_id: str) -> AsyncIterator[VersionView]:
        """Yield a version each time that it changes, until it is accepted or rejected."""
        with self._streams.opened(caller.owner):
            told = None
            async for _ in self._streams.polls():
                view = await self.get_version(caller, version_id)
                if view != told:
                    told = view
                    yield view
                if view.version.state in _SETTLED:
                    return

    @authorized(Scope.OPERATOR)
    async def recheck_version(self, caller: Caller, version_id: str) -> tuple[VersionView, bool]:
        """Queue a rejected version for another trial.

        Returns:
            The version, and whether it waits; otherwise its files are not kept any more, and it is
            tried once they are submitted again.
        """
        waits = await self._backend.submissions.recheck(version_id)
        return await self.get_version(caller, version_id), waits
