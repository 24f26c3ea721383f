"""Posts events to the owners' webhooks, which are not trusted.

A name is resolved once, every address that it has is checked, and the connection goes to the very
address that was checked. Redirects are not followed, and only the status line of an answer is read.
"""

import asyncio
import secrets
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import structlog

from arena.db.retry import UNREACHABLE
from arena.errors import ArenaError
from arena.webhooks.store import Delivery, Target, Webhooks, is_public, signature
from referee.tasks import is_set_within

LIMIT: Final = timedelta(seconds=10)
"""From the look-up of the name to the answer's first line."""

AT_ONCE: Final = 16
AT_ONCE_OF_OWNER: Final = 2
"""A slow receiver holds up its own events alone."""

_CLAIM: Final = timedelta(seconds=60)
_PAUSE: Final = 1.0
_LINE: Final = 1024


class UndeliveredError(ArenaError):
    """An event was not delivered; the message says why, for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryOptions:
    """Which URLs are allowed, and the time limit.

    Attributes:
        allows_http: without TLS.
        allows_private: of this machine or of networks that are not public.
        limit: for one event.
        tls: None for the system's certificates.
    """

    allows_http: bool = False
    allows_private: bool = False
    limit: timedelta = LIMIT
    tls: ssl.SSLContext | None = None


class WebhookSender:
    """Delivers webhook events until it is stopped."""

    def __init__(self, webhooks: Webhooks, options: DeliveryOptions | None = None) -> None:
        self._webhooks = webhooks
        self._options = options or DeliveryOptions()
        self._tls = self._options.tls or ssl.create_default_context()
        self._posting: dict[asyncio.Task[None], str] = {}
        self._log: Any = structlog.get_logger()

    async def run(self, stopping: asyncio.Event) -> None:
        """Deliver due events until ``stopping`` is set, then finish those in flight."""
        while not stopping.is_set():
            try:
                found = len(self._posting) < AT_ONCE and await self._start_one()
            except UNREACHABLE as error:
                self._log.warning("events not reached", error=str(error))
                found = False
            if not found:
                await is_set_within(stopping, _PAUSE)
        await asyncio.gather(*self._posting, return_exceptions=True)

    async def _start_one(self) -> bool:
        delivery = await self._webhooks.claim(token=secrets.token_hex(16), duration=_CLAIM)
        if delivery is None:
            return False
        if list(self._posting.values()).count(delivery.owner) >= AT_ONCE_OF_OWNER:
            await self._webhooks.defer(delivery)
            return True
        task = asyncio.create_task(self._deliver(delivery))
        self._posting[task] = delivery.owner
        task.add_done_callback(self._posting.pop)
        return True

    async def _deliver(self, delivery: Delivery) -> None:
        is_done = True
        if delivery.target is not None:
            try:
                await post(delivery.target, delivery, self._options, tls=self._tls)
            except UndeliveredError as error:
                is_done = False
                self._log.info(
                    "event not taken",
                    event=delivery.claim.id, owner=delivery.owner, attempt=delivery.claim.attempt,
                    error=str(error),
                )  # fmt: skip
        with suppress(*UNREACHABLE):
            # Unsettled it is posted once more, which receivers can tell by its id.
            await self._webhooks.settle(delivery, is_done=is_done)


async def post(
    target: Target, delivery: Delivery, options: DeliveryOptions, *, tls: ssl.SSLContext
) -> None:
    """Post one event; `UndeliveredError` unless it may be and is answered with 2xx in time."""
    parts = urlsplit(target.url)
    try:
        async with asyncio.timeout(options.limit.total_seconds()):
            address = await _resolve(parts, options)
            status = await _exchange(parts, address, _request(parts, target, delivery), tls=tls)
    except TimeoutError as error:
        raise UndeliveredError(f"no answer within {options.limit.total_seconds():g} s") from error
    except (OSError, asyncio.LimitOverrunError, EOFError, ValueError) as error:
        raise UndeliveredError(f"{type(error).__name__}: {error}") from error
    if not 200 <= status < 300:
        raise UndeliveredError(f"answered with status {status}")


async def _resolve(parts: SplitResult, options: DeliveryOptions) -> str:
    """Return one address of the host, all of whose addresses are allowed."""
    if parts.scheme != "https" and not (parts.scheme == "http" and options.allows_http):
        raise UndeliveredError("only https addresses are used")
    assert parts.hostname is not None
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(parts.hostname, _port(parts), type=socket.SOCK_STREAM)
    addresses = [str(each[4][0]) for each in found]
    for address in addresses:
        if not options.allows_private and not is_public(address):
            raise UndeliveredError(f"{parts.hostname} is {address}, which is not public")
    return addresses[0]


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _request(parts: SplitResult, target: Target, delivery: Delivery) -> bytes:
    body, timestamp = delivery.body, int(time.time())
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = (
        f"POST {path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "User-Agent: bot-arena",
        "Content-Type: application/json; charset=utf-8",
        f"Content-Length: {len(body.encode())}",
        f"Arena-Event: {delivery.claim.id}",
        f"Arena-Timestamp: {timestamp}",
        f"Arena-Signature: {signature(target.secret, timestamp=timestamp, body=body)}",
        "Connection: close",
    )
    return "\r\n".join((*lines, "", body)).encode()


async def _exchange(
    parts: SplitResult, address: str, request: bytes, *, tls: ssl.SSLContext
) -> int:
    """Send a request and return the status of its response."""
    secure: dict[str, Any] = {}
    if parts.scheme == "https":
        secure = {"ssl": tls, "server_hostname": parts.hostname}
    reader, writer = await asyncio.open_connection(address, _port(parts), limit=_LINE, **secure)
    try:
        writer.write(request)
        await writer.drain()
        line = await reader.readuntil(b"\r\n")
        version, status, *_ = line.decode("latin-1").split()
        if not version.startswith("HTTP/1."):
            raise ValueError("the answer is not HTTP")
        return int(status)
    finally:
        writer.transport.abort()
