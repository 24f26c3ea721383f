"""Fixtures of the tests that run the service as an operator does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.redis_server import BINARIES, RedisServer
from tests.service_kit import Service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """An arena on a server of its own."""
    server = RedisServer(BINARIES["valkey"], durable=True)
    service = Service(tmp_path, server.url)
    yield service
    service.close()
    server.close()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Service]:
    """An arena without a server, for the commands that bring their own."""
    service = Service(tmp_path)
    yield service
    service.close()
