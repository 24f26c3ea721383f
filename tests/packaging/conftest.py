"""The built wheel, and an environment into which a bot author installed it."""

import fcntl
import os
import subprocess
import sys
import venv
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The repository's root."""
    return ROOT


@contextmanager
def shared_folder(factory: pytest.TempPathFactory, name: str) -> Generator[tuple[Path, bool]]:
    """A folder that all workers of this run share, held alone, and whether it must be filled."""
    top = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        top = top.parent
    folder, done = top / name, top / f"{name}.done"
    with (top / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder, not done.exists()
        done.touch()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the work tree."""
    with shared_folder(tmp_path_factory, "wheel") as (folder, empty):
        if empty:
            build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
            subprocess.run(build, cwd=ROOT, check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def light_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a clean environment that holds the wheel without any extra."""
    with shared_folder(tmp_path_factory, "light-install") as (folder, empty):
        python = folder / "bin" / "python"
        if empty:
            venv.create(folder, symlinks=True)
            # Most modules are never loaded: compiling them all takes longer than the rest.
            pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-qq"]
            pip += ["--no-compile", str(wheel)]
            subprocess.run(pip, check=True)
    return python
