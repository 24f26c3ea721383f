"""Calls about owners, their tokens and their webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.api.messages import SCOPES, page_request, paged, token_message
from arena.errors import InputError
from arena.owners.tokens import Scope
from arena.v1 import accounts_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.api.messages import Fields
    from arena.backend.access import Caller
    from arena.backend.owners import Owners

_BY_NUMBER = {number: scope for scope, number in SCOPES.items()}


class OwnerCalls:
    """Translates calls about owners."""

    def __init__(self, owners: Owners) -> None:
        self._owners = owners

    async def get_identity(self, _request: pb.GetIdentityRequest, caller: Caller) -> Fields:
        found = await self._owners.get_identity(caller)
        quotas = {
            name: pb.Quota(limit=getattr(found.most, name), used=getattr(found.used, name))
            for name in ("uploads", "challenges", "bots")
        }
        return {"token": token_message(found.token), "quotas": quotas}

    async def create_owner(self, request: pb.CreateOwnerRequest, caller: Caller) -> Fields:
        is_new = await self._owners.create_owner(caller, request.name)
        return {"owner": pb.Owner(name=request.name), "is_new": is_new}

    async def list_owners(self, request: pb.ListOwnersRequest, caller: Caller) -> Fields:
        page = await self._owners.list_owners(caller, page_request(request))
        return paged("owners", page, lambda name: pb.Owner(name=name))

    async def create_token(self, request: pb.CreateTokenRequest, caller: Caller) -> Fields:
        created = await self._owners.create_token(
            caller,
            owner=request.owner,
            scopes=_scopes(request.scopes),
            name=request.name,
            lifetime=request.lifetime.ToTimedelta() if request.HasField("lifetime") else None,
        )
        return {"token": token_message(created.token), "secret": created.secret}

    async def list_tokens(self, request: pb.ListTokensRequest, caller: Caller) -> Fields:
        tokens = await self._owners.list_tokens(caller, owner=request.owner)
        return {"tokens": map(token_message, tokens)}

    async def revoke_token(self, request: pb.RevokeTokenRequest, caller: Caller) -> Fields:
        return {"token": token_message(await self._owners.revoke_token(caller, request.id))}

    async def set_webhook(self, request: pb.SetWebhookRequest, caller: Caller) -> Fields:
        secret = await self._owners.set_webhook(caller, request.url)
        return {"webhook": _webhook(request.url), "secret": secret}

    async def get_webhook(self, _request: pb.GetWebhookRequest, caller: Caller) -> Fields:
        return {"webhook": _webhook(await self._owners.get_webhook(caller))}


def _webhook(url: str) -> pb.Webhook | None:
    return pb.Webhook(url=url) if url else None


def _scopes(numbers: Iterable[pb.Scope.ValueType]) -> frozenset[Scope]:
    unknown = [number for number in numbers if number not in _BY_NUMBER]
    if unknown:
        raise InputError(f"{unknown[0]} is no scope; possible: {', '.join(Scope)}")
    return frozenset(_BY_NUMBER[number] for number in numbers)
