"""Reads matches: their states, results, replays and logs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from arena.backend import pages
from arena.backend.access import Service, authorized
from arena.backend.pages import Page
from arena.errors import DeniedError, NotFoundError, PreconditionError
from arena.owners.tokens import Scope
from arena.queue.models import MATCH_ID, MatchPhase
from arena.queue.retention import archived_result
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.backend.access import Caller
    from arena.backend.backend import Backend
    from arena.backend.pages import PageRequest
    from arena.queue.log_entries import LoggedResult
    from arena.queue.models import MatchSpec

_SCANNED: Final = 2000
"""Results of a ladder that are looked through for one page."""


class MatchState(StrEnum):
    """The state of a match, as callers see it."""

    WAITING = "waiting"
    PLAYING = "playing"
    ENDED = "ended"
    DEAD = "dead"
    CANCELLED = "cancelled"


_STATES: Final = {
    MatchPhase.READY: MatchState.WAITING,
    MatchPhase.DELAYED: MatchState.WAITING,
    MatchPhase.PAUSED: MatchState.WAITING,
    MatchPhase.LEASED: MatchState.PLAYING,
    MatchPhase.DEAD: MatchState.DEAD,
    MatchPhase.CANCELLED: MatchState.CANCELLED,
    MatchPhase.DONE: MatchState.ENDED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A match that some ladder knows; it has a spec before it has ended, a result then."""

    ruleset: str
    phase: MatchPhase
    spec: MatchSpec | None = None
    result: LoggedResult | None = None

    @property
    def state(self) -> MatchState:
        """Its state, as callers see it."""
        return _STATES[self.phase]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessName:
    """One process of a bot in a match.

    Attributes:
        hand: which of its team's seats it played, from 0; 0 without teams.
    """

    entrant: int
    version: str
    table: int
    hand: int

    @property
    def log(self) -> str:
        """The name of its log in the archive."""
        hand = f"-h{self.hand}" if self.hand else ""
        return f"t{self.table}-e{self.entrant}{hand}"


def ended(ruleset: str, result: LoggedResult) -> Match:
    """Return a match that has ended."""
    return Match(ruleset=ruleset, phase=MatchPhase.DONE, result=result)


async def look(backend: Backend, ruleset: str, match_id: str) -> Match | None:
    """Return a match of a ladder; None when the ladder does not know it, or no longer."""
    queue = backend.queues.queue(ruleset)
    spec = await queue.spec(match_id)
    phase = await queue.phase(match_id)
    if phase is MatchPhase.DONE or spec is None or phase is None:
        # It may have been committed between the two questions.
        result = await backend.queues.ladder(ruleset).result(match_id)
        return None if result is None else ended(ruleset, result)
    return Match(ruleset=ruleset, phase=phase, spec=spec)


async def find(backend: Backend, match_id: str) -> Match:
    """Return a match of any ladder."""
    if MATCH_ID.fullmatch(match_id):
        for ruleset in await backend.queues.rulesets():
            found = await look(backend, ruleset, match_id)
            if found is not None:
                return found
    raise NotFoundError(f"there is no match {match_id!r}; `arena matches` lists the latest")


async def find_ended(
    backend: Backend, match_id: str, *, lock: asyncio.Lock | None = None, ruleset: str = ""
) -> tuple[str, LoggedResult]:
    """Return ruleset and result of a match that has ended.

    Args:
        backend: the arena.
        match_id: the match.
        lock: held while the archive is searched, as old results have no index.
        ruleset: the ladder whose archive is searched when no ladder knows the match any more.
    """
    try:
        found = await find(backend, match_id)
    except NotFoundError:
        if not ruleset or lock is None or not MATCH_ID.fullmatch(match_id):
            raise
        ruleset = await backend.ruleset(ruleset)
        async with lock:
            old = await asyncio.to_thread(archived_result, backend.archive, ruleset, match_id)
        if old is None:
            raise
        return ruleset, old
    if found.result is None:
        raise PreconditionError(
            f"the match {match_id} has not ended; it is {found.phase}", reason="NOT_ENDED"
        )
    return found.ruleset, found.result


class Matches(Service):
    """Reads matches, replays and logs."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._lock = asyncio.Lock()

    @authorized(is_public=True)
    async def get_match(self, _caller: Caller, match_id: str) -> Match:
        """Return a match."""
        return await find(self._backend, match_id)

    @authorized(is_public=True)
    async def list_matches(
        self, _caller: Caller, page: PageRequest, *, ruleset: str = "", bot: str = ""
    ) -> Page[Match]:
        """Return matches that have ended, the newest first, of a ladder or a bot if named."""
        size, of = pages.page_size(page.size), ("matches", ruleset, bot)
        before = _cursors(pages.place(page.token, dict, of=of))
        lists = [
            await self._latest(each, before.get(each), bot=bot, count=size + 1)
            for each in await self._backend.rulesets(ruleset)
            if before.get(each) != 0
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

    @authorized(is_public=True)
    async def get_replay(self, _caller: Caller, match_id: str, *, ruleset: str = "") -> bytes:
        """Return the file of a replay, however long ago its match has ended.

        A replay is archived just before its result is committed: until then nobody gets it.

        Raises:
            PreconditionError: it has not ended, or the round of its competition has not.
        """
        found, result = await find_ended(self._backend, match_id, lock=self._lock, ruleset=ruleset)
        await self._backend.require_unsealed(match_id)
        return await asyncio.to_thread(
            self._backend.archive.get_replay, found, match_id, digest=result.digest
        )

    @authorized(Scope.AUTHOR)
    async def get_match_log(
        self, caller: Caller, match_id: str
    ) -> AsyncIterator[tuple[ProcessName, str]]:
        """Yield what each process of the caller's own bots printed.

        Raises:
            PreconditionError: as `get_replay`.
        """
        ruleset, result = await find_ended(self._backend, match_id)
        bots = await self._backend.registry.bots_named(dict.fromkeys(result.bots))
        own = [
            number
            for number, name in enumerate(result.bots)
            if name in bots and bots[name].owner == caller.owner
        ]
        if not own:
            raise DeniedError(
                f"no bot of yours played in {match_id}; what a bot prints is its owner's",
                reason="NOT_YOUR_BOT",
            )
        await self._backend.require_unsealed(match_id)
        for process in _processes(ruleset, result, own):
            place = ruleset, match_id, process.log
            try:
                data = await asyncio.to_thread(
                    self._backend.archive.get_log, *place, digest=result.digest
                )
            except NotFoundError:
                continue  # it printed nothing, or the log was removed to make room
            yield process, data.decode(errors="replace")


@dataclass(frozen=True, slots=True)
class _Latest:
    """Results of one ladder, and the sequence below which nothing was looked at."""

    ruleset: str
    results: list[LoggedResult]
    low: int


def _cursors(place: dict[Any, Any] | None) -> dict[str, int]:
    """Return by ladder the sequence before which a page begins; 0 where nothing is left."""
    return {
        str(ruleset): before
        for ruleset, before in (place or {}).items()
        if isinstance(before, int) and before >= 0
    }


def _page(
    lists: list[_Latest], before: dict[str, int], *, size: int, of: tuple[str, ...]
) -> Page[Match]:
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
    matches = [ended(ruleset, result) for ruleset, result in shown]
    return Page(matches, pages.page_token(before, of=of) if left else "")


def _processes(ruleset: str, result: LoggedResult, entrants: list[int]) -> list[ProcessName]:
    """Return every process that entrants had in a match."""
    game = parse_ruleset(ruleset)
    return [
        ProcessName(entrant=entrant, version=result.entrants[entrant], table=table, hand=hand)
        for entrant in entrants
        for table in range(game.rotations)
        for hand in range(game.seats // game.entrants)
    ]
