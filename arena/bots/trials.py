"""Queues the versions that wait to be tried; one process claims each at a time."""

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Any

from redis.asyncio import Redis

from arena.bots.registry import RejectionCause, VersionState
from arena.bots.steps import STEPS_KEPT, VersionStep, encode_steps
from arena.db.claim_queue import Claim, ClaimQueue
from arena.db.keys import arena_key, milliseconds
from arena.db.scripts import Scripts
from arena.version_id import VersionId
from arena.webhooks.events import MOST_EVENTS, Event

_PLACEMENTS = arena_key("placements")


class TrialVerdict(StrEnum):
    """The answer of `Trials.finish`."""

    ACTIVE = "active"
    """Accepted, and from now on the version that plays."""
    ACCEPTED = "accepted"
    """Accepted, but a newer one is active, or its bot is suspended or retired."""
    REJECTED = "rejected"
    LOST = "lost"
    """The claim expired, and another process tries the version; nothing changed."""


class Trials(ClaimQueue):
    """The queue of versions to be tried; the id of an item is that of its version."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis, due="trials", claims="trial-claims")
        self._bots = Scripts(redis, "bots")

    async def note(
        self,
        claim: Claim,
        *,
        duration: timedelta,
        state: VersionState | None = None,
        digest: str = "",
        steps: Sequence[VersionStep] = (),
    ) -> bool:
        """Save the progress of a trial, and renew its claim; False when the claim was lost.

        ``state`` is the version's, ``digest`` of the folder that its build made, ``steps`` are all
        so far; each is left as it is where none is given.
        """
        reply: Any = await self._bots.run(
            "note",
            *(claim.id, claim.token, milliseconds(duration), state or "", digest),
            encode_steps(steps) if steps else "",
        )
        return bool(reply == b"ok")

    async def give_back(self, claim: Claim, *, wait: timedelta, counts: bool) -> bool:
        """Queue the version again as an uploaded one; see `ClaimQueue.give_back`."""
        reply: Any = await self._bots.run(
            "give_back", claim.id, claim.token, milliseconds(wait), int(counts)
        )
        return bool(reply == b"ok")

    async def finish(
        self,
        claim: Claim,
        *,
        cause: RejectionCause | None,
        reason: str = "",
        steps: Sequence[VersionStep],
        event: Event,
    ) -> TrialVerdict:
        """Accept the version, or reject it for a cause and a reason of one sentence.

        ``event`` is queued for its owner.
        """
        version = VersionId(claim.id)
        reply: Any = await self._bots.run(
            "finish",
            *(claim.id, claim.token, "rejected" if cause else "accepted"),
            *(reason, cause or ""),
            *(encode_steps(steps), event.id, event.body(), MOST_EVENTS),
            VersionId.of(version.bot, version.number - STEPS_KEPT),
        )
        return TrialVerdict(reply.decode())

    async def placements(self) -> list[str]:
        """Return the bots whose ladders have to be updated by `placement.update_ladders`."""
        names: Any = await self._redis.smembers(_PLACEMENTS)
        return sorted(name.decode() for name in names)

    async def placed(self, name: str) -> None:
        """Remove a bot from `placements`."""
        await self._redis.srem(_PLACEMENTS, name)
