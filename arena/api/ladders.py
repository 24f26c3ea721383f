"""Calls about ladders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.api.messages import ladder_entry, message, page_request, paged
from arena.v1 import ladders_pb2 as pb

if TYPE_CHECKING:
    from arena.api.messages import Fields
    from arena.backend.access import Caller
    from arena.backend.ladders import Ladders


class LadderCalls:
    """Translates calls about ladders."""

    def __init__(self, ladders: Ladders) -> None:
        self._ladders = ladders

    async def list_ladders(self, _request: pb.ListLaddersRequest, caller: Caller) -> Fields:
        found = await self._ladders.list_ladders(caller)
        return {"ladders": [message(pb.Ladder, each) for each in found]}

    async def get_ladder(self, request: pb.GetLadderRequest, caller: Caller) -> Fields:
        ladder, page = await self._ladders.get_ladder(
            caller, request.ruleset, page_request(request)
        )
        return {"ladder": message(pb.Ladder, ladder), **paged("entries", page, ladder_entry)}
