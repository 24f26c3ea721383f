"""Annuls matches, retries or purges dead ones, and reports queues, disk usage and processes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from arena.backend.access import Service, authorized
from arena.backend.matches import Match, ended, find, find_ended
from arena.competitions import annulment as competition_annulment
from arena.db.presence import Presence
from arena.errors import InputError, NotFoundError, PreconditionError
from arena.owners.tokens import Scope
from arena.queue.models import MatchPhase

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from arena.backend.access import Caller
    from arena.backend.backend import Backend
    from arena.db.presence import Announcement
    from arena.queue.match_queue import MatchQueue
    from arena.queue.models import DeadMatch, FlowCounts, MatchCounts

REASON: Final = 200
"""Characters of an operator's sentence."""

_SHOWN: Final = 200
"""Flows, and dead matches, that are sent of all queues together; messages are bounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnulledMatch:
    """What came of an annulment.

    Attributes:
        is_new: whether it had not been annulled before.
        played_again_as: the id under which its competition plays it again; "" when none does.
    """

    match: Match
    is_new: bool
    played_again_as: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """The matches of a ladder that have not ended.

    Attributes:
        oldest: how long the match that is next has waited.
        flows: those with matches, by name, as far as they are sent.
        dead: the longest dead first, as far as they are sent.
    """

    ruleset: str
    counts: MatchCounts
    oldest: timedelta
    flows: Mapping[str, FlowCounts]
    dead: list[DeadMatch]


@dataclass(frozen=True, slots=True)
class Stored:
    """How much of one kind is kept, and how many bytes there may be; 0 for no bound."""

    kind: str
    files: int
    size_bytes: int
    limit_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReport:
    """What waits, and how full the archive is.

    Attributes:
        stored: in the archive, by kind.
        cache: the bots that are unpacked on this machine, each counted as one file.
        owner_limit_bytes: the most that one owner's versions may take; 0 for no bound.
    """

    queues: list[QueueView]
    stored: list[Stored]
    cache: Stored
    owner_limit_bytes: int


class Operations(Service):
    """Manages matches and queues for operators."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._lock = asyncio.Lock()

    @authorized(Scope.OPERATOR)
    async def annul_match(
        self, _caller: Caller, match_id: str, *, reason: str, ruleset: str = ""
    ) -> AnnulledMatch:
        """Annul a match; its competition, if it is under way, plays it again.

        Raises:
            PreconditionError: it has not ended, or its competition went on from its result.
        """
        reason = checked_reason(reason)
        ruleset, result = await find_ended(
            self._backend, match_id, lock=self._lock, ruleset=ruleset
        )
        is_new = await competition_annulment.annul(
            self._backend, match_id, ruleset=ruleset, reason=reason
        )
        try:
            match = await find(self._backend, match_id)
        except NotFoundError:
            match = ended(ruleset, replace(result, annulled=reason))
        return AnnulledMatch(
            match=match,
            is_new=is_new,
            played_again_as=await competition_annulment.played_again_as(self._backend, match_id),
        )

    @authorized(Scope.OPERATOR)
    async def retry_match(self, _caller: Caller, match_id: str) -> Match:
        """Queue a dead match again; return it."""
        await (await self._queue_of_dead(match_id)).retry(match_id)
        return await find(self._backend, match_id)

    @authorized(Scope.OPERATOR)
    async def purge_match(self, _caller: Caller, match_id: str) -> None:
        """Purge a dead match."""
        await (await self._queue_of_dead(match_id)).purge(match_id)

    async def _queue_of_dead(self, match_id: str) -> MatchQueue:
        found = await find(self._backend, match_id)
        if found.phase is not MatchPhase.DEAD:
            raise PreconditionError(
                f"the match {match_id} is not dead, it is {found.phase}", reason="NOT_DEAD"
            )
        return self._backend.queues.queue(found.ruleset)

    @authorized(Scope.OPERATOR)
    async def retry_matches(self, _caller: Caller, *, ruleset: str = "") -> int:
        """Queue all dead matches again, of a ladder if named; return how many."""
        return await self._for_all_dead(ruleset, lambda queue, match: queue.retry(match))

    @authorized(Scope.OPERATOR)
    async def purge_matches(self, _caller: Caller, *, ruleset: str = "") -> int:
        """Purge all dead matches, of a ladder if named; return how many."""
        return await self._for_all_dead(ruleset, lambda queue, match: queue.purge(match))

    async def _for_all_dead(
        self, ruleset: str, act: Callable[[MatchQueue, str], Awaitable[bool]]
    ) -> int:
        done = 0
        for each in await self._backend.rulesets(ruleset):
            queue = self._backend.queues.queue(each)
            for match in await queue.dead():
                done += await act(queue, match.spec.id)
        return done

    @authorized(Scope.OPERATOR)
    async def get_queue(self, _caller: Caller) -> QueueReport:
        """Return what waits, and how full the archive is."""
        settings, archive = self._backend.settings, self._backend.archive
        limits = {"replays": settings.replay_bytes, "logs": settings.log_bytes}
        usage = await asyncio.to_thread(archive.usage)
        unpacked = await asyncio.to_thread(archive.cache.sizes)
        rulesets = await self._backend.queues.rulesets()
        most = max(1, _SHOWN // max(1, len(rulesets)))
        return QueueReport(
            queues=[await self._view(ruleset, most=most) for ruleset in rulesets],
            stored=[
                Stored(kind, each.files, each.size_bytes, limits.get(kind, 0))
                for kind, each in usage.items()
            ],
            cache=Stored("cache", len(unpacked), sum(unpacked.values()), settings.cache_bytes),
            owner_limit_bytes=settings.owner_bytes,
        )

    async def _view(self, ruleset: str, *, most: int) -> QueueView:
        queue = self._backend.queues.queue(ruleset)
        flows = (await queue.flows()).items()
        busy = [each for each in flows if each[1].waiting or each[1].leased or each[1].dead]
        return QueueView(
            ruleset=ruleset,
            counts=await queue.counts(),
            oldest=timedelta(seconds=await queue.oldest_seconds()),
            flows=dict(sorted(busy[:most])),
            dead=(await queue.dead())[:most],
        )

    @authorized(Scope.OPERATOR)
    async def list_workers(self, _caller: Caller) -> list[Announcement]:
        """Return the processes that are alive, by name."""
        return await Presence(self._backend.redis).alive()


def checked_reason(text: str) -> str:
    """Return an operator's reason."""
    if not 1 <= len(text) <= REASON or not text.isprintable():
        raise InputError(f"a reason is one sentence of 1 to {REASON} characters")
    return text
