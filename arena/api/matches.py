"""Calls about matches: results, replays and logs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from arena.api import pages
from arena.api.finding import find, find_ended
from arena.api.gate import call, owner
from arena.api.messages import ended_match
from arena.errors import DeniedError, NotFoundError
from arena.owners.tokens import Scope
from arena.queue.models import MATCH_ID
from arena.queue.retention import archived_result
from arena.v1 import matches_pb2
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.api.backend import Backend
    from arena.queue.entries import LoggedResult

CHUNK: Final = 64 << 10
"""Bytes of a piece of a replay, or characters of a log."""

_SCANNED: Final = 2000
"""Results of a ladder that are looked through for one page."""


class MatchCalls:
    """Answers calls about matches.

    Args:
        backend: the arena.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        # Old results have no index: one search at a time.
        self._old = asyncio.Lock()

    @call(is_public=True)
    async def get_match(self, request: matches_pb2.GetMatchRequest) -> matches_pb2.GetMatchResponse:
        """Return a match."""
        found = await find(self._backend, request.match)
        return matches_pb2.GetMatchResponse(match=found.message)

    @call(is_public=True)
    async def list_matches(
        self, request: matches_pb2.ListMatchesRequest
    ) -> matches_pb2.ListMatchesResponse:
        """List matches that have ended, the newest first."""
        size, of = pages.page_size(request.page_size), ("matches", request.ruleset, request.bot)
        before = _cursors(pages.place(request.page_token, dict, of=of))
        if request.ruleset:
            rulesets = [await self._backend.ruleset(request.ruleset)]
        else:
            rulesets = await self._backend.queues.rulesets()
        lists = [
            await self._latest(ruleset, before.get(ruleset), bot=request.bot, count=size + 1)
            for ruleset in rulesets
            if before.get(ruleset) != 0
        ]
        return _page(lists, before, size=size, of=of)

    async def _latest(self, ruleset: str, before: int | None, *, bot: str, count: int) -> _Latest:
        """Return results of a ladder, the newest first, those of a bot when one is named."""
        ladder = self._backend.queues.ladder(ruleset)
        ends = await ladder.ends()
        low = min(before or ends.sequence + 1, ends.sequence + 1)
        found: list[LoggedResult] = []
        for _ in range(0, _SCANNED, pages.MOST):
            if low <= ends.archived + 1 or len(found) >= count:
                break
            results = await ladder.latest(pages.MOST, before=low)
            found += [each for each in results if not bot or bot in each.bots]
            # The log has no gaps; what is no result has been passed over.
            low -= pages.MOST
        return _Latest(ruleset, found[:count], low if low > ends.archived + 1 else 0)

    @call(is_public=True, limit=None)
    async def get_replay(
        self, request: matches_pb2.GetReplayRequest
    ) -> AsyncIterator[matches_pb2.GetReplayResponse]:
        """Stream the file of a replay."""
        ruleset, digest = await self._committed(request)
        await self._backend.require_unsealed(request.match)
        data = await asyncio.to_thread(
            self._backend.archive.get_replay, ruleset, request.match, digest=digest
        )
        for start in range(0, len(data), CHUNK):
            yield matches_pb2.GetReplayResponse(chunk=data[start : start + CHUNK])

    async def _committed(self, request: matches_pb2.GetReplayRequest) -> tuple[str, bytes]:
        """Return the ladder and the replay's digest of a match that has ended, however long ago.

        A replay is archived just before its result is committed: until then nobody gets it.
        """
        try:
            ruleset, result = await find_ended(self._backend, request.match)
        except NotFoundError:
            if not request.ruleset or not MATCH_ID.fullmatch(request.match):
                raise
            ruleset = await self._backend.ruleset(request.ruleset)
            async with self._old:
                found = await asyncio.to_thread(
                    archived_result, self._backend.archive, ruleset, request.match
                )
            if found is None:
                raise
            result = found
        return ruleset, result.digest

    @call(scope=Scope.AUTHOR, limit=None)
    async def get_match_log(
        self, request: matches_pb2.GetMatchLogRequest
    ) -> AsyncIterator[matches_pb2.GetMatchLogResponse]:
        """Stream what the caller's own bots printed."""
        ruleset, result = await find_ended(self._backend, request.match)
        bots = await self._backend.bots(result.bots)
        own = [
            number
            for number, name in enumerate(result.bots)
            if name in bots and bots[name].owner == owner()
        ]
        if not own:
            raise DeniedError(
                f"no bot of yours played in {request.match}; what a bot prints is its owner's",
                reason="NOT_YOUR_BOT",
            )
        await self._backend.require_unsealed(request.match)
        for process in _processes(ruleset, result, own):
            async for text in self._log(ruleset, result, process):
                yield matches_pb2.GetMatchLogResponse(process=process, text=text)

    async def _log(
        self, ruleset: str, result: LoggedResult, process: matches_pb2.ProcessName
    ) -> AsyncIterator[str]:
        try:
            data = await asyncio.to_thread(
                self._backend.archive.get_log,
                ruleset,
                result.match_id,
                log_name(process),
                digest=result.digest,
            )
        except NotFoundError:
            return  # it printed nothing, or the log was removed to make room
        text = data.decode(errors="replace")
        for start in range(0, len(text), CHUNK // 4):
            yield text[start : start + CHUNK // 4]


class _Latest:
    """Results of one ladder, and the sequence below which nothing was looked at."""

    def __init__(self, ruleset: str, results: list[LoggedResult], low: int) -> None:
        self.ruleset = ruleset
        self.results = results
        self.low = low


def _cursors(place: dict[Any, Any] | None) -> dict[str, int]:
    """Return by ladder the sequence before which a page begins; 0 where nothing is left."""
    return {
        str(ruleset): before
        for ruleset, before in (place or {}).items()
        if isinstance(before, int) and before >= 0
    }


def _page(
    lists: list[_Latest], before: dict[str, int], *, size: int, of: tuple[str, ...]
) -> matches_pb2.ListMatchesResponse:
    """Merge the lists by time into one page."""
    merged = sorted(
        ((each.ruleset, result) for each in lists for result in each.results),
        key=lambda pair: (pair[1].time, pair[1].sequence),
        reverse=True,
    )
    shown = merged[:size]
    left = len(merged) > size
    for each in lists:
        last = [result.sequence for ruleset, result in shown if ruleset == each.ruleset]
        if len(last) < len(each.results):
            before[each.ruleset] = last[-1] if last else each.results[0].sequence + 1
        else:
            before[each.ruleset] = each.low
            left = left or each.low > 0
    return matches_pb2.ListMatchesResponse(
        matches=[ended_match(ruleset, result) for ruleset, result in shown],
        next_page_token=pages.page_token(before, of=of) if left else "",
    )


def _processes(
    ruleset: str, result: LoggedResult, entrants: list[int]
) -> list[matches_pb2.ProcessName]:
    """Return every process that entrants had in a match."""
    game = parse_ruleset(ruleset)
    return [
        matches_pb2.ProcessName(
            entrant=entrant, version=result.entrants[entrant], table=table, hand=hand
        )
        for entrant in entrants
        for table in range(game.rotations)
        for hand in range(game.seats // game.entrants)
    ]


def log_name(process: matches_pb2.ProcessName) -> str:
    """Return the name of a process's log in the archive."""
    hand = f"-h{process.hand}" if process.hand else ""
    return f"t{process.table}-e{process.entrant}{hand}"
