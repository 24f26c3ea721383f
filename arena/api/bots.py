"""Calls about bots and their versions."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from arena.api.handlers import may_take
from arena.api.messages import bot_message, page_request, paged, place_message, version_message
from arena.backend.bots import VersionView
from arena.backend.uploads import Header
from arena.v1 import bots_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.api.messages import Fields
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
    ) -> Fields:
        added = await self._uploads.submit_version(caller, _pieces(requests))
        return {"version": _added_version(added), "is_new": added.is_new}

    @may_take(_UPLOAD)
    async def add_bot(self, requests: AsyncIterator[pb.AddBotRequest], caller: Caller) -> Fields:
        added, cancelled = await self._uploads.add_bot(caller, _pieces(requests))
        return {
            "bot": bot_message(added.bot),
            "version": _added_version(added),
            "is_new": added.is_new,
            "cancelled_matches": cancelled,
        }

    async def get_bot(self, request: pb.GetBotRequest, caller: Caller) -> Fields:
        view = await self._bots.get_bot(caller, request.bot)
        active = view.bot.active_version
        return {
            "bot": _view_message(view),
            "versions": [version_message(VersionView(e, e.id == active)) for e in view.versions],
            "places": [place_message(*place) for place in view.places],
        }

    async def list_bots(self, request: pb.ListBotsRequest, caller: Caller) -> Fields:
        page = await self._bots.list_bots(
            caller, page_request(request), owner=request.owner, ruleset=request.ruleset
        )
        return paged("bots", page, _view_message)

    async def activate_version(self, request: pb.ActivateVersionRequest, caller: Caller) -> Fields:
        return {"bot": bot_message(await self._bots.activate_version(caller, request.version))}

    async def retire_bot(self, request: pb.RetireBotRequest, caller: Caller) -> Fields:
        bot, cancelled = await self._bots.retire_bot(caller, request.bot)
        return {"bot": bot_message(bot), "cancelled_matches": cancelled}

    async def suspend_bot(self, request: pb.SuspendBotRequest, caller: Caller) -> Fields:
        bot, cancelled = await self._bots.suspend_bot(caller, request.bot, reason=request.reason)
        return {"bot": bot_message(bot), "cancelled_matches": cancelled}

    async def resume_bot(self, request: pb.ResumeBotRequest, caller: Caller) -> Fields:
        return {"bot": bot_message(await self._bots.resume_bot(caller, request.bot))}

    async def get_version(self, request: pb.GetVersionRequest, caller: Caller) -> Fields:
        return {"version": version_message(await self._bots.get_version(caller, request.version))}

    async def recheck_version(self, request: pb.RecheckVersionRequest, caller: Caller) -> Fields:
        view, waits = await self._bots.recheck_version(caller, request.version)
        return {"version": version_message(view), "waits": waits}

    async def watch_version(
        self, request: pb.WatchVersionRequest, caller: Caller
    ) -> AsyncIterator[Fields]:
        async for view in self._bots.watch_version(caller, request.version):
            yield {"version": version_message(view)}


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
