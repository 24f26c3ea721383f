"""Calls about webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.api.gate import call, owner
from arena.owners.tokens import Scope
from arena.v1 import accounts_pb2

if TYPE_CHECKING:
    from arena.api.backend import Backend


class WebhookCalls:
    """Answers calls about webhooks.

    Args:
        backend: the arena.
    """

    def __init__(self, backend: Backend) -> None:
        self._webhooks = backend.webhooks

    @call(scope=Scope.AUTHOR)
    async def set_webhook(
        self, request: accounts_pb2.SetWebhookRequest
    ) -> accounts_pb2.SetWebhookResponse:
        """Set or end the caller's webhook."""
        if not request.url:
            await self._webhooks.remove(owner())
            return accounts_pb2.SetWebhookResponse()
        secret = await self._webhooks.set(owner(), request.url)
        return accounts_pb2.SetWebhookResponse(
            webhook=accounts_pb2.Webhook(url=request.url), secret=secret
        )

    @call(scope=Scope.AUTHOR)
    async def get_webhook(
        self, request: accounts_pb2.GetWebhookRequest
    ) -> accounts_pb2.GetWebhookResponse:
        """Return the caller's webhook."""
        del request
        url = await self._webhooks.url(owner())
        return accounts_pb2.GetWebhookResponse(
            webhook=accounts_pb2.Webhook(url=url) if url else None
        )
