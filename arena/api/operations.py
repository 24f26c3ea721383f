"""Calls of operators."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from arena.api.handlers import may_take
from arena.api.messages import match_message, message, queue_message
from arena.v1 import operations_pb2 as pb

if TYPE_CHECKING:
    from arena.api.messages import Fields
    from arena.backend.access import Caller
    from arena.backend.operations import Operations


class OperatorCalls:
    """Translates calls of operators."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    @may_take(timedelta(minutes=5))
    async def annul_match(self, request: pb.AnnulMatchRequest, caller: Caller) -> Fields:
        annulled = await self._operations.annul_match(
            caller, request.match, reason=request.reason, ruleset=request.ruleset
        )
        return {
            "match": match_message(annulled.match),
            "annulled": annulled.is_new,
            "played_again_as": annulled.played_again_as,
        }

    async def retry_match(self, request: pb.RetryMatchRequest, caller: Caller) -> Fields:
        return {"match": match_message(await self._operations.retry_match(caller, request.match))}

    async def purge_match(self, request: pb.PurgeMatchRequest, caller: Caller) -> Fields:
        await self._operations.purge_match(caller, request.match)
        return {}

    async def retry_matches(self, request: pb.RetryMatchesRequest, caller: Caller) -> Fields:
        return {
            "match_count": await self._operations.retry_matches(caller, ruleset=request.ruleset)
        }

    async def purge_matches(self, request: pb.PurgeMatchesRequest, caller: Caller) -> Fields:
        return {
            "match_count": await self._operations.purge_matches(caller, ruleset=request.ruleset)
        }

    async def get_queue(self, _request: pb.GetQueueRequest, caller: Caller) -> Fields:
        report = await self._operations.get_queue(caller)
        return {
            "queues": map(queue_message, report.queues),
            "usages": [message(pb.DiskUsage, each) for each in report.stored],
            "cache": message(pb.DiskUsage, report.cache),
            "owner_limit_bytes": report.owner_limit_bytes,
        }

    async def list_workers(self, _request: pb.ListWorkersRequest, caller: Caller) -> Fields:
        alive = await self._operations.list_workers(caller)
        return {"workers": [message(pb.Worker, each) for each in alive]}
