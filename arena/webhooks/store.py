"""Stores webhooks, and queues the events that wait to be posted to them.

Each event is posted until it was answered with 2xx, at least once; a receiver that has seen its
``id`` before ignores it. The body is JSON. ``Arena-Event`` carries the id, ``Arena-Timestamp`` the
seconds since 1970, ``Arena-Signature`` ``v1=`` and the hex HMAC-SHA256, under the owner's secret,
of the timestamp, a full stop and the body. Receivers refuse old timestamps.
"""

import hashlib
import hmac
import ipaddress
import json
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from redis.asyncio import Redis

from arena.db.claim_queue import Claim, ClaimQueue
from arena.db.keys import arena_key
from arena.db.scripts import Scripts
from arena.errors import InputError
from arena.webhooks.events import MOST_EVENTS, Event

URL_CHARACTERS: Final = 500
ATTEMPTS: Final = 12
"""How often an event is posted before it is dropped, over about two days."""

_FIRST_WAIT: Final = timedelta(seconds=10)
_MOMENT: Final = timedelta(seconds=2)
_LAST_WAIT: Final = timedelta(hours=8)
_URL: Final = re.compile(r"https?://[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]+")
_WEBHOOKS, _BODIES = map(arena_key, ("webhooks", "event-bodies"))


@dataclass(frozen=True, slots=True)
class Target:
    """An owner's webhook: its URL, and the secret that signs each POST."""

    url: str
    secret: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event that is to be posted now; ``target`` is None without a webhook."""

    claim: Claim
    owner: str
    body: str
    target: Target | None


class Webhooks:
    """The owners' webhooks, and the queue of events; the options are those of `judge_url`."""

    def __init__(
        self, redis: Redis, *, allows_http: bool = False, allows_private: bool = False
    ) -> None:
        self._redis = redis
        self._allows_http = allows_http
        self._allows_private = allows_private
        self._scripts = Scripts(redis, "webhooks")
        self._claims = ClaimQueue(redis, due="events", claims="event-claims")

    async def set(self, owner: str, url: str) -> str:
        """Set an owner's URL, and return the new secret; raises as `judge_url`."""
        judge_url(url, allows_http=self._allows_http, allows_private=self._allows_private)
        secret = secrets.token_urlsafe(32)
        await self._redis.hset(_WEBHOOKS, owner, json.dumps({"url": url, "secret": secret}))
        return secret

    async def remove(self, owner: str) -> None:
        """Remove an owner's webhook; its queued events are dropped when they are due."""
        await self._redis.hdel(_WEBHOOKS, owner)

    async def url(self, owner: str) -> str:
        """Return the URL of an owner's webhook; empty without one."""
        target = await self._target(owner)
        return target.url if target else ""

    async def post(self, event: Event) -> None:
        """Queue an event; dropped when its owner has no webhook, or too many events."""
        await self._scripts.run("post", event.owner, event.id, event.body(), MOST_EVENTS)

    async def waiting(self) -> int:
        """Return the number of queued events."""
        return await self._claims.waiting()

    async def claim(self, *, token: str, duration: timedelta) -> Delivery | None:
        """Claim the event that is due longest; None when none is.

        ``token`` is random, new for each claim, which ends after ``duration`` or by `settle`.
        """
        claim = await self._claims.claim(token=token, duration=duration)
        body: Any = None if claim is None else await self._redis.hget(_BODIES, claim.id)
        if claim is None or body is None:
            return None
        owner = json.loads(body)["owner"]
        return Delivery(claim, owner, body.decode(), await self._target(owner))

    async def settle(self, delivery: Delivery, *, is_done: bool) -> None:
        """Remove a delivered event, or retry it with exponential backoff.

        The wait grows from ten seconds to eight hours; after the last attempt it is dropped.
        """
        claim = delivery.claim
        if is_done or claim.attempt >= ATTEMPTS:
            await self._scripts.run("remove", claim.id, claim.token, delivery.owner)
            return
        wait = min(_LAST_WAIT, _FIRST_WAIT * 4 ** (claim.attempt - 1))
        await self._claims.give_back(claim, wait=wait, counts=True)

    async def defer(self, delivery: Delivery) -> None:
        """Release a claim without an attempt: the event is due again in a moment."""
        await self._claims.give_back(delivery.claim, wait=_MOMENT, counts=False)

    async def _target(self, owner: str) -> Target | None:
        text: Any = await self._redis.hget(_WEBHOOKS, owner)
        return Target(**json.loads(text)) if text else None


def judge_url(url: str, *, allows_http: bool, allows_private: bool = False) -> None:
    """Check the URL of a webhook, or raise `InputError`; names are resolved only when it is used.

    ``allows_http`` is for URLs without TLS, ``allows_private`` for this machine and private nets.
    """
    schemes = ("https", "http") if allows_http else ("https",)
    problem = ""
    try:
        parts = urlsplit(url)
        if len(url) > URL_CHARACTERS:
            problem = f"longer than {URL_CHARACTERS} characters"
        elif parts.scheme not in schemes:
            problem = f"none that begins with {schemes[0]}://"
        elif not _URL.fullmatch(url) or not parts.hostname or parts.port == 0:
            problem = "no plain address of a host, in ASCII"
        elif parts.username is not None or parts.password is not None:
            problem = "one with a name or password, which belong elsewhere"
        elif not allows_private and _is_private(parts.hostname):
            problem = "one that cannot be reached from the internet"
    except ValueError as error:
        problem = f"none: {error}"
    if problem:
        raise InputError(
            f"a webhook's address such as https://example.org/arena is needed; this is {problem}"
        )


_EMBEDDING: Final = tuple(
    ipaddress.ip_network(each)
    for each in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
)
"""Networks whose addresses end in an IPv4 address: compatible, mapped, translated, and NAT64's."""


def _is_private(host: str) -> bool:
    """Return whether a host is not public, by its name or literal address."""
    try:
        return not is_public(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_public(address: str) -> bool:
    """Return whether an address is global and unicast.

    IPv4 addresses that are embedded in IPv6 are judged as such.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is None and any(ip in network for network in _EMBEDDING):
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if ip.is_site_local:  # deprecated, and still routed
            return False
    return ip.is_global and not ip.is_multicast


def signature(secret: str, *, timestamp: int, body: str) -> str:
    """Return the value of ``Arena-Signature``."""
    mac = hmac.digest(secret.encode(), f"{timestamp}.{body}".encode(), hashlib.sha256)
    return f"v1={mac.hex()}"
