"""The deployment files, and the tools that judge them."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"

Check = Callable[..., str]


@pytest.fixture(scope="session")
def deploy() -> Path:
    """The folder of the deployment files."""
    return DEPLOY


def checker(program: str) -> Check:
    """A function that runs the program, asserts that it is content, and returns what it said."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed; `make test` as root installs it")

    def run(*arguments: str | Path) -> str:
        answer = subprocess.run([found, *arguments], check=False, capture_output=True, text=True)
        said = answer.stdout + answer.stderr
        assert answer.returncode == 0, said
        return said

    return run


@pytest.fixture(scope="session")
def promtool() -> Check:
    """Runs Prometheus's own checker."""
    return checker("promtool")


@pytest.fixture(scope="session")
def systemd_analyze() -> Check:
    """Runs systemd's own checker."""
    return checker("systemd-analyze")
