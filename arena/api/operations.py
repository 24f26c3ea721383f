"""Calls of operators."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from arena.api.finding import find, find_ended
from arena.api.gate import call
from arena.api.messages import dead_match, queue_message, worker_message
from arena.competitions import annulment as competition_annulment
from arena.db.presence import Workers
from arena.errors import InputError, PreconditionError
from arena.owners.tokens import Scope
from arena.queue.models import Phase
from arena.v1 import operations_pb2

if TYPE_CHECKING:
    from arena.api.backend import Backend
    from arena.api.finding import Found

REASON: Final = 200
"""Characters of an operator's sentence."""

_SHOWN: Final = 200
"""Flows, and dead matches, that are told of all queues together; a message has an end."""


class OperatorCalls:
    """Answers calls of operators.

    Args:
        backend: the arena.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @call(scope=Scope.OPERATOR, limit=timedelta(minutes=5))
    async def annul_match(
        self, request: operations_pb2.AnnulMatchRequest
    ) -> operations_pb2.AnnulMatchResponse:
        """Take a match out of the ratings; its competition plays it again."""
        reason = sentence(request.reason)
        ruleset, _ = await find_ended(self._backend, request.match)
        arena = self._backend.arena
        annulled = await competition_annulment.annul(
            arena, request.match, ruleset=ruleset, reason=reason
        )
        found = await find(self._backend, request.match)
        again = await competition_annulment.played_again_as(arena, request.match)
        return operations_pb2.AnnulMatchResponse(
            match=found.message, annulled=annulled, played_again_as=again
        )

    @call(scope=Scope.OPERATOR)
    async def retry_match(
        self, request: operations_pb2.RetryMatchRequest
    ) -> operations_pb2.RetryMatchResponse:
        """Queue a dead match again."""
        found = await self._dead(request.match)
        await self._backend.queues.queue(found.ruleset).retry(request.match)
        again = await find(self._backend, request.match)
        return operations_pb2.RetryMatchResponse(match=again.message)

    @call(scope=Scope.OPERATOR)
    async def purge_match(
        self, request: operations_pb2.PurgeMatchRequest
    ) -> operations_pb2.PurgeMatchResponse:
        """Forget a dead match."""
        found = await self._dead(request.match)
        await self._backend.queues.queue(found.ruleset).purge(request.match)
        return operations_pb2.PurgeMatchResponse()

    async def _dead(self, match_id: str) -> Found:
        found = await find(self._backend, match_id)
        if found.phase is not Phase.DEAD:
            raise PreconditionError(
                f"the match {match_id} is not dead, it is {found.phase}", reason="NOT_DEAD"
            )
        return found

    @call(scope=Scope.OPERATOR)
    async def get_queue(
        self, request: operations_pb2.GetQueueRequest
    ) -> operations_pb2.GetQueueResponse:
        """Tell what waits, and how full the archive is."""
        del request
        settings = self._backend.settings
        limits = {"replays": settings.replay_bytes, "logs": settings.log_bytes}
        usage = await asyncio.to_thread(self._backend.archive.usage)
        unpacked = await asyncio.to_thread(self._backend.archive.cache.sizes)
        rulesets = await self._backend.queues.rulesets()
        most = max(1, _SHOWN // max(1, len(rulesets)))
        return operations_pb2.GetQueueResponse(
            queues=[await self._queue(ruleset, most=most) for ruleset in rulesets],
            usages=[
                operations_pb2.DiskUsage(
                    kind=kind,
                    files=each.files,
                    size_bytes=each.size_bytes,
                    limit_bytes=limits.get(kind, 0),
                )
                for kind, each in usage.items()
            ],
            cache=operations_pb2.DiskUsage(
                kind="cache",
                files=len(unpacked),
                size_bytes=sum(unpacked.values()),
                limit_bytes=settings.cache_bytes,
            ),
            owner_limit_bytes=settings.owner_bytes,
        )

    async def _queue(self, ruleset: str, *, most: int) -> operations_pb2.Queue:
        queue = self._backend.queues.queue(ruleset)
        flows = (await queue.flows()).items()
        busy = [each for each in flows if each[1].waiting or each[1].leased or each[1].dead]
        message = queue_message(
            ruleset,
            await queue.counts(),
            oldest=timedelta(seconds=await queue.oldest_seconds()),
            flows=dict(busy[:most]),
        )
        message.dead_matches.extend(map(dead_match, (await queue.dead())[:most]))
        return message

    @call(scope=Scope.OPERATOR)
    async def list_workers(
        self, request: operations_pb2.ListWorkersRequest
    ) -> operations_pb2.ListWorkersResponse:
        """List the processes that are alive."""
        del request
        alive = await Workers(self._backend.redis).alive()
        return operations_pb2.ListWorkersResponse(workers=map(worker_message, alive))


def sentence(text: str) -> str:
    """Return an operator's reason.

    Raises:
        InputError: there is none, or it is too long.
    """
    if not 1 <= len(text) <= REASON or not text.isprintable():
        raise InputError(f"a reason is one sentence of 1 to {REASON} characters")
    return text
