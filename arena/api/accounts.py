"""Calls about owners and tokens."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from arena.api import pages
from arena.api.gate import call, caller, has_scope
from arena.api.messages import SCOPES, token_message
from arena.bots.registry import BotState
from arena.errors import DeniedError, InputError, NotFoundError
from arena.owners.tokens import Scope
from arena.v1 import accounts_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from arena.api.backend import Backend
    from arena.owners.tokens import Token

_BY_NUMBER = {number: scope for scope, number in SCOPES.items()}


class AccountCalls:
    """Answers calls about owners and tokens.

    Args:
        backend: the arena.
    """

    def __init__(self, backend: Backend) -> None:
        self._accounts = backend.accounts
        self._backend = backend

    @call()
    async def get_identity(
        self, request: accounts_pb2.GetIdentityRequest
    ) -> accounts_pb2.GetIdentityResponse:
        """Tell whose token this is, and what its owner may still do."""
        del request
        token, limits = caller(), self._backend.limits
        bots = await self._backend.registry.bots(owner=token.owner)
        challenges = await limits.challenges(token.owner, is_open=self._backend.is_open)
        return accounts_pb2.GetIdentityResponse(
            token=token_message(token),
            quotas=accounts_pb2.Quotas(
                uploads=accounts_pb2.Quota(
                    limit=limits.most.uploads, used=await limits.uploads(token.owner)
                ),
                challenges=accounts_pb2.Quota(limit=limits.most.challenges, used=challenges),
                bots=accounts_pb2.Quota(
                    limit=limits.most.bots,
                    used=sum(bot.state is not BotState.RETIRED for bot in bots),
                ),
            ),
        )

    @call(scope=Scope.ADMIN)
    async def create_owner(
        self, request: accounts_pb2.CreateOwnerRequest
    ) -> accounts_pb2.CreateOwnerResponse:
        """Register an owner."""
        is_new = await self._backend.registry.add_owner(request.name)
        return accounts_pb2.CreateOwnerResponse(
            owner=accounts_pb2.Owner(name=request.name), is_new=is_new
        )

    @call(scope=Scope.ADMIN)
    async def list_owners(
        self, request: accounts_pb2.ListOwnersRequest
    ) -> accounts_pb2.ListOwnersResponse:
        """List the owners by name."""
        size, of = pages.page_size(request.page_size), ("owners",)
        after = pages.place(request.page_token, str, of=of) or ""
        names = [name for name in await self._backend.registry.owners() if name > after]
        shown = names[:size]
        return accounts_pb2.ListOwnersResponse(
            owners=[accounts_pb2.Owner(name=name) for name in shown],
            next_page_token=pages.page_token(shown[-1], of=of) if len(names) > size else "",
        )

    @call()
    async def create_token(
        self, request: accounts_pb2.CreateTokenRequest
    ) -> accounts_pb2.CreateTokenResponse:
        """Create a token for the caller, or as an admin for anybody."""
        owner = _owner(request.owner)
        scopes = _scopes(request.scopes)
        beyond = scopes - caller().scopes
        if beyond and not has_scope(Scope.ADMIN):
            raise DeniedError(
                f"this token cannot give the scope {min(beyond)}, which it has not itself",
                reason="SCOPE_MISSING",
                facts={"scope": min(beyond).value},
            )
        created = await self._accounts.create(
            owner, scopes=scopes, name=request.name, lifetime=_lifetime(request)
        )
        return accounts_pb2.CreateTokenResponse(
            token=token_message(created.token), secret=created.secret
        )

    @call()
    async def list_tokens(
        self, request: accounts_pb2.ListTokensRequest
    ) -> accounts_pb2.ListTokensResponse:
        """List the tokens of the caller, or for an admin anybody's."""
        tokens = await self._accounts.tokens(_owner(request.owner))
        return accounts_pb2.ListTokensResponse(tokens=map(token_message, tokens))

    @call()
    async def revoke_token(
        self, request: accounts_pb2.RevokeTokenRequest
    ) -> accounts_pb2.RevokeTokenResponse:
        """Revoke a token of the caller's, or as an admin anybody's."""
        token: Token = await self._accounts.token(request.id)
        if token.owner != caller().owner and not has_scope(Scope.ADMIN):
            # That the id exists is nothing a stranger should learn.
            raise NotFoundError(f"there is no token {request.id}; `arena token list` names yours")
        return accounts_pb2.RevokeTokenResponse(
            token=token_message(await self._accounts.revoke(token.id))
        )


def _owner(named: str) -> str:
    """Return whose tokens are meant."""
    own = caller().owner
    if named in {"", own}:
        return own
    if not has_scope(Scope.ADMIN):
        raise DeniedError(
            f"only an admin's token reaches the tokens of {named}; leave the owner out for yours",
            reason="SCOPE_MISSING",
            facts={"scope": Scope.ADMIN.value},
        )
    return named


def _lifetime(request: accounts_pb2.CreateTokenRequest) -> timedelta | None:
    """Return how long the new token lives: a token that expires makes none that outlives it."""
    asked = request.lifetime.ToTimedelta() if request.HasField("lifetime") else None
    end = caller().expire_time
    if end is None or has_scope(Scope.ADMIN):
        return asked
    left = end - datetime.now(UTC)
    if asked is not None and asked > left:
        raise DeniedError(
            f"this token expires on {end:%Y-%m-%d %H:%M} UTC and makes none that lives longer",
            reason="LIFETIME_TOO_LONG",
        )
    return left if asked is None else asked


def _scopes(numbers: Iterable[accounts_pb2.Scope.ValueType]) -> frozenset[Scope]:
    unknown = [number for number in numbers if number not in _BY_NUMBER]
    if unknown:
        raise InputError(f"{unknown[0]} is no scope; possible: {', '.join(Scope)}")
    return frozenset(_BY_NUMBER[number] for number in numbers)
