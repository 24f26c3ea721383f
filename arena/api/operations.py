"""Calls of operators."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from arena.api.handlers import may_take
from arena.api.messages import match_message, queue_message, usage_message, worker_message
from arena.v1 import operations_pb2 as pb

if TYPE_CHECKING:
    from arena.backend.access import Caller
    from arena.backend.operations import Operations


class OperatorCalls:
    """Translates calls of operators."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    @may_take(timedelta(minutes=5))
    async def annul_match(
        self, request: pb.AnnulMatchRequest, caller: Caller
    ) -> pb.AnnulMatchResponse:
        annulled = await self._operations.annul_match(
            caller, request.match, reason=request.reason, ruleset=request.ruleset
        )
        return pb.AnnulMatchResponse(
            match=match_message(annulled.match),
            annulled=annulled.is_new,
            played_again_as=annulled.played_again_as,
        )

    async def retry_match(
        self, request: pb.RetryMatchRequest, caller: Caller
    ) -> pb.RetryMatchResponse:
        match = await self._operations.retry_match(caller, request.match)
        return pb.RetryMatchResponse(match=match_message(match))

    async def purge_match(
        self, request: pb.PurgeMatchRequest, caller: Caller
    ) -> pb.PurgeMatchResponse:
        await self._operations.purge_match(caller, request.match)
        return pb.PurgeMatchResponse()

    async def retry_matches(
        self, request: pb.RetryMatchesRequest, caller: Caller
    ) -> pb.RetryMatchesResponse:
        count = await self._operations.retry_matches(caller, ruleset=request.ruleset)
        return pb.RetryMatchesResponse(match_count=count)

    async def purge_matches(
        self, request: pb.PurgeMatchesRequest, caller: Caller
    ) -> pb.PurgeMatchesResponse:
        count = await self._operations.purge_matches(caller, ruleset=request.ruleset)
        return pb.PurgeMatchesResponse(match_count=count)

    async def get_queue(self, request: pb.GetQueueRequest, caller: Caller) -> pb.GetQueueResponse:
        del request
        report = await self._operations.get_queue(caller)
        return pb.GetQueueResponse(
            queues=map(queue_message, report.queues),
            usages=map(usage_message, report.stored),
            cache=usage_message(report.cache),
            owner_limit_bytes=report.owner_limit_bytes,
        )

    async def list_workers(
        self, request: pb.ListWorkersRequest, caller: Caller
    ) -> pb.ListWorkersResponse:
        del request
        alive = await self._operations.list_workers(caller)
        return pb.ListWorkersResponse(workers=map(worker_message, alive))
