"""Calls about bots and their versions."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from arena.api.handlers import may_take
from arena.api.messages import bot_message, page_request, place_message, version_message
from arena.backend.bots import VersionView
from arena.backend.uploads import Header
from arena.v1 import bots_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.backend.access import Caller
    from arena.backend.bots import Bots, BotView
    from arena.backend.uploads import Piece, Uploads
    from arena.bots.registry import Added

_UPLOAD: Final = timedelta(minutes=5)


class BotCalls:
    """Translates calls about bots."""

    def __init__(self, bots: Bots, uploads: Uploads) -> None:
        self._bots = bots
        self._uploads = uploads

    @may_take(_UPLOAD)
    async def submit_version(
        self, requests: AsyncIterator[bots_pb2.SubmitVersionRequest], caller: Caller
    ) -> bots_pb2.SubmitVersionResponse:
        """Store an uploaded archive as a version."""
        added = await self._uploads.submit_version(caller, _pieces(requests))
        return bots_pb2.SubmitVersionResponse(version=_added_version(added), is_new=added.is_new)

    @may_take(_UPLOAD)
    async def add_bot(
        self, requests: AsyncIterator[bots_pb2.AddBotRequest], caller: Caller
    ) -> bots_pb2.AddBotResponse:
        """Add an uploaded archive as the active version of its bot."""
        added, cancelled = await self._uploads.add_bot(caller, _pieces(requests))
        return bots_pb2.AddBotResponse(
            bot=bot_message(added.bot),
            version=_added_version(added),
            is_new=added.is_new,
            cancelled_matches=cancelled,
        )

    async def get_bot(
        self, request: bots_pb2.GetBotRequest, caller: Caller
    ) -> bots_pb2.GetBotResponse:
        """Return a bot, its places, and its versions for whoever may see them."""
        view = await self._bots.get_bot(caller, request.bot)
        active = view.bot.active_version
        return bots_pb2.GetBotResponse(
            bot=_view_message(view),
            versions=[version_message(VersionView(e, e.id == active)) for e in view.versions],
            places=[place_message(*place) for place in view.places],
        )

    async def list_bots(
        self, request: bots_pb2.ListBotsRequest, caller: Caller
    ) -> bots_pb2.ListBotsResponse:
        """List bots by name."""
        page = await self._bots.list_bots(
            caller, page_request(request), owner=request.owner, ruleset=request.ruleset
        )
        return bots_pb2.ListBotsResponse(
            bots=map(_view_message, page.entries), next_page_token=page.next_token
        )

    async def activate_version(
        self, request: bots_pb2.ActivateVersionRequest, caller: Caller
    ) -> bots_pb2.ActivateVersionResponse:
        """Make an accepted version the one that plays."""
        bot = await self._bots.activate_version(caller, request.version)
        return bots_pb2.ActivateVersionResponse(bot=bot_message(bot))

    async def retire_bot(
        self, request: bots_pb2.RetireBotRequest, caller: Caller
    ) -> bots_pb2.RetireBotResponse:
        """Take a bot off every ladder."""
        bot, cancelled = await self._bots.retire_bot(caller, request.bot)
        return bots_pb2.RetireBotResponse(bot=bot_message(bot), cancelled_matches=cancelled)

    async def suspend_bot(
        self, request: bots_pb2.SuspendBotRequest, caller: Caller
    ) -> bots_pb2.SuspendBotResponse:
        """Give a bot no more matches."""
        bot, cancelled = await self._bots.suspend_bot(caller, request.bot, reason=request.reason)
        return bots_pb2.SuspendBotResponse(bot=bot_message(bot), cancelled_matches=cancelled)

    async def resume_bot(
        self, request: bots_pb2.ResumeBotRequest, caller: Caller
    ) -> bots_pb2.ResumeBotResponse:
        """Let a suspended bot play again."""
        bot = await self._bots.resume_bot(caller, request.bot)
        return bots_pb2.ResumeBotResponse(bot=bot_message(bot))

    async def get_version(
        self, request: bots_pb2.GetVersionRequest, caller: Caller
    ) -> bots_pb2.GetVersionResponse:
        """Return a version with its steps."""
        view = await self._bots.get_version(caller, request.version)
        return bots_pb2.GetVersionResponse(version=version_message(view))

    async def recheck_version(
        self, request: bots_pb2.RecheckVersionRequest, caller: Caller
    ) -> bots_pb2.RecheckVersionResponse:
        """Let a rejected version be tried again."""
        view, waits = await self._bots.recheck_version(caller, request.version)
        return bots_pb2.RecheckVersionResponse(version=version_message(view), waits=waits)

    async def watch_version(
        self, request: bots_pb2.WatchVersionRequest, caller: Caller
    ) -> AsyncIterator[bots_pb2.WatchVersionResponse]:
        """Stream a version each time that it changes."""
        async for view in self._bots.watch_version(caller, request.version):
            yield bots_pb2.WatchVersionResponse(version=version_message(view))


def _view_message(view: BotView) -> bots_pb2.Bot:
    return bot_message(view.bot, is_private=view.is_private, is_rejected=view.is_rejected)


def _added_version(added: Added) -> bots_pb2.Version:
    is_active = added.version.id == added.bot.active_version
    return version_message(VersionView(added.version, is_active))


async def _pieces(
    requests: AsyncIterator[bots_pb2.SubmitVersionRequest] | AsyncIterator[bots_pb2.AddBotRequest],
) -> AsyncIterator[Piece]:
    """Yield what an upload is made of; a message without content is an empty chunk."""
    async for request in requests:
        if request.WhichOneof("content") != "header":
            yield request.chunk
        elif isinstance(request, bots_pb2.AddBotRequest):
            upload, owner = request.header.upload, request.header.owner
            yield Header(sha256=upload.sha256, size_bytes=upload.size_bytes, owner=owner)
        else:
            yield Header(sha256=request.header.sha256, size_bytes=request.header.size_bytes)
