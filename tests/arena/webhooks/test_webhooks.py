"""Events reach their owners, signed, at least once, and nobody else's machines."""

import asyncio
import hashlib
import hmac
import json
import secrets
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from arena.db.claim_queue import Claim
from arena.errors import InputError
from arena.webhooks.events import MOST_EVENTS, Event, EventKind, competition_event
from arena.webhooks.sender import DeliveryOptions, UndeliveredError, WebhookSender, post
from arena.webhooks.store import (
    ATTEMPTS,
    Delivery,
    Target,
    Webhooks,
    is_public,
    judge_url,
    signature,
)

pytestmark = pytest.mark.redis

OPEN = DeliveryOptions(allows_http=True, allows_private=True, limit=timedelta(seconds=5))
LONG = timedelta(seconds=30)
Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Receiver:
    """A web server that takes events.

    Attributes:
        url: its address.
        answers: status lines of the next answers; 204 when there is none.
        requests: heads and bodies that came.
    """

    url: str = ""
    answers: list[str] = field(default_factory=list)
    requests: list[tuple[dict[str, str], str]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one request."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            body = (await reader.readexactly(int(headers["Content-Length"]))).decode()
            self.requests.append(({"": first, **headers}, body))
            answer = self.answers.pop(0) if self.answers else "HTTP/1.1 204 No Content"
            if answer:
                writer.write(f"{answer}\r\n\r\n".encode())
                await writer.drain()
            else:
                await asyncio.sleep(30)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def ids(self) -> list[str]:
        """Return the ids of the events that came."""
        return [json.loads(body)["id"] for _, body in self.requests]


@asynccontextmanager
async def receiving(tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    """Run a receiver on a free port."""
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    receiver.url = f"{'https' if tls else 'http'}://localhost:{port}/arena?x=1"
    try:
        yield receiver
    finally:
        server.close()


def event(name: str = "one", owner: str = "ada") -> Event:
    """Return an event."""
    return Event(id=name, kind=EventKind.VERSION_ACCEPTED, owner=owner, facts={"version": "it@1"})


def delivery(url: str, body: str = '{"id":"one"}') -> Delivery:
    """Return a delivery that no queue knows."""
    return Delivery(Claim("one", "t", 1), "ada", body, Target(url, "secret"))


async def deliver(
    url: str, options: DeliveryOptions = OPEN, tls: ssl.SSLContext | None = None
) -> None:
    """Post one event."""
    found = delivery(url)
    assert found.target is not None
    await post(found.target, found, options, tls=tls or ssl.create_default_context())


@asynccontextmanager
async def running(webhooks: Webhooks, options: DeliveryOptions = OPEN) -> AsyncIterator[None]:
    """Run a sender meanwhile."""
    stopping = asyncio.Event()
    task = asyncio.create_task(WebhookSender(webhooks, options).run(stopping))
    try:
        yield
    finally:
        stopping.set()
        await task


async def until(fact: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(20):
        while not fact():  # noqa: ASYNC110 -- nobody sets an event
            await asyncio.sleep(0.02)


async def claim(webhooks: Webhooks) -> Delivery | None:
    """Claim the event that is due."""
    return await webhooks.claim(token=secrets.token_hex(16), duration=LONG)


async def test_an_event_is_posted_with_a_signature(redis: Redis) -> None:
    """Over the timestamp and the body, under the owner's secret."""
    webhooks = Webhooks(redis, allows_http=True, allows_private=True)
    async with receiving() as receiver, running(webhooks):
        secret = await webhooks.set("ada", receiver.url)
        await webhooks.post(event())
        await until(lambda: bool(receiver.requests))
    headers, body = receiver.requests[0]
    assert headers[""] == "POST /arena?x=1 HTTP/1.1"
    signed = f"{headers['Arena-Timestamp']}.{body}".encode()
    mac = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["Arena-Signature"] == f"v1={mac}"
    assert abs(int(headers["Arena-Timestamp"]) - time.time()) < 30
    document = json.loads(body)
    assert (document["id"], document["kind"]) == ("one", "version.accepted")
    assert (document["version"], headers["Arena-Event"]) == ("it@1", "one")
    assert await webhooks.waiting() == 0


def test_the_documented_check_accepts_what_is_signed() -> None:
    """The example in the protocol's page takes a genuine event, and no changed or old one."""
    page = (Path(__file__).parents[3] / "proto" / "README.md").read_text()
    example = page.partition("```python\ndef is_genuine")[2].partition("```")[0]
    scope: dict[str, Any] = {"hashlib": hashlib, "hmac": hmac, "time": time, "Mapping": Mapping}
    exec(f"def is_genuine{example}", scope)  # noqa: S102 -- our own page
    now, body = int(time.time()), '{"reason":"é"}'

    def judge(content: str, timestamp: int) -> object:
        headers = {
            "Arena-Timestamp": str(timestamp),
            "Arena-Signature": signature("secret", timestamp=timestamp, body=body),
        }
        return scope["is_genuine"]("secret", headers, content.encode())

    assert judge(body, now) is True
    assert judge(f"{body} ", now) is False
    assert judge(body, now - 3600) is False


async def test_an_event_that_is_not_taken_waits(redis: Redis) -> None:
    """It is due again later, with one attempt behind it."""
    webhooks = Webhooks(redis, allows_http=True, allows_private=True)
    async with receiving() as receiver, running(webhooks):
        receiver.answers = ["HTTP/1.1 500 Oh"]
        await webhooks.set("ada", receiver.url)
        await webhooks.post(event())
        await until(lambda: bool(receiver.requests))
    assert await webhooks.waiting() == 1
    assert await claim(webhooks) is None
    await redis.zadd("{arena}:events", {"one": 0})
    again = await claim(webhooks)
    assert again is not None
    assert again.claim.attempt == 2


async def test_an_event_is_dropped_after_its_last_attempt(redis: Redis) -> None:
    """Its owner's place is free again."""
    webhooks = Webhooks(redis)
    await webhooks.set("ada", "https://example.org/")
    await webhooks.post(event())
    for attempt in range(1, ATTEMPTS + 1):
        await redis.zadd("{arena}:events", {"one": 0})
        found = await claim(webhooks)
        assert found is not None
        assert found.claim.attempt == attempt
        await webhooks.settle(found, is_done=False)
    assert await webhooks.waiting() == 0
    assert not await redis.exists("{arena}:event-counts", "{arena}:event-bodies")


async def test_a_claim_that_expired_changes_nothing(redis: Redis) -> None:
    """A sender that was believed dead posted it; so does the next one: at least once."""
    webhooks = Webhooks(redis)
    await webhooks.set("ada", "https://example.org/")
    await webhooks.post(event())
    first = await webhooks.claim(token="a" * 32, duration=timedelta(0))
    second = await claim(webhooks)
    assert first is not None
    assert second is not None
    await webhooks.settle(first, is_done=True)
    assert await webhooks.waiting() == 1
    await webhooks.settle(second, is_done=True)
    assert await webhooks.waiting() == 0


async def test_waiting_for_an_owners_other_events_is_no_attempt(redis: Redis) -> None:
    """Deferred, it is due again in a moment."""
    webhooks = Webhooks(redis)
    await webhooks.set("ada", "https://example.org/")
    await webhooks.post(event())
    for _ in range(3):
        await redis.zadd("{arena}:events", {"one": 0})
        found = await claim(webhooks)
        assert found is not None
        assert found.claim.attempt == 1
        await webhooks.defer(found)
    assert await webhooks.waiting() == 1


async def test_events_without_a_webhook_are_not_kept(redis: Redis) -> None:
    """And those of a webhook that was ended are dropped when their turn comes."""
    webhooks = Webhooks(redis)
    await webhooks.post(event())
    assert await webhooks.waiting() == 0
    await webhooks.set("ada", "https://example.org/")
    assert await webhooks.url("ada") == "https://example.org/"
    await webhooks.post(event())
    await webhooks.remove("ada")
    assert await webhooks.url("ada") == ""
    async with running(webhooks):
        async with asyncio.timeout(20):
            while await webhooks.waiting():  # noqa: ASYNC110 -- Redis sets no event
                await asyncio.sleep(0.02)


async def test_the_outbox_is_bounded(redis: Redis) -> None:
    """By owner; and the same event is there once."""
    webhooks = Webhooks(redis)
    for owner in ("ada", "bob"):
        await webhooks.set(owner, "https://example.org/")
    for _ in range(2):
        await webhooks.post(event("same", "bob"))
    for number in range(MOST_EVENTS + 5):
        await webhooks.post(event(f"e{number}"))
    assert await webhooks.waiting() == MOST_EVENTS + 1


async def test_a_slow_receiver_holds_up_its_own_events_alone(redis: Redis) -> None:
    """Another owner's arrive meanwhile."""
    webhooks = Webhooks(redis, allows_http=True, allows_private=True)
    async with receiving() as slow, receiving() as fast:
        slow.answers = [""] * 10
        await webhooks.set("ada", slow.url)
        await webhooks.set("bob", fast.url)
        for number in range(5):
            await webhooks.post(event(f"slow{number}", "ada"))
        await webhooks.post(event("fast", "bob"))
        async with running(webhooks, replace(OPEN, limit=timedelta(seconds=2))):
            await until(lambda: fast.ids() == ["fast"])
        assert 0 < len(slow.requests) <= 2


async def test_competitions_can_tell_owners(redis: Redis) -> None:
    """With the bot's place."""
    webhooks = Webhooks(redis)
    await webhooks.set("ada", "https://example.org/")
    await webhooks.post(competition_event(competition="t7", owner="ada", bot="it", place=2))
    found = await claim(webhooks)
    assert found is not None
    assert {"kind": "competition.ended", "bot": "it", "place": 2}.items() <= json.loads(
        found.body
    ).items()


@pytest.mark.parametrize(
    "status",
    ["HTTP/1.1 301 Moved\r\nLocation: http://localhost/", "HTTP/1.1 404 No", "nonsense", ""],
)
async def test_only_2xx_counts(status: str) -> None:
    """A redirect is not followed; nonsense and silence are no answers."""
    async with receiving() as receiver:
        receiver.answers = [status]
        with pytest.raises(UndeliveredError):
            await deliver(receiver.url, replace(OPEN, limit=timedelta(seconds=1)))
        assert len(receiver.requests) == 1


async def test_a_long_answer_is_not_read() -> None:
    """Only its first line, and that is bounded."""
    async with receiving() as receiver:
        receiver.answers = [f"HTTP/1.1 200 {'x' * 100_000}"]
        with pytest.raises(UndeliveredError):
            await deliver(receiver.url)


async def test_nobody_there_is_no_answer() -> None:
    """A refused connection, and a name that is nobody's."""
    for url in ("http://localhost:1/", "http://nowhere.invalid/"):
        with pytest.raises(UndeliveredError):
            await deliver(url)


async def test_addresses_that_are_not_public_are_refused() -> None:
    """However they are written; nothing is even connected."""
    async with receiving() as receiver:
        port = receiver.url.split(":")[2].split("/")[0]
        hosts = ("localhost", "127.0.0.1", "127.1", "0.0.0.0", "2130706433", "[::ffff:127.0.0.1]")  # noqa: S104 -- refused
        for host in hosts:
            with pytest.raises(UndeliveredError):
                await deliver(f"http://{host}:{port}/", replace(OPEN, allows_private=False))
        assert receiver.requests == []


async def test_plain_http_is_refused_unless_it_is_allowed() -> None:
    """By default."""
    async with receiving() as receiver:
        with pytest.raises(UndeliveredError, match="only https"):
            await deliver(receiver.url, replace(OPEN, allows_http=False))


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 -- an address to judge
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("ff0e::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:7f00:1::", False),
        ("fec0::1", False),
        ("::127.0.0.1", False),
        ("::ffff:0:127.0.0.1", False),
        ("::ffff:0:8.8.8.8", True),
    ],
)
def test_public_addresses_are_told_from_others(address: str, public: bool) -> None:  # noqa: FBT001 -- a column
    """Private, loopback, link-local, shared, multicast, and what leads there in disguise."""
    assert is_public(address) is public


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.org/", "begins with https://"),
        ("ftp://example.org/", "begins with https://"),
        ("example.org", "begins with https://"),
        ("https://", "no plain address"),
        ("https://ada:pw@example.org/", "a name or password"),
        ("https://example.org/\r\nX: y", "no plain address"),
        ("https://example.org/a b", "no plain address"),
        ("https://ex\u00e4mple.org/", "no plain address"),
        ("https://example.org:99999/", "none: "),
        ("https://[::1/", "none: "),
        ("https://example.org/" + "x" * 500, "longer than 500"),
        ("https://localhost/", "cannot be reached"),
        ("https://127.0.0.1:8000/x", "cannot be reached"),
        ("https://10.1.2.3/", "cannot be reached"),
        ("https://[::1]/", "cannot be reached"),
    ],
)
async def test_addresses_are_judged_when_they_are_set(url: str, words: str, redis: Redis) -> None:
    """With one sentence, and nothing is stored."""
    webhooks = Webhooks(redis)
    with pytest.raises(InputError, match=words):
        await webhooks.set("ada", url)
    assert await webhooks.url("ada") == ""


def test_http_may_be_allowed() -> None:
    """Where the operator says so."""
    judge_url("http://localhost:8000/x?y=1", allows_http=True, allows_private=True)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with the key and the certificate of ``localhost``, signed by nobody else."""
    file = tmp_path / "certificate.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", tmp_path / "key.pem", "-out", file, "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_text((tmp_path / "key.pem").read_text() + file.read_text())
    return file


@pytest.mark.processes
async def test_tls_is_verified(certificate: Path) -> None:
    """A certificate of nobody that we trust is no receiver."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    async with receiving(server) as receiver:
        with pytest.raises(UndeliveredError, match="CERTIFICATE_VERIFY_FAILED"):
            await deliver(receiver.url)
        trusting = ssl.create_default_context(cafile=str(certificate))
        await deliver(receiver.url, replace(OPEN, allows_http=False), tls=trusting)
        other_name = receiver.url.replace("localhost", "127.0.0.1")
        with pytest.raises(UndeliveredError, match="CERTIFICATE_VERIFY_FAILED"):
            await deliver(other_name, tls=trusting)
    assert len(receiver.requests) == 1
