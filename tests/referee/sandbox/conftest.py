"""Provide sandboxes to attack."""

import shutil
from pathlib import Path

import pytest

from referee.sandbox.bubblewrap import BubblewrapSandbox, SandboxSettings
from tests.referee.sandbox.attacking import SMALL


@pytest.fixture(scope="session")
def sandbox() -> BubblewrapSandbox:
    """A sandbox with small limits; its interpreter is asked once."""
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed; `make test` as root installs it")
    return BubblewrapSandbox(SandboxSettings(limits=SMALL))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder that other users may read, as bots' folders have to be."""
    tmp_path.chmod(0o755)
    return tmp_path
