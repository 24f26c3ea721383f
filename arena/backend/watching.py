"""Streams matches to callers while they change.

A stream has an end even when nobody closes it, and an owner (a stranger: an address) has only so
many of them open.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from arena.backend.access import Service, authorized
from arena.backend.matches import ended, find, look
from arena.errors import LimitError
from arena.queue.log_entries import LoggedResult
from arena.queue.models import MatchPhase

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from arena.backend.access import Caller
    from arena.backend.backend import Backend
    from arena.backend.matches import Match

LIFE: Final = timedelta(hours=1)
"""A stream ends after this time; its caller opens another one."""

STREAMS: Final = 16
"""Open streams of one owner."""

STRANGERS: Final = 200
"""Open streams of all who call without a token."""

POLL_SECONDS: Final = 0.25

_PAGE: Final = 200
_RETRY: Final = timedelta(seconds=5)


class Streams:
    """Counts the open streams of this process, by owner."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self.closing = asyncio.Event()

    @contextmanager
    def opened(self, who: str) -> Iterator[None]:
        """Count a stream as open while the block runs; `LimitError` if there are too many."""
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

    async def polls(self) -> AsyncIterator[None]:
        """Yield whenever it is time to poll, until the stream has to end."""
        end = time.monotonic() + LIFE.total_seconds()
        while time.monotonic() < end and not self.closing.is_set():
            yield
            await asyncio.sleep(POLL_SECONDS)


class Watching(Service):
    """Streams matches."""

    def __init__(self, backend: Backend, streams: Streams) -> None:
        super().__init__(backend)
        self._streams = streams

    @authorized(is_public=True)
    async def watch_match(self, caller: Caller, match_id: str) -> AsyncIterator[Match]:
        """Yield a match whenever its state changes, until it has ended."""
        with self._streams.opened(caller.owner):
            match = await find(self._backend, match_id)
            told = None
            async for _ in self._streams.polls():
                now = await look(self._backend, match.ruleset, match_id)
                match = now or replace(match, phase=MatchPhase.CANCELLED)
                if match.state != told:
                    told = match.state
                    yield match
                if now is None or now.phase is MatchPhase.DONE:
                    return

    @authorized(is_public=True)
    async def watch_matches(
        self, caller: Caller, ruleset: str, *, bot: str = "", after: int | None = None
    ) -> AsyncIterator[Match]:
        """Yield the results of a ladder as they are committed.

        Those of one bot if it is named; those behind a sequence, or else those from now on.
        """
        with self._streams.opened(caller.owner):
            ruleset = await self._backend.ruleset(ruleset)
            ladder = self._backend.queues.ladder(ruleset)
            ends = await ladder.ends()
            after = ends.sequence if after is None else max(after, ends.archived)
            async for _ in self._streams.polls():
                while entries := await ladder.entries(after=after, count=_PAGE):
                    after = entries[-1].sequence
                    for entry in entries:
                        if isinstance(entry, LoggedResult) and (not bot or bot in entry.bots):
                            yield ended(ruleset, entry)
