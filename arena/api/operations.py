"""Calls of operators."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from arena.api.handlers import may_take
from arena.api.messages import match_message, queue_message, usage_message, worker_message
from arena.v1 import operations_pb2

if TYPE_CHECKING:
    from arena.backend.access import Caller
    from arena.backend.operations import Operations


class OperatorCalls:
    """Translates calls of operators."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    @may_take(timedelta(minutes=5))
    async def annul_match(
        self, request: operations_pb2.AnnulMatchRequest, caller: Caller
    ) -> operations_pb2.AnnulMatchResponse:
        """Take a match out of the ratings."""
        annulled = await self._operations.annul_match(
            caller, request.match, reason=request.reason, ruleset=request.ruleset
        )
        return operations_pb2.AnnulMatchResponse(
            match=match_message(annulled.match),
            annulled=annulled.is_new,
            played_again_as=annulled.played_again_as,
        )

    async def retry_match(
        self, request: operations_pb2.RetryMatchRequest, caller: Caller
    ) -> operations_pb2.RetryMatchResponse:
        """Queue a dead match again."""
        match = await self._operations.retry_match(caller, request.match)
        return operations_pb2.RetryMatchResponse(match=match_message(match))

    async def purge_match(
        self, request: operations_pb2.PurgeMatchRequest, caller: Caller
    ) -> operations_pb2.PurgeMatchResponse:
        """Forget a dead match."""
        await self._operations.purge_match(caller, request.match)
        return operations_pb2.PurgeMatchResponse()

    async def retry_matches(
        self, request: operations_pb2.RetryMatchesRequest, caller: Caller
    ) -> operations_pb2.RetryMatchesResponse:
        """Queue all dead matches again."""
        count = await self._operations.retry_matches(caller, ruleset=request.ruleset)
        return operations_pb2.RetryMatchesResponse(match_count=count)

    async def purge_matches(
        self, request: operations_pb2.PurgeMatchesRequest, caller: Caller
    ) -> operations_pb2.PurgeMatchesResponse:
        """Forget all dead matches."""
        count = await self._operations.purge_matches(caller, ruleset=request.ruleset)
        return operations_pb2.PurgeMatchesResponse(match_count=count)

    async def get_queue(
        self, request: operations_pb2.GetQueueRequest, caller: Caller
    ) -> operations_pb2.GetQueueResponse:
        """Tell what waits, and how full the archive is."""
        del request
        report = await self._operations.get_queue(caller)
        return operations_pb2.GetQueueResponse(
            queues=map(queue_message, report.queues),
            usages=map(usage_message, report.stored),
            cache=usage_message(report.cache),
            owner_limit_bytes=report.owner_limit_bytes,
        )

    async def list_workers(
        self, request: operations_pb2.ListWorkersRequest, caller: Caller
    ) -> operations_pb2.ListWorkersResponse:
        """List the processes that are alive."""
        del request
        alive = await self._operations.list_workers(caller)
        return operations_pb2.ListWorkersResponse(workers=map(worker_message, alive))
