"""Where every call passes: who calls and whether it may, how long it may take, what went wrong."""

from __future__ import annotations

import asyncio
import re
import time
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

import grpc
from google.protobuf.message_factory import GetMessageClass
from prometheus_client import Counter, Histogram

from arena.api.errors import refusal
from arena.errors import ArenaError, DeniedError, UnauthenticatedError
from arena.v1 import arena_pb2, competitions_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

    from arena.metrics import Metrics
    from arena.owners.tokens import Accounts, Scope, Token

SERVICE: Final = arena_pb2.DESCRIPTOR.services_by_name["ArenaService"]
COMPETITIONS: Final = competitions_pb2.DESCRIPTOR.services_by_name["CompetitionService"]
LIMIT: Final = timedelta(seconds=30)
"""The longest that a call may take which is no stream."""

_BEARER: Final = re.compile(r"[Bb]earer +([!-~]{1,256})")
_caller: ContextVar[Token | None] = ContextVar("caller", default=None)
_F = TypeVar("_F", bound="Callable[..., Any]")


@dataclass(frozen=True, slots=True)
class Rule:
    """Who may make a call, and how long it may take.

    Attributes:
        scope: what the token must allow; None for any token.
        is_public: whether it may be made without a token.
        limit: the longest it may take; None for a stream of the server's, which ends itself.
    """

    scope: Scope | None
    is_public: bool
    limit: timedelta | None


def call(
    *, scope: Scope | None = None, is_public: bool = False, limit: timedelta | None = LIMIT
) -> Callable[[_F], _F]:
    """Mark a function that answers a call; see `Rule`."""

    def mark(function: _F) -> _F:
        function.__dict__["rule"] = Rule(scope, is_public, limit)
        return function

    return mark


def caller() -> Token:
    """Return the token of the present call."""
    token = _caller.get()
    if token is None:
        raise ArenaError("a call without a token reached what needs one")
    return token


def owner() -> str:
    """Return the owner who makes the present call; "" for a stranger."""
    token = _caller.get()
    return token.owner if token is not None else ""


def has_scope(scope: Scope) -> bool:
    """Return whether the present call's token has a scope."""
    token = _caller.get()
    return token is not None and scope in token.scopes


class Gate:
    """Makes handlers of functions that answer calls.

    Args:
        accounts: knows the tokens.
        metrics: calls are counted there.
    """

    def __init__(self, accounts: Accounts, metrics: Metrics) -> None:
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

    def handlers(
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
            function = next((getattr(part, name) for part in parts if hasattr(part, name)), None)
            if function is not None:
                made[method.name] = self._handler(method, function)
        return grpc.method_handlers_generic_handler(service.full_name, made)

    def _handler(
        self, method: MethodDescriptor, function: Callable[..., Any]
    ) -> grpc.RpcMethodHandler[Any, Any]:
        rule: Rule = function.rule  # type: ignore[attr-defined] # `call` put it there
        codecs: Mapping[str, Any] = {
            "request_deserializer": GetMessageClass(method.input_type).FromString,
            "response_serializer": GetMessageClass(method.output_type).SerializeToString,
        }
        if method.server_streaming:
            stream = self._stream(method.name, rule, function)
            return grpc.unary_stream_rpc_method_handler(stream, **codecs)
        answer = self._answer(method.name, rule, function)
        if method.client_streaming:
            return grpc.stream_unary_rpc_method_handler(answer, **codecs)
        return grpc.unary_unary_rpc_method_handler(answer, **codecs)

    def _answer(self, method: str, rule: Rule, function: Callable[[Any], Awaitable[Any]]) -> Any:
        """Return a handler that answers with one message."""

        async def answer(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            begun = time.perf_counter()
            try:
                async with asyncio.timeout(rule.limit.total_seconds() if rule.limit else None):
                    await self._let_in(rule, context)
                    response = await function(request)
            except asyncio.CancelledError:
                self._calls.labels(method, grpc.StatusCode.CANCELLED.name).inc()
                raise
            except Exception as error:  # noqa: BLE001 -- every error becomes a status here
                await self._refuse(method, error, context)
            else:
                self._calls.labels(method, grpc.StatusCode.OK.name).inc()
                return response
            finally:
                self._seconds.labels(method).observe(time.perf_counter() - begun)

        return answer

    def _stream(
        self, method: str, rule: Rule, function: Callable[[Any], AsyncIterator[Any]]
    ) -> Any:
        """Return a handler that answers with a stream."""

        async def stream(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            try:
                await self._let_in(rule, context)
                async for response in function(request):
                    yield response
            except asyncio.CancelledError:
                self._calls.labels(method, grpc.StatusCode.CANCELLED.name).inc()
                raise
            except Exception as error:  # noqa: BLE001 -- every error becomes a status here
                await self._refuse(method, error, context)
            else:
                self._calls.labels(method, grpc.StatusCode.OK.name).inc()

        return stream

    async def _let_in(self, rule: Rule, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        """Note who calls.

        Raises:
            UnauthenticatedError: no token where one is needed, or one that is worth nothing.
            DeniedError: the token does not allow this call.
        """
        token = await self._authenticate(context)
        _caller.set(token)
        if token is None:
            if not rule.is_public:
                raise UnauthenticatedError(
                    "this call needs a token; `arena login ADDRESS` keeps one",
                    reason="TOKEN_MISSING",
                )
        elif rule.scope is not None and rule.scope not in token.scopes:
            raise DeniedError(
                f"this call needs a token with the scope {rule.scope}; {token.prefix}... has "
                f"{', '.join(sorted(token.scopes))}",
                reason="SCOPE_MISSING",
                facts={"scope": rule.scope.value},
            )

    async def _authenticate(self, context: grpc.aio.ServicerContext[Any, Any]) -> Token | None:
        texts = [
            value for key, value in context.invocation_metadata() or () if key == "authorization"
        ]
        if not texts:
            return None
        match = _BEARER.fullmatch(str(texts[0])) if len(texts) == 1 else None
        if match is None:
            raise UnauthenticatedError(
                "the metadata `authorization` must be `Bearer TOKEN`, once",
                reason="TOKEN_MALFORMED",
            )
        return await self._accounts.authenticate(match[1])

    async def _refuse(
        self, method: str, error: Exception, context: grpc.aio.ServicerContext[Any, Any]
    ) -> None:
        told = refusal(error, method=method)
        self._calls.labels(method, told.code.name).inc()
        await context.abort(told.code, told.sentence, told.details)
