"""Fixtures of the tests that kill processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.redis_server import RedisServer, durable_server, durable_valkey
from tests.service_kit import Service

__all__ = ["durable_server", "durable_valkey"]


@pytest.fixture
def service(durable_valkey: RedisServer, tmp_path: Path) -> Iterator[Service]:
    """An arena on an embedded server of its own."""
    service = Service(tmp_path, durable_valkey.url)
    yield service
    service.close()


@pytest.fixture
def service_of_each_kind(durable_server: RedisServer, tmp_path: Path) -> Iterator[Service]:
    """An arena on a server of its own, of each kind."""
    service = Service(tmp_path, durable_server.url)
    yield service
    service.close()
