"""What the calls are answered from."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.api.gate import has_scope, owner
from arena.bots.submissions import Submissions
from arena.competitions.store import CompetitionStore
from arena.errors import DeniedError, NotFoundError, PreconditionError
from arena.owners.limits import Limits, OwnerLimits
from arena.owners.quota import OwnerQuota
from arena.owners.tokens import Accounts, Scope
from arena.queue.models import Phase
from arena.webhooks.outbox import Webhooks
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redis.asyncio import Redis

    from arena.archive.archive import Archive
    from arena.bots.registry import Bot, Registry
    from arena.config import Settings
    from arena.context import Arena
    from arena.queue.queues import Queues


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """The arena as the API sees it.

    Attributes:
        arena: what the calls work on, whose parts stand here, too.
        settings: of the service.
        redis: a client that has been answered.
        queues: queues and ladders.
        registry: bots and versions.
        archive: replays, logs and bot folders.
        accounts: tokens.
        limits: what owners may do.
        submissions: takes archives in.
        webhooks: where owners hear of what happens.
        competitions: tournaments and league seasons.
        quota: what is stored of each owner's versions.
    """

    arena: Arena
    settings: Settings
    redis: Redis
    queues: Queues
    registry: Registry
    archive: Archive
    accounts: Accounts
    limits: Limits
    submissions: Submissions
    webhooks: Webhooks
    competitions: CompetitionStore
    quota: OwnerQuota

    async def ruleset(self, text: str) -> str:
        """Return the canonical text of a ladder's ruleset.

        Raises:
            InputError: no such game.
            NotFoundError: there is no ladder of it.
        """
        ruleset = parse_ruleset(text).ruleset
        known = await self.queues.rulesets()
        if ruleset not in known:
            there = ", ".join(known) or "none yet"
            raise NotFoundError(f"there is no ladder of {ruleset}; the ladders are: {there}")
        return ruleset

    @classmethod
    def of(cls, arena: Arena) -> Backend:
        """Return the backend of a connected arena."""
        settings, redis = arena.settings, arena.redis
        limits = OwnerLimits(
            uploads=settings.owner_uploads,
            challenges=settings.owner_challenges,
            bots=settings.owner_bots,
        )
        return cls(
            arena=arena,
            settings=settings,
            redis=redis,
            queues=arena.queues,
            registry=arena.registry,
            archive=arena.archive,
            accounts=Accounts(redis),
            limits=Limits(redis, limits),
            submissions=Submissions(redis, arena.registry, arena.archive),
            webhooks=Webhooks(
                redis,
                allows_http=settings.webhook_http,
                allows_private=settings.webhook_private,
            ),
            competitions=CompetitionStore(redis),
            quota=OwnerQuota(arena),
        )

    async def own_bot(self, name: str) -> Bot:
        """Return a bot of the caller's.

        Raises:
            NotFoundError: there is no such bot.
            DeniedError: it is another owner's.
        """
        bot = await self.registry.bot(name)
        if bot.owner != owner():
            raise DeniedError(
                f"the bot {name} is another owner's; only its owner may do this",
                reason="NOT_YOUR_BOT",
            )
        return bot

    async def bots(self, names: Iterable[str]) -> dict[str, Bot]:
        """Return those of the bots that exist, by name."""
        wanted = list(dict.fromkeys(names))
        found = await asyncio.gather(*(self._bot(name) for name in wanted))
        return {bot.name: bot for bot in found if bot is not None}

    async def _bot(self, name: str) -> Bot | None:
        try:
            return await self.registry.bot(name)
        except NotFoundError:
            return None

    async def require_unsealed(self, match_id: str) -> None:
        """Refuse what would tell cards that others of a competition's round have yet to see.

        Raises:
            PreconditionError: the match's round goes on.
        """
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
        return None if phase is None else phase not in {Phase.DONE, Phase.DEAD, Phase.CANCELLED}


def sees_private(bot: Bot) -> bool:
    """Return whether the caller may see what only a bot's owner and operators see."""
    return bot.owner == owner() or has_scope(Scope.OPERATOR)
