"""A real API server over a real registry, and callers of it."""

import asyncio
import hashlib
import io
import secrets
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import grpc
from redis.asyncio import Redis

from arena.api.server import ApiServer, Endpoint
from arena.backend.backend import Backend
from arena.client import error_of
from arena.config import Settings
from arena.context import Arena as Context
from arena.errors import ArenaError
from arena.metrics import Metrics
from arena.owners.tokens import Scope
from arena.v1 import bots_pb2
from arena.v1.arena_pb2_grpc import ArenaServiceStub

_T = TypeVar("_T")
HOST = "127.0.0.1"


class Calls:
    """Every call with one token; `answer.GetBot(request)` is answered or raises.

    Args:
        channel: to the server.
        token: of the caller; empty for a stranger.
    """

    def __init__(self, channel: grpc.aio.Channel, token: str) -> None:
        self._stub = ArenaServiceStub(channel)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()

    def __getattr__(self, name: str) -> Any:
        def made(request: Any, **options: Any) -> Any:
            return getattr(self._stub, name)(request, metadata=self._metadata, **options)

        return made


@dataclass(kw_only=True)
class Arena:
    """A running API and what it answers from."""

    backend: Backend
    metrics: Metrics
    server: ApiServer
    port: int
    channels: list[grpc.aio.Channel] = field(default_factory=list)

    def stranger(self, token: str = "") -> Calls:
        """Return calls with any text as the token, by default without one."""
        channel = grpc.aio.insecure_channel(f"{HOST}:{self.port}")
        self.channels.append(channel)
        return Calls(channel, token)

    async def login(self, owner: str, *scopes: Scope) -> Calls:
        """Return calls of an owner, registered on the way; an author by default."""
        await self.backend.registry.add_owner(owner)
        created = await self.backend.accounts.create(
            owner, scopes=frozenset(scopes or (Scope.AUTHOR,))
        )
        return self.stranger(created.secret)

    async def accept(self, *versions: str) -> None:
        """Accept uploaded versions as the trials would, the last one of a bot becoming active."""
        for version in versions:
            key = "{arena}:versions"
            text: Any = await self.backend.redis.hget(key, version)
            accepted = text.replace(b'"uploaded"', b'"accepted"')
            await self.backend.redis.hset(key, version, accepted)
            bot = await self.backend.registry.activate(version)
            for ruleset in bot.rulesets:
                await self.backend.queues.open_ladder(ruleset)
                await self.backend.queues.ladder(ruleset).enter(bot.name)

    async def close(self) -> None:
        """Close every channel."""
        for channel in self.channels:
            await channel.close()


def make_backend(redis: Redis, folder: Path, **options: Any) -> Backend:
    """Return a backend over an archive in a folder."""
    return Backend.of(Context.over(redis, Settings(data_dir=folder, **options)))


async def start(backend: Backend, **endpoint: Any) -> Arena:
    """Start a server on a free port of this machine."""
    metrics = Metrics()
    server = ApiServer(backend, metrics=metrics, endpoint=Endpoint(host=HOST, port=0, **endpoint))
    port = await server.start()
    return Arena(backend=backend, metrics=metrics, server=server, port=port)


async def refused(answer: Awaitable[Any]) -> tuple[grpc.StatusCode, ArenaError]:
    """Return the code of a call that must be refused, and what a client makes of it."""
    try:
        got = await answer
    except grpc.aio.AioRpcError as error:
        return error.code(), error_of(error, address="here")
    raise AssertionError(f"the call was answered: {got}")


async def all_of(stream: AsyncIterator[_T]) -> list[_T]:
    """Return everything that a stream brings until it ends."""
    return [each async for each in stream]


def bot_archive(name: str, *, content: str = "", rulesets: str = '"quasenbo"') -> bytes:
    """Return the tar.gz of a bot's folder."""
    toml = f'name = "{name}"\nrulesets = [{rulesets}]\ncommand = ["python", "bot.py"]\n'
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, text in (("bot.toml", toml), ("bot.py", f"# {content}\n")):
            entry = tarfile.TarInfo(path)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


def pieces(
    archive: bytes, *, sha256: str = "", size: int | None = None, chunk: int = 1000
) -> list[bots_pb2.SubmitVersionRequest]:
    """Return the messages of an upload, with a true header unless told otherwise."""
    header = bots_pb2.UploadHeader(
        sha256=sha256 or hashlib.sha256(archive).hexdigest(),
        size_bytes=len(archive) if size is None else size,
    )
    chunks = [archive[start : start + chunk] for start in range(0, len(archive), chunk)]
    return [
        bots_pb2.SubmitVersionRequest(header=header),
        *(bots_pb2.SubmitVersionRequest(chunk=each) for each in chunks),
    ]


async def submit(calls: Calls, archive: bytes) -> bots_pb2.SubmitVersionResponse:
    """Upload an archive."""
    answer: bots_pb2.SubmitVersionResponse = await upload(calls, pieces(archive))
    return answer


async def upload(calls: Calls, messages: Iterable[bots_pb2.SubmitVersionRequest]) -> Any:
    """Send the messages of an upload, then the end of the stream."""

    async def stream() -> AsyncIterator[bots_pb2.SubmitVersionRequest]:
        for message in messages:
            yield message

    return await calls.SubmitVersion(stream())


async def add(calls: Calls, archive: bytes, *, owner: str = "") -> bots_pb2.AddBotResponse:
    """Upload an archive as a bot that plays at once."""
    header, *chunks = pieces(archive)

    async def stream() -> AsyncIterator[bots_pb2.AddBotRequest]:
        upload = bots_pb2.AddBotHeader(upload=header.header, owner=owner)
        yield bots_pb2.AddBotRequest(header=upload)
        for each in chunks:
            yield bots_pb2.AddBotRequest(chunk=each.chunk)

    answer: bots_pb2.AddBotResponse = await calls.AddBot(stream())
    return answer


def request_id() -> str:
    """Return an id that no other request has."""
    return secrets.token_hex(8)


async def until(fact: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait until a question is answered with yes."""
    async with asyncio.timeout(20):
        while True:
            answer = fact()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(0.01)
