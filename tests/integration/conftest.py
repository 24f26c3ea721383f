"""Fixtures of the tests that run the service as an operator does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service_kit import Service, own_arena


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """An arena on a server of its own."""
    with own_arena(tmp_path) as service:
        yield service


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Service]:
    """An arena without a server, for the commands that bring their own."""
    service = Service(tmp_path)
    yield service
    service.close()
