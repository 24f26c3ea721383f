"""Calls about bots and their versions."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from arena.api.handlers import may_take
from arena.api.messages import bot_message, page_request, place_message, version_message
from arena.backend.bots import VersionView
from arena.backend.uploads import Header
from arena.v1 import bots_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.backend.access import Caller
    from arena.backend.bots import Bots, BotView
    from arena.backend.uploads import Piece, Uploads
    from arena.bots.registry import AddedVersion

_UPLOAD: Final = timedelta(minutes=5)


class BotCalls:
    """Translates calls about bots."""

    def __init__(self, bots: Bots, uploads: Uploads) -> None:
        self._bots = bots
        self._uploads = uploads

    @may_take(_UPLOAD)
    async def submit_version(
        self, requests: AsyncIterator[pb.SubmitVersionRequest], caller: Caller
    ) -> pb.SubmitVersionResponse:
        added = await self._uploads.submit_version(caller, _pieces(requests))
        return pb.SubmitVersionResponse(version=_added_version(added), is_new=added.is_new)

    @may_take(_UPLOAD)
    async def add_bot(
        self, requests: AsyncIterator[pb.AddBotRequest], caller: Caller
    ) -> pb.AddBotResponse:
        added, cancelled = await self._uploads.add_bot(caller, _pieces(requests))
        return pb.AddBotResponse(
            bot=bot_message(added.bot),
            version=_added_version(added),
            is_new=added.is_new,
            cancelled_matches=cancelled,
        )

    async def get_bot(self, request: pb.GetBotRequest, caller: Caller) -> pb.GetBotResponse:
        view = await self._bots.get_bot(caller, request.bot)
        active = view.bot.active_version
        return pb.GetBotResponse(
            bot=_view_message(view),
            versions=[version_message(VersionView(e, e.id == active)) for e in view.versions],
            places=[place_message(*place) for place in view.places],
        )

    async def list_bots(self, request: pb.ListBotsRequest, caller: Caller) -> pb.ListBotsResponse:
        page = await self._bots.list_bots(
            caller, page_request(request), owner=request.owner, ruleset=request.ruleset
        )
        return pb.ListBotsResponse(
            bots=map(_view_message, page.entries), next_page_token=page.next_token
        )

    async def activate_version(
        self, request: pb.ActivateVersionRequest, caller: Caller
    ) -> pb.ActivateVersionResponse:
        bot = await self._bots.activate_version(caller, request.version)
        return pb.ActivateVersionResponse(bot=bot_message(bot))

    async def retire_bot(
        self, request: pb.RetireBotRequest, caller: Caller
    ) -> pb.RetireBotResponse:
        bot, cancelled = await self._bots.retire_bot(caller, request.bot)
        return pb.RetireBotResponse(bot=bot_message(bot), cancelled_matches=cancelled)

    async def suspend_bot(
        self, request: pb.SuspendBotRequest, caller: Caller
    ) -> pb.SuspendBotResponse:
        bot, cancelled = await self._bots.suspend_bot(caller, request.bot, reason=request.reason)
        return pb.SuspendBotResponse(bot=bot_message(bot), cancelled_matches=cancelled)

    async def resume_bot(
        self, request: pb.ResumeBotRequest, caller: Caller
    ) -> pb.ResumeBotResponse:
        bot = await self._bots.resume_bot(caller, request.bot)
        return pb.ResumeBotResponse(bot=bot_message(bot))

    async def get_version(
        self, request: pb.GetVersionRequest, caller: Caller
    ) -> pb.GetVersionResponse:
        view = await self._bots.get_version(caller, request.version)
        return pb.GetVersionResponse(version=version_message(view))

    async def recheck_version(
        self, request: pb.RecheckVersionRequest, caller: Caller
    ) -> pb.RecheckVersionResponse:
        view, waits = await self._bots.recheck_version(caller, request.version)
        return pb.RecheckVersionResponse(version=version_message(view), waits=waits)

    async def watch_version(
        self, request: pb.WatchVersionRequest, caller: Caller
    ) -> AsyncIterator[pb.WatchVersionResponse]:
        async for view in self._bots.watch_version(caller, request.version):
            yield pb.WatchVersionResponse(version=version_message(view))


def _view_message(view: BotView) -> pb.Bot:
    return bot_message(view.bot, is_private=view.is_private, is_rejected=view.is_rejected)


def _added_version(added: AddedVersion) -> pb.Version:
    is_active = added.version.id == added.bot.active_version
    return version_message(VersionView(added.version, is_active))


async def _pieces(
    requests: AsyncIterator[pb.SubmitVersionRequest] | AsyncIterator[pb.AddBotRequest],
) -> AsyncIterator[Piece]:
    """Yield what an upload is made of; a message without content is an empty chunk."""
    async for request in requests:
        if request.WhichOneof("content") != "header":
            yield request.chunk
        elif isinstance(request, pb.AddBotRequest):
            upload, owner = request.header.upload, request.header.owner
            yield Header(sha256=upload.sha256, size_bytes=upload.size_bytes, owner=owner)
        else:
            yield Header(sha256=request.header.sha256, size_bytes=request.header.size_bytes)
