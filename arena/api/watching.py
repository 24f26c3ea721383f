"""Calls that go on: what changes is told as it changes.

A stream has an end even when nobody closes it, and an owner (a stranger: an address) has only so
many of them open.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from arena.api.finding import find, look
from arena.api.gate import call, owner
from arena.api.messages import ended_match
from arena.errors import LimitError
from arena.queue.entries import LoggedResult
from arena.queue.models import Phase
from arena.v1 import matches_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from arena.api.backend import Backend

LIFE: Final = timedelta(hours=1)
"""A stream that was open for so long ends; its caller opens another one."""

STREAMS: Final = 16
"""Open streams of one owner."""

STRANGERS: Final = 200
"""Open streams of all who call without a token."""

LOOK: Final = 0.25
"""Seconds between two looks."""

_PAGE: Final = 200
_RETRY: Final = timedelta(seconds=5)


class Streams:
    """Counts the open streams of this process, by owner."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self.closing = asyncio.Event()

    @contextmanager
    def one(self, who: str) -> Iterator[None]:
        """Take one for as long as the block runs.

        Raises:
            LimitError: there are too many.
        """
        most = STREAMS if who else STRANGERS
        if self._open[who] >= most:
            raise LimitError(
                f"{most} open streams are allowed; close one",
                retry_after=_RETRY,
                reason="TOO_MANY_STREAMS",
            )
        self._open[who] += 1
        try:
            yield
        finally:
            self._open[who] -= 1
            if not self._open[who]:
                del self._open[who]

    async def looks(self) -> AsyncIterator[None]:
        """Yield whenever it is time to look again, until the stream's life is over."""
        end = time.monotonic() + LIFE.total_seconds()
        while time.monotonic() < end and not self.closing.is_set():
            yield
            await asyncio.sleep(LOOK)


class WatchCalls:
    """Answers calls that watch matches.

    Args:
        backend: the arena.
        streams: counts what is open.
    """

    def __init__(self, backend: Backend, streams: Streams) -> None:
        self._backend = backend
        self._streams = streams

    @call(is_public=True, limit=None)
    async def watch_match(
        self, request: matches_pb2.WatchMatchRequest
    ) -> AsyncIterator[matches_pb2.WatchMatchResponse]:
        """Stream a match whenever its state changes, until it has ended."""
        with self._streams.one(owner()):
            found = await find(self._backend, request.match)
            ruleset, told = found.ruleset, 0
            async for _ in self._streams.looks():
                now = await look(self._backend, ruleset, request.match)
                if now is None:
                    match = found.message
                    match.state = matches_pb2.MATCH_STATE_CANCELLED
                else:
                    found, match = now, now.message
                if match.state != told:
                    told = match.state
                    yield matches_pb2.WatchMatchResponse(match=match)
                if now is None or now.phase is Phase.DONE:
                    return

    @call(is_public=True, limit=None)
    async def watch_matches(
        self, request: matches_pb2.WatchMatchesRequest
    ) -> AsyncIterator[matches_pb2.WatchMatchesResponse]:
        """Stream the results of a ladder as they are committed."""
        with self._streams.one(owner()):
            ruleset = await self._backend.ruleset(request.ruleset)
            ladder = self._backend.queues.ladder(ruleset)
            ends = await ladder.ends()
            after = max(request.after_sequence, ends.archived)
            if not request.HasField("after_sequence"):
                after = ends.sequence
            async for _ in self._streams.looks():
                while entries := await ladder.entries(after=after, count=_PAGE):
                    after = entries[-1].sequence
                    for entry in entries:
                        if isinstance(entry, LoggedResult) and (
                            not request.bot or request.bot in entry.bots
                        ):
                            yield matches_pb2.WatchMatchesResponse(
                                match=ended_match(ruleset, entry)
                            )
