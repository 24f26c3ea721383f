"""Calls about bots and their versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.api import pages
from arena.api.backend import sees_private
from arena.api.gate import call, has_scope, owner
from arena.api.messages import bot_message, place_message, version_message
from arena.api.operations import sentence
from arena.bots.placement import place
from arena.bots.registry import BotState, VersionState
from arena.errors import DeniedError, PreconditionError
from arena.owners.tokens import Scope
from arena.queue.models import Standing
from arena.v1 import bots_pb2
from arena.version_id import VersionId, bot_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.api.backend import Backend
    from arena.api.watching import Streams
    from arena.bots.registry import Bot, Version

VERSIONS: Final = 50
"""The latest versions that are told with a bot."""

_SETTLED: Final = {VersionState.ACCEPTED, VersionState.REJECTED, VersionState.SUSPENDED}


class BotCalls:
    """Answers calls about bots.

    Args:
        backend: the arena.
        streams: counts what is open.
    """

    def __init__(self, backend: Backend, streams: Streams) -> None:
        self._backend = backend
        self._registry = backend.registry
        self._streams = streams

    @call(is_public=True)
    async def get_bot(self, request: bots_pb2.GetBotRequest) -> bots_pb2.GetBotResponse:
        """Return a bot, its places, and its versions for whoever may see them."""
        bot = await self._registry.bot(request.bot)
        versions = []
        if sees_private(bot):
            first = max(1, bot.versions - VERSIONS + 1)
            numbers = range(bot.versions, first - 1, -1)
            found = await self._registry.versions(
                VersionId.of(bot.name, number) for number in numbers
            )
            versions = [version_message(each, bot) for each in found]
        places = [await self._place(ruleset, bot) for ruleset in bot.rulesets]
        return bots_pb2.GetBotResponse(
            bot=bot_message(bot, is_private=sees_private(bot)), versions=versions, places=places
        )

    async def _place(self, ruleset: str, bot: Bot) -> bots_pb2.Place:
        ladder = self._backend.queues.ladder(ruleset)
        standing = await ladder.rating(bot.name) or Standing(bot.name, 0, None)
        games = await ladder.rated_matches([bot.active_version])
        return place_message(ruleset, standing, games[bot.active_version])

    @call(is_public=True)
    async def list_bots(self, request: bots_pb2.ListBotsRequest) -> bots_pb2.ListBotsResponse:
        """List bots by name."""
        size, of = pages.page_size(request.page_size), ("bots", request.owner, request.ruleset)
        after = pages.place(request.page_token, str, of=of) or ""
        ruleset = await self._backend.ruleset(request.ruleset) if request.ruleset else None
        found = await self._registry.bots(owner=request.owner or None, ruleset=ruleset)
        left = [bot for bot in found if bot.name > after]
        shown = left[:size]
        return bots_pb2.ListBotsResponse(
            bots=[bot_message(bot, is_private=sees_private(bot)) for bot in shown],
            next_page_token=pages.page_token(shown[-1].name, of=of) if len(left) > size else "",
        )

    @call(scope=Scope.AUTHOR)
    async def activate_version(
        self, request: bots_pb2.ActivateVersionRequest
    ) -> bots_pb2.ActivateVersionResponse:
        """Make an accepted version the one that plays."""
        await self._backend.own_bot(bot_of(request.version))
        bot = await self._registry.activate(request.version)
        await self._place_bot(bot)
        return bots_pb2.ActivateVersionResponse(bot=bot_message(bot, is_private=True))

    @call(scope=Scope.AUTHOR)
    async def retire_bot(self, request: bots_pb2.RetireBotRequest) -> bots_pb2.RetireBotResponse:
        """Take a bot off every ladder."""
        before = await self._backend.own_bot(request.bot)
        if before.state is BotState.SUSPENDED:
            raise PreconditionError(
                f"the bot {request.bot} is suspended, and so plays no matches", reason="SUSPENDED"
            )
        bot = await self._registry.set_state(request.bot, BotState.RETIRED)
        cancelled = await self._place_bot(bot)
        return bots_pb2.RetireBotResponse(
            bot=bot_message(bot, is_private=True), cancelled_matches=cancelled
        )

    @call(scope=Scope.OPERATOR)
    async def suspend_bot(self, request: bots_pb2.SuspendBotRequest) -> bots_pb2.SuspendBotResponse:
        """Give a bot no more matches."""
        reason = sentence(request.reason)
        bot = await self._registry.set_state(request.bot, BotState.SUSPENDED, reason=reason)
        cancelled = await self._place_bot(bot)
        return bots_pb2.SuspendBotResponse(
            bot=bot_message(bot, is_private=True), cancelled_matches=cancelled
        )

    @call(scope=Scope.OPERATOR)
    async def resume_bot(self, request: bots_pb2.ResumeBotRequest) -> bots_pb2.ResumeBotResponse:
        """Let a suspended bot play again."""
        before = await self._registry.bot(request.bot)
        if before.state is not BotState.SUSPENDED:
            raise PreconditionError(
                f"the bot {request.bot} is not suspended, it is {before.state}",
                reason="NOT_SUSPENDED",
            )
        bot = await self._registry.set_state(request.bot, BotState.ACTIVE)
        await self._place_bot(bot)
        return bots_pb2.ResumeBotResponse(bot=bot_message(bot, is_private=True))

    @call()
    async def get_version(self, request: bots_pb2.GetVersionRequest) -> bots_pb2.GetVersionResponse:
        """Return a version with its steps."""
        bot, version = await self._version(request.version)
        return bots_pb2.GetVersionResponse(version=await self._with_steps(bot, version))

    @call(limit=None)
    async def watch_version(
        self, request: bots_pb2.WatchVersionRequest
    ) -> AsyncIterator[bots_pb2.WatchVersionResponse]:
        """Stream a version each time that it changes, until it is accepted or rejected."""
        with self._streams.one(owner()):
            told = None
            async for _ in self._streams.looks():
                bot, version = await self._version(request.version)
                message = await self._with_steps(bot, version)
                if message != told:
                    told = message
                    yield bots_pb2.WatchVersionResponse(version=message)
                if version.state in _SETTLED:
                    return

    async def _place_bot(self, bot: Bot) -> int:
        """Bring a bot's places up to date; return how many of its matches were cancelled."""
        return await place(self._registry, self._backend.queues, bot.name)

    async def _version(self, version_id: str) -> tuple[Bot, Version]:
        """Return a version that the caller may see, and its bot."""
        bot = await self._registry.bot(bot_of(version_id))
        if bot.owner != owner() and not has_scope(Scope.OPERATOR):
            raise DeniedError(
                f"the bot {bot.name} is another owner's; its versions are nobody else's to see",
                reason="NOT_YOUR_BOT",
            )
        version = await self._registry.version(version_id)
        # A trial may have ended in between: a version that reads as accepted goes with its bot.
        return await self._registry.bot(bot.name), version

    async def _with_steps(self, bot: Bot, version: Version) -> bots_pb2.Version:
        steps = await self._backend.submissions.steps(version.id)
        return version_message(version, bot, steps=steps)
