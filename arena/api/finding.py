"""Finds matches: waiting or ended, on whichever ladder they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.api.messages import ended_match, waiting_match
from arena.errors import NotFoundError, PreconditionError
from arena.queue.models import MATCH_ID, Phase

if TYPE_CHECKING:
    from arena.api.backend import Backend
    from arena.queue.entries import LoggedResult
    from arena.queue.models import MatchSpec
    from arena.v1 import matches_pb2


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A match that some ladder knows.

    Attributes:
        ruleset: the ladder.
        phase: where it stands.
        spec: what is to be played; None when it has ended.
        result: what came of it; None before it has ended.
    """

    ruleset: str
    phase: Phase
    spec: MatchSpec | None = None
    result: LoggedResult | None = None

    @property
    def message(self) -> matches_pb2.Match:
        """The match as callers see it."""
        if self.result is not None:
            return ended_match(self.ruleset, self.result)
        assert self.spec is not None
        return waiting_match(self.spec, self.phase)


async def look(backend: Backend, ruleset: str, match_id: str) -> Found | None:
    """Return a match of a ladder; None when the ladder does not know it, or no longer."""
    queue = backend.queues.queue(ruleset)
    spec = await queue.spec(match_id)
    phase = await queue.phase(match_id)
    if phase is Phase.DONE:
        result = await backend.queues.ladder(ruleset).result(match_id)
        return None if result is None else Found(ruleset=ruleset, phase=phase, result=result)
    if spec is None or phase is None:
        # It may have been committed between the two questions.
        result = await backend.queues.ladder(ruleset).result(match_id)
        if result is None:
            return None
        return Found(ruleset=ruleset, phase=Phase.DONE, result=result)
    return Found(ruleset=ruleset, phase=phase, spec=spec)


async def find(backend: Backend, match_id: str) -> Found:
    """Return a match of any ladder.

    Raises:
        NotFoundError: no ladder knows it.
    """
    if MATCH_ID.fullmatch(match_id):
        for ruleset in await backend.queues.rulesets():
            found = await look(backend, ruleset, match_id)
            if found is not None:
                return found
    raise NotFoundError(f"there is no match {match_id!r}; `arena matches` lists the latest")


async def find_ended(backend: Backend, match_id: str) -> tuple[str, LoggedResult]:
    """Return ruleset and result of a match that has ended.

    Raises:
        NotFoundError: no ladder knows it.
        PreconditionError: it has not ended.
    """
    found = await find(backend, match_id)
    if found.result is None:
        raise PreconditionError(
            f"the match {match_id} has not ended; it is {found.phase}", reason="NOT_ENDED"
        )
    return found.ruleset, found.result
