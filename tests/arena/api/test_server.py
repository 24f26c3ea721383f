"""The server itself: health, reflection, bounds, TLS, failures, shutdown."""

import asyncio
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from redis.asyncio import Redis

from arena.api import bots, competitions, ladders, matches, operations, owners
from arena.api.handlers import COMPETITIONS, SERVICE
from arena.api.server import MESSAGE_BYTES, ApiServer, Endpoint, is_public
from arena.backend import watching
from arena.client import Client, Login
from arena.config import Settings
from arena.errors import ArenaError, InputError, LimitError
from arena.metrics import Metrics
from arena.owners.tokens import Scope
from arena.v1 import accounts_pb2, bots_pb2, ladders_pb2, matches_pb2
from tests.arena.api.calling import (
    HOST,
    Arena,
    bot_archive,
    make_backend,
    refused,
    start,
    submit,
    until,
)
from tests.redis_server import BINARIES, RedisServer

WHO = accounts_pb2.GetIdentityRequest()
LADDERS = ladders_pb2.ListLaddersRequest()


async def test_health_and_reflection_answer_without_a_token(arena: Arena) -> None:
    """Any tool finds the service, its messages, and whether it serves."""
    async with grpc.aio.insecure_channel(f"{HOST}:{arena.port}") as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for service in ("", SERVICE.full_name):
            answer = await health.Check(health_pb2.HealthCheckRequest(service=service))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        requests = [
            reflection_pb2.ServerReflectionRequest(list_services=""),
            reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE.full_name),
        ]
        listed, described = [each async for each in stub.ServerReflectionInfo(iter(requests))]
    names = {service.name for service in listed.list_services_response.service}
    assert {SERVICE.full_name, "grpc.health.v1.Health"} <= names
    files = [
        FileDescriptorProto.FromString(text)
        for text in described.file_descriptor_response.file_descriptor_proto
    ]
    assert SERVICE.file.name in {file.name for file in files}


async def test_an_answer_is_counted(arena: Arena) -> None:
    """By method and code, the refused ones too."""
    await refused(arena.stranger().GetIdentity(WHO))
    await arena.stranger().ListLadders(LADDERS)
    sample = arena.metrics.registry.get_sample_value
    name = "arena_api_calls_total"
    assert sample(name, {"method": "GetIdentity", "code": "UNAUTHENTICATED"}) == 1
    assert sample(name, {"method": "ListLadders", "code": "OK"}) == 1


async def test_a_message_that_is_too_large_is_refused(arena: Arena) -> None:
    """Before anybody looks into it."""
    calls = await arena.login("ada")
    request = bots_pb2.GetBotRequest(bot="x" * MESSAGE_BYTES)
    code, error = await refused(calls.GetBot(request))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not isinstance(error, LimitError)
    assert (await calls.GetIdentity(WHO)).token.owner == "ada"


async def test_a_long_sentence_fits_into_the_answer(arena: Arena) -> None:
    """Whatever the caller sent, the refusal itself gets through."""
    calls = await arena.login("ada")
    code, error = await refused(calls.GetBot(bots_pb2.GetBotRequest(bot="x" * 100_000)))
    assert code is grpc.StatusCode.NOT_FOUND
    assert len(str(error)) <= 1500


async def test_a_deadline_ends_a_call(arena: Arena) -> None:
    """A stream that would go on for an hour ends when its caller wants it to."""
    calls = await arena.login("ada")
    await arena.backend.queues.open_ladder("quasenbo")
    request = matches_pb2.WatchMatchesRequest(ruleset="quasenbo")
    stream = calls.WatchMatches(request, timeout=0.3)
    code, _ = await refused(anext(aiter(stream)))
    assert code is grpc.StatusCode.DEADLINE_EXCEEDED
    await until(lambda: arena.server._streams._open["ada"] == 0)


async def test_open_streams_have_a_bound(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """One too many is refused with a time to retry, and a closed one makes room."""
    monkeypatch.setattr(watching, "STREAMS", 2)
    calls = await arena.login("ada")
    await submit(calls, bot_archive("greedy"))
    request = bots_pb2.WatchVersionRequest(version="greedy@1")
    streams = [calls.WatchVersion(request) for _ in range(2)]
    for stream in streams:
        await anext(aiter(stream))
    code, error = await refused(anext(aiter(calls.WatchVersion(request))))
    assert (code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS")
    streams[0].cancel()
    await until(lambda: arena.server._streams._open["ada"] == 1)
    assert (await anext(aiter(calls.WatchVersion(request)))).version.id == "greedy@1"


async def test_a_stream_has_an_end(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends without an error when its life is over."""
    monkeypatch.setattr(watching, "LIFE", timedelta(seconds=0.1))
    await arena.backend.queues.open_ladder("quasenbo")
    request = matches_pb2.WatchMatchesRequest(ruleset="quasenbo")
    assert [each async for each in arena.stranger().WatchMatches(request)] == []


async def test_a_failure_of_ours_has_a_number(
    arena: Arena, capsys: pytest.CaptureFixture[str]
) -> None:
    """The caller gets the number alone, the log the cause with it."""
    calls = await arena.login("ada")
    await arena.backend.redis.hset("{arena}:bots", "broken", "no JSON, secret")
    code, error = await refused(calls.GetBot(bots_pb2.GetBotRequest(bot="broken")))
    assert code is grpc.StatusCode.INTERNAL
    assert "secret" not in str(error)
    assert error.facts["error_id"] in str(error)
    logged = capsys.readouterr().out
    assert error.facts["error_id"] in logged
    assert "ValidationError" in logged


@pytest.fixture
def own_store() -> Iterator[RedisServer]:
    """A server that a test may kill."""
    server = RedisServer(BINARIES["valkey"])
    yield server
    server.close()


async def test_without_its_store_the_arena_is_unavailable(
    own_store: RedisServer, tmp_path: Path
) -> None:
    """The caller is told to try again, and health says that nothing is served."""
    redis = Redis(unix_socket_path=own_store.url.removeprefix("unix://"))
    arena = await start(make_backend(redis, tmp_path))
    stopping = asyncio.Event()
    running = asyncio.create_task(arena.server.run(stopping, grace=timedelta(seconds=5)))
    await arena.stranger().ListLadders(LADDERS)
    own_store.kill()
    code, error = await refused(arena.stranger().ListLadders(LADDERS))
    assert code is grpc.StatusCode.UNAVAILABLE
    assert "try again" in str(error)
    async with grpc.aio.insecure_channel(f"{HOST}:{arena.port}") as channel:
        health = health_pb2_grpc.HealthStub(channel)

        async def is_down() -> bool:
            answer = await health.Check(health_pb2.HealthCheckRequest())
            return bool(answer.status == health_pb2.HealthCheckResponse.NOT_SERVING)

        await until(is_down)
    stopping.set()
    await running
    await arena.close()
    await redis.aclose()


async def test_stopping_lets_calls_end(redis: Redis, tmp_path: Path) -> None:
    """An upload that was begun is answered, a stream ends without an error."""
    arena = await start(make_backend(redis, tmp_path))
    calls = await arena.login("ada")
    await submit(calls, bot_archive("greedy"))
    watched = calls.WatchVersion(bots_pb2.WatchVersionRequest(version="greedy@1"))
    stream = aiter(watched)
    await anext(stream)
    uploading = asyncio.create_task(submit(calls, bot_archive("greedy", content="two")))
    await asyncio.sleep(0.05)
    await arena.server.stop(grace=timedelta(seconds=10))
    assert (await uploading).version.id == "greedy@2"
    assert [each async for each in stream] == []
    await arena.close()


def test_every_call_is_translated_once() -> None:
    """Each method of the services is answered by one class."""
    kinds = (
        bots.BotCalls,
        competitions.CompetitionCalls,
        ladders.LadderCalls,
        matches.MatchCalls,
        operations.OperatorCalls,
        owners.OwnerCalls,
    )
    calls = [name for kind in kinds for name in vars(kind) if not name.startswith("_")]
    assert len(calls) == len(set(calls)) == len(SERVICE.methods) + len(COMPETITIONS.methods)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine that signs itself, and its key."""
    return make_certificate(tmp_path_factory.mktemp("tls"), "DNS:localhost,IP:127.0.0.1")


def make_certificate(folder: Path, names: str) -> tuple[Path, Path]:
    """Write a certificate for names that signs itself, and its key."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=arena"]
    command += ["-addext", f"subjectAltName={names}"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


async def test_calls_are_encrypted(
    redis: Redis, tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    """With the certificate's authority a call is answered; without it, or without TLS, not."""
    pem, key = certificate
    arena = await start(make_backend(redis, tmp_path), certificate=pem, key=key)
    await arena.backend.registry.add_owner("ada")
    made = await arena.backend.accounts.create("ada", scopes=frozenset({Scope.AUTHOR}))

    def who(login: Login) -> str:
        with Client(login) as client:
            return client.ask(
                client.stub.GetIdentity, WHO, timeout=timedelta(seconds=10)
            ).token.owner

    address = f"localhost:{arena.port}"
    good = Login(address=f"https://{address}", token=made.secret, ca=str(pem))
    assert await asyncio.to_thread(who, good)
    for bad in (
        Login(address=f"https://{address}", token=made.secret),
        Login(address=f"http://{address}", token=made.secret),
    ):
        with pytest.raises(ArenaError, match="no arena answers"):
            await asyncio.to_thread(who, bad)
    await arena.server.stop(grace=timedelta(0))


async def test_commands_trust_the_certificate_of_the_arena_beside_them(
    redis: Redis, tmp_path: Path
) -> None:
    """Whatever name it is made out to: here the address is another."""
    pem, key = make_certificate(tmp_path, "DNS:arena.example.org")
    arena = await start(make_backend(redis, tmp_path), certificate=pem, key=key)
    await arena.backend.registry.add_owner("ada")
    made = await arena.backend.accounts.create("ada", scopes=frozenset({Scope.AUTHOR}))
    (tmp_path / "admin-token").write_text(made.secret)
    (tmp_path / "address").write_text(f"https://127.0.0.1:{arena.port}\n{pem}\n")

    def who() -> str:
        with Client(Login.load({"ARENA_DATA_DIR": str(tmp_path)})) as client:
            return client.ask(client.stub.GetIdentity, WHO).token.owner

    assert await asyncio.to_thread(who) == "ada"
    await arena.server.stop(grace=timedelta(0))


async def test_files_that_are_no_certificate_are_named(redis: Redis, tmp_path: Path) -> None:
    """The sentence says which files, before anything listens."""
    wrong = tmp_path / "cert.pem"
    wrong.write_text("nothing")
    with pytest.raises(InputError, match=r"cert\.pem"):
        await start(make_backend(redis, tmp_path), certificate=wrong, key=wrong)


async def test_a_taken_port_is_named(arena: Arena) -> None:
    """Two servers never share one."""
    endpoint = Endpoint(host=HOST, port=arena.port)
    second = ApiServer(arena.backend, metrics=Metrics(), endpoint=endpoint)
    with pytest.raises(InputError, match=f"{arena.port}"):
        await second.start()


def test_a_public_address_needs_tls() -> None:
    """Unless the operator says that it is safe."""
    for host in ("127.0.0.1", "::1", "localhost", "127.9.9.9"):
        assert not is_public(host)
        assert Endpoint.of(Settings(host=host)).host == host
    for host in ("0.0.0.0", "::", "192.168.0.7", "arena.example.org"):  # noqa: S104 -- that is the point
        assert is_public(host)
        with pytest.raises(InputError, match="--insecure"):
            Endpoint.of(Settings(host=host))
        assert Endpoint.of(Settings(host=host, insecure=True)).host == host
