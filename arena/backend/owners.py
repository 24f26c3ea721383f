"""Owners, their tokens and their webhooks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from arena.backend.access import Service, authorized
from arena.bots.registry import BotState
from arena.errors import DeniedError, NotFoundError
from arena.owners.tokens import Scope
from arena.owners.usage_limits import OwnerLimits

if TYPE_CHECKING:
    from datetime import timedelta

    from arena.backend.access import Caller
    from arena.backend.pages import Page, PageRequest
    from arena.owners.tokens import CreatedToken, Token


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose token it is, how much its owner may do, and how much of that is taken."""

    token: Token
    most: OwnerLimits
    used: OwnerLimits


class Owners(Service):
    """Manages owners, tokens and webhooks."""

    @authorized()
    async def get_identity(self, caller: Caller) -> Identity:
        """Return whose token this is, and what its owner may still do."""
        limits, owner = self._backend.limits, caller.owner
        bots = await self._backend.registry.bots(owner=owner)
        used = OwnerLimits(
            uploads=await limits.uploads(owner),
            challenges=await limits.challenges(owner, is_open=self._backend.is_open),
            bots=sum(bot.state is not BotState.RETIRED for bot in bots),
        )
        return Identity(caller.token, limits.most, used)

    @authorized(Scope.ADMIN)
    async def create_owner(self, _caller: Caller, name: str) -> bool:
        """Register an owner; return whether the name was not known."""
        return await self._backend.registry.add_owner(name)

    @authorized(Scope.ADMIN)
    async def list_owners(self, _caller: Caller, page: PageRequest) -> Page[str]:
        """Return the owners by name."""
        return page.cut_by_name(await self._backend.registry.owners(), str, of=("owners",))

    @authorized()
    async def create_token(
        self,
        caller: Caller,
        *,
        owner: str,
        scopes: frozenset[Scope],
        name: str,
        lifetime: timedelta | None,
    ) -> CreatedToken:
        """Create a token for the caller, or as an admin for anybody.

        Args:
            caller: gives no scope and no time beyond its own token's, unless an admin.
            owner: whose it shall be; "" for the caller.
            scopes: what it may do.
            name: what it is for.
            lifetime: None for as long as the caller may give.
        """
        owner = _owner(caller, owner)
        beyond = scopes - caller.token.scopes
        if beyond and not caller.has(Scope.ADMIN):
            raise DeniedError(
                f"this token cannot give the scope {min(beyond)}, which it has not itself",
                reason="SCOPE_MISSING",
                facts={"scope": min(beyond).value},
            )
        return await self._backend.accounts.create(
            owner, scopes=scopes, name=name, lifetime=_lifetime(caller, lifetime)
        )

    @authorized()
    async def list_tokens(self, caller: Caller, *, owner: str = "") -> list[Token]:
        """Return the tokens of the caller, or for an admin anybody's, the oldest first."""
        return await self._backend.accounts.tokens(_owner(caller, owner))

    @authorized()
    async def revoke_token(self, caller: Caller, token_id: str) -> Token:
        """Revoke a token of the caller's, or as an admin anybody's; return it."""
        token = await self._backend.accounts.token(token_id)
        if token.owner != caller.owner and not caller.has(Scope.ADMIN):
            # That the id exists is nothing a stranger should learn.
            raise NotFoundError(f"there is no token {token_id}; `arena token list` names yours")
        return await self._backend.accounts.revoke(token.id)

    @authorized(Scope.AUTHOR)
    async def set_webhook(self, caller: Caller, url: str) -> str:
        """Set the caller's webhook, or delete it by ""; return the key that signs its events."""
        if not url:
            await self._backend.webhooks.remove(caller.owner)
            return ""
        return await self._backend.webhooks.set(caller.owner, url)

    @authorized(Scope.AUTHOR)
    async def get_webhook(self, caller: Caller) -> str:
        """Return the address of the caller's webhook; "" when there is none."""
        return await self._backend.webhooks.url(caller.owner) or ""


def _owner(caller: Caller, named: str) -> str:
    """Return whose tokens are meant."""
    if named in {"", caller.owner}:
        return caller.owner
    if not caller.has(Scope.ADMIN):
        raise DeniedError(
            f"only an admin's token reaches the tokens of {named}; leave the owner out for yours",
            reason="SCOPE_MISSING",
            facts={"scope": Scope.ADMIN.value},
        )
    return named


def _lifetime(caller: Caller, asked: timedelta | None) -> timedelta | None:
    """Return how long the new token lives: a token that expires makes none that outlives it."""
    end = caller.token.expire_time
    if end is None or caller.has(Scope.ADMIN):
        return asked
    left = end - datetime.now(UTC)
    if asked is not None and asked > left:
        raise DeniedError(
            f"this token expires on {end:%Y-%m-%d %H:%M} UTC and makes none that lives longer",
            reason="LIFETIME_TOO_LONG",
        )
    return left if asked is None else asked
