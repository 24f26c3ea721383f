"""Handlers of calls: authenticate the caller, bound the time, turn errors into statuses."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

import grpc
from google.protobuf.message_factory import GetMessageClass
from prometheus_client import Counter, Histogram

from arena.api.errors import refusal
from arena.api.messages import message
from arena.backend.access import Caller
from arena.errors import UnauthenticatedError
from arena.v1 import arena_pb2, competitions_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

    from arena.api.messages import Fields
    from arena.metrics import Metrics
    from arena.owners.tokens import TokenStore

SERVICE: Final = arena_pb2.DESCRIPTOR.services_by_name["ArenaService"]
COMPETITIONS: Final = competitions_pb2.DESCRIPTOR.services_by_name["CompetitionService"]
LIMIT: Final = timedelta(seconds=30)
"""The longest that a call may take which is no stream."""

_BEARER: Final = re.compile(r"[Bb]earer +([!-~]{1,256})")
_F = TypeVar("_F", bound="Callable[..., Any]")


def may_take(limit: timedelta) -> Callable[[_F], _F]:
    """Let a call that is no stream take longer, or less, than `LIMIT`."""

    def mark(function: _F) -> _F:
        function.__dict__["limit"] = limit
        return function

    return mark


class Handlers:
    """Makes handlers of functions that answer calls, each given its request and its caller.

    Args:
        accounts: knows the tokens.
        metrics: calls are counted there.
    """

    def __init__(self, accounts: TokenStore, metrics: Metrics) -> None:
        self._accounts = accounts
        self._calls = Counter(
            "arena_api_calls",
            "Calls of the API.",
            ("method", "code"),
            registry=metrics.registry,
        )
        self._seconds = Histogram(
            "arena_api_call_seconds",
            "How long calls of the API took, streams of the server's left out.",
            ("method",),
            registry=metrics.registry,
        )

    def of_service(
        self, *parts: object, service: ServiceDescriptor = SERVICE
    ) -> grpc.GenericRpcHandler:
        """Return the handlers of a whole service.

        Args:
            parts: objects whose methods answer calls, `GetBot` by ``get_bot``.
            service: what is served.
        """
        made = {}
        for method in service.methods:
            name = re.sub(r"(?<!^)([A-Z])", r"_\1", method.name).lower()
            function = next(getattr(part, name) for part in parts if hasattr(part, name))
            made[method.name] = self._handler(method, function)
        return grpc.method_handlers_generic_handler(service.full_name, made)

    def _handler(
        self, method: MethodDescriptor, function: Callable[..., Any]
    ) -> grpc.RpcMethodHandler[Any, Any]:
        codecs: Mapping[str, Any] = {
            "request_deserializer": GetMessageClass(method.input_type).FromString,
            "response_serializer": GetMessageClass(method.output_type).SerializeToString,
        }
        if method.server_streaming:
            return grpc.unary_stream_rpc_method_handler(self._stream(method, function), **codecs)
        answer = self._answer(method, function)
        if method.client_streaming:
            return grpc.stream_unary_rpc_method_handler(answer, **codecs)
        return grpc.unary_unary_rpc_method_handler(answer, **codecs)

    def _answer(
        self, method: MethodDescriptor, function: Callable[[Any, Caller], Awaitable[Fields]]
    ) -> Any:
        """Return a handler that answers with one message."""
        limit: timedelta = getattr(function, "limit", LIMIT)
        kind = GetMessageClass(method.output_type)

        async def answer(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            with self._seconds.labels(method.name).time():
                async with (
                    self._judged(method.name, context),
                    asyncio.timeout(limit.total_seconds()),
                ):
                    return message(kind, **await function(request, await self._caller(context)))

        return answer

    def _stream(
        self, method: MethodDescriptor, function: Callable[[Any, Caller], AsyncIterator[Fields]]
    ) -> Any:
        """Return a handler that answers with a stream."""
        kind = GetMessageClass(method.output_type)

        async def stream(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            async with self._judged(method.name, context):
                async for fields in function(request, await self._caller(context)):
                    yield message(kind, **fields)

        return stream

    @asynccontextmanager
    async def _judged(
        self, method: str, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[None]:
        """Count a call by its status, and turn its error into one."""
        try:
            yield
        except asyncio.CancelledError:
            self._calls.labels(method, grpc.StatusCode.CANCELLED.name).inc()
            raise
        except Exception as error:  # noqa: BLE001 -- every error becomes a status here
            told = refusal(error, method=method)
            self._calls.labels(method, told.code.name).inc()
            await context.abort(told.code, told.sentence, told.details)
        else:
            self._calls.labels(method, grpc.StatusCode.OK.name).inc()

    async def _caller(self, context: grpc.aio.ServicerContext[Any, Any]) -> Caller:
        """Return who calls.

        Raises:
            UnauthenticatedError: a token that is malformed or worth nothing.
        """
        texts = [
            value for key, value in context.invocation_metadata() or () if key == "authorization"
        ]
        if not texts:
            return Caller()
        match = _BEARER.fullmatch(str(texts[0])) if len(texts) == 1 else None
        if match is None:
            raise UnauthenticatedError(
                "the metadata `authorization` must be `Bearer TOKEN`, once",
                reason="TOKEN_MALFORMED",
            )
        return Caller(await self._accounts.authenticate(match[1]))
