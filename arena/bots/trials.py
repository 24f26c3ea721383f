"""The queue of versions that wait to be tried, each claimed by one process at a time.

A trial is claimed with a random token and an expiring deadline, so that a process that dies loses
nothing: another one tries the version again, and what the first still says has no effect.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from redis.asyncio import Redis

from arena.bots.registry import VersionState
from arena.bots.steps import STEPS_KEPT, VersionStep, encode_steps
from arena.db.keys import arena_key, milliseconds
from arena.db.transitions import Transitions
from arena.version_id import VersionId
from arena.webhooks.events import MOST_EVENTS, Event

_PLACEMENTS, _TRIALS = map(arena_key, ("placements", "trials"))


class Verdict(StrEnum):
    """What `Trials.finish` answers."""

    ACTIVE = "active"
    """Accepted, and from now on the version that plays."""
    ACCEPTED = "accepted"
    """Accepted, but a newer one is active, or its bot is suspended or retired."""
    REJECTED = "rejected"
    LOST = "lost"
    """The claim expired, and another process tries the version; nothing changed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The exclusive, expiring right to try one version.

    Attributes:
        version_id: the version, ``NAME@3``.
        token: the random fence.
        attempt: 1 for the first.
    """

    version_id: VersionId
    token: str
    attempt: int


class Trials:
    """The line of versions that wait to be tried.

    Args:
        redis: a client made by `arena.db.connection.connect`.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._transitions = Transitions(redis)

    async def waiting(self) -> int:
        """Return how many versions wait or are being tried."""
        return int(await self._redis.zcard(_TRIALS))

    async def claim(self, *, token: str, duration: timedelta) -> Claim | None:
        """Take the version that has waited longest, or whose claim expired; None when none waits.

        Args:
            token: 128 random bits as hex digits, new for each claim.
            duration: how long the claim lives unless renewed.
        """
        reply: Any = await self._transitions.run("trial_claim", token, milliseconds(duration))
        return None if reply is None else Claim(VersionId(reply[0].decode()), token, int(reply[1]))

    async def renew(
        self,
        claim: Claim,
        *,
        duration: timedelta,
        state: VersionState | None = None,
        digest: str = "",
        steps: Sequence[VersionStep] = (),
    ) -> bool:
        """Extend a claim, and note how far its version has come; False when it was lost.

        Args:
            claim: the claim.
            duration: how long it lives from now on.
            state: the version's; None leaves it.
            digest: of the folder that its build made; empty leaves it.
            steps: all so far; () leaves them.
        """
        reply: Any = await self._transitions.run(
            "trial_renew",
            *(claim.version_id, claim.token, milliseconds(duration), state or "", digest),
            encode_steps(steps) if steps else "",
        )
        return bool(reply == b"ok")

    async def give_back(self, claim: Claim, *, wait: timedelta, counts: bool) -> bool:
        """Put the version in line again; False when the claim was lost.

        Args:
            claim: the claim.
            wait: when it may be claimed again.
            counts: whether this was an attempt.
        """
        reply: Any = await self._transitions.run(
            "trial_return", claim.version_id, claim.token, milliseconds(wait), int(counts)
        )
        return bool(reply == b"ok")

    async def finish(
        self, claim: Claim, *, reason: str = "", steps: Sequence[VersionStep], event: Event
    ) -> Verdict:
        """Accept the version, or reject it.

        Args:
            claim: the claim.
            reason: why it is rejected; empty to accept it.
            steps: all that it went through.
            event: told to its owner.
        """
        version = claim.version_id
        reply: Any = await self._transitions.run(
            "trial_finish",
            *(claim.version_id, claim.token, "rejected" if reason else "accepted", reason),
            *(encode_steps(steps), event.id, event.body(), MOST_EVENTS),
            VersionId.of(version.bot, version.number - STEPS_KEPT),
        )
        return Verdict(reply.decode())

    async def placements(self) -> list[str]:
        """Return the bots whose places on the ladders have to be brought up to date."""
        names: Any = await self._redis.smembers(_PLACEMENTS)
        return sorted(name.decode() for name in names)

    async def placed(self, name: str) -> None:
        """Note that a bot's places are up to date."""
        await self._redis.srem(_PLACEMENTS, name)
