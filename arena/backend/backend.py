"""The context of all calls: the arena, and its stores of owners and competitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.bots.submissions import Submissions
from arena.competitions.leagues import LeagueStore
from arena.competitions.store import CompetitionStore
from arena.context import Arena
from arena.errors import NotFoundError, PreconditionError
from arena.owners.quota import OwnerQuota
from arena.owners.tokens import TokenStore
from arena.owners.usage_limits import OwnerLimits, UsageLimiter
from arena.queue.models import MatchPhase
from arena.webhooks.store import Webhooks
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from arena.backend.access import Caller
    from arena.bots.registry import Bot


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend(Arena):
    """An arena with all that its calls need.

    Attributes:
        limits: what owners may do.
        submissions: takes archives in.
        webhooks: where owners hear of what happens.
        quota: what is stored of each owner's versions.
    """

    accounts: TokenStore
    limits: UsageLimiter
    submissions: Submissions
    webhooks: Webhooks
    competitions: CompetitionStore
    leagues: LeagueStore
    quota: OwnerQuota

    @classmethod
    def of(cls, arena: Arena) -> Backend:
        """Return the backend of a connected arena."""
        settings, redis, registry = arena.settings, arena.redis, arena.registry
        limits = OwnerLimits(
            uploads=settings.owner_uploads,
            challenges=settings.owner_challenges,
            bots=settings.owner_bots,
        )
        return cls(
            settings=settings,
            redis=redis,
            queues=arena.queues,
            registry=registry,
            archive=arena.archive,
            accounts=TokenStore(redis),
            limits=UsageLimiter(redis, limits),
            submissions=Submissions(redis, registry, arena.archive),
            webhooks=Webhooks(
                redis,
                allows_http=settings.webhook_http,
                allows_private=settings.webhook_private,
            ),
            competitions=CompetitionStore(redis),
            leagues=LeagueStore(redis),
            quota=OwnerQuota(arena),
        )

    async def ruleset(self, text: str) -> str:
        """Return the canonical text of a ladder's ruleset."""
        ruleset = parse_ruleset(text).ruleset
        known = await self.queues.rulesets()
        if ruleset not in known:
            there = ", ".join(known) or "none yet"
            raise NotFoundError(f"there is no ladder of {ruleset}; the ladders are: {there}")
        return ruleset

    async def rulesets(self, text: str) -> list[str]:
        """Return the canonical text of the ladder that is named, or of all for an empty name."""
        return [await self.ruleset(text)] if text else await self.queues.rulesets()

    async def own_bot(self, caller: Caller, name: str) -> Bot:
        """Return a bot of the caller's."""
        bot = await self.registry.bot(name)
        caller.require_own(bot)
        return bot

    async def require_unsealed(self, match_id: str) -> None:
        """Refuse a match whose boards others of its competition's round have yet to play."""
        if await self.competitions.is_sealed(match_id):
            raise PreconditionError(
                f"the boards of {match_id} are still being played by others of its round; wait "
                "until its last match has ended",
                reason="SEALED",
            )

    async def is_open(self, challenge: str) -> bool | None:
        """Return whether a challenge, named ``RULESET ID``, is still open; None if unknown."""
        ruleset, match_id = challenge.split(" ")
        phase = await self.queues.queue(ruleset).phase(match_id)
        over = {MatchPhase.DONE, MatchPhase.DEAD, MatchPhase.CANCELLED}
        return None if phase is None else phase not in over
