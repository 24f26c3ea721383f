"""Calls about ladders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.api.messages import ladder_entry, ladder_message, page_request
from arena.v1 import ladders_pb2 as pb

if TYPE_CHECKING:
    from arena.backend.access import Caller
    from arena.backend.ladders import Ladders


class LadderCalls:
    """Translates calls about ladders."""

    def __init__(self, ladders: Ladders) -> None:
        self._ladders = ladders

    async def list_ladders(
        self, request: pb.ListLaddersRequest, caller: Caller
    ) -> pb.ListLaddersResponse:
        del request
        found = await self._ladders.list_ladders(caller)
        return pb.ListLaddersResponse(ladders=map(ladder_message, found))

    async def get_ladder(
        self, request: pb.GetLadderRequest, caller: Caller
    ) -> pb.GetLadderResponse:
        ladder, page = await self._ladders.get_ladder(
            caller, request.ruleset, page_request(request)
        )
        return pb.GetLadderResponse(
            ladder=ladder_message(ladder),
            entries=map(ladder_entry, page.entries),
            next_page_token=page.next_token,
        )
