"""Calls about owners, their tokens and their webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.api.messages import SCOPES, page_request, token_message
from arena.errors import InputError
from arena.owners.tokens import Scope
from arena.v1 import accounts_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.backend.access import Caller
    from arena.backend.owners import Owners

_BY_NUMBER = {number: scope for scope, number in SCOPES.items()}


class OwnerCalls:
    """Translates calls about owners."""

    def __init__(self, owners: Owners) -> None:
        self._owners = owners

    async def get_identity(
        self, request: accounts_pb2.GetIdentityRequest, caller: Caller
    ) -> accounts_pb2.GetIdentityResponse:
        """Tell whose token this is, and what its owner may still do."""
        del request
        found = await self._owners.get_identity(caller)
        return accounts_pb2.GetIdentityResponse(
            token=token_message(found.token),
            quotas=accounts_pb2.Quotas(
                **{
                    name: accounts_pb2.Quota(
                        limit=getattr(found.most, name), used=getattr(found.used, name)
                    )
                    for name in ("uploads", "challenges", "bots")
                }
            ),
        )

    async def create_owner(
        self, request: accounts_pb2.CreateOwnerRequest, caller: Caller
    ) -> accounts_pb2.CreateOwnerResponse:
        """Register an owner."""
        is_new = await self._owners.create_owner(caller, request.name)
        owner = accounts_pb2.Owner(name=request.name)
        return accounts_pb2.CreateOwnerResponse(owner=owner, is_new=is_new)

    async def list_owners(
        self, request: accounts_pb2.ListOwnersRequest, caller: Caller
    ) -> accounts_pb2.ListOwnersResponse:
        """List the owners by name."""
        page = await self._owners.list_owners(caller, page_request(request))
        return accounts_pb2.ListOwnersResponse(
            owners=[accounts_pb2.Owner(name=name) for name in page.entries],
            next_page_token=page.next_token,
        )

    async def create_token(
        self, request: accounts_pb2.CreateTokenRequest, caller: Caller
    ) -> accounts_pb2.CreateTokenResponse:
        """Create a token."""
        created = await self._owners.create_token(
            caller,
            owner=request.owner,
            scopes=_scopes(request.scopes),
            name=request.name,
            lifetime=request.lifetime.ToTimedelta() if request.HasField("lifetime") else None,
        )
        return accounts_pb2.CreateTokenResponse(
            token=token_message(created.token), secret=created.secret
        )

    async def list_tokens(
        self, request: accounts_pb2.ListTokensRequest, caller: Caller
    ) -> accounts_pb2.ListTokensResponse:
        """List tokens."""
        tokens = await self._owners.list_tokens(caller, owner=request.owner)
        return accounts_pb2.ListTokensResponse(tokens=map(token_message, tokens))

    async def revoke_token(
        self, request: accounts_pb2.RevokeTokenRequest, caller: Caller
    ) -> accounts_pb2.RevokeTokenResponse:
        """Revoke a token."""
        token = await self._owners.revoke_token(caller, request.id)
        return accounts_pb2.RevokeTokenResponse(token=token_message(token))

    async def set_webhook(
        self, request: accounts_pb2.SetWebhookRequest, caller: Caller
    ) -> accounts_pb2.SetWebhookResponse:
        """Set or end the caller's webhook."""
        secret = await self._owners.set_webhook(caller, request.url)
        return accounts_pb2.SetWebhookResponse(webhook=_webhook(request.url), secret=secret)

    async def get_webhook(
        self, request: accounts_pb2.GetWebhookRequest, caller: Caller
    ) -> accounts_pb2.GetWebhookResponse:
        """Return the caller's webhook."""
        del request
        url = await self._owners.get_webhook(caller)
        return accounts_pb2.GetWebhookResponse(webhook=_webhook(url))


def _webhook(url: str) -> accounts_pb2.Webhook | None:
    return accounts_pb2.Webhook(url=url) if url else None


def _scopes(numbers: Iterable[accounts_pb2.Scope.ValueType]) -> frozenset[Scope]:
    unknown = [number for number in numbers if number not in _BY_NUMBER]
    if unknown:
        raise InputError(f"{unknown[0]} is no scope; possible: {', '.join(Scope)}")
    return frozenset(_BY_NUMBER[number] for number in numbers)
