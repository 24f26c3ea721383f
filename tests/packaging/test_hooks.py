"""What the hooks of all tests refuse: skips in continuous integration, and unmarked processes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPING = {
    "test_one.py": 'import pytest\n\ndef test_a():\n    pytest.skip("no redis-server")\n',
    "test_all.py": 'import pytest\n\npytest.skip("no redis-server", allow_module_level=True)\n',
}
STARTING = """
import subprocess
import pytest

def test_a():
    subprocess.run(["true"])

@pytest.mark.processes
def test_b():
    subprocess.run(["true"])
"""


def closing_line(folder: Path, *, ci: str) -> str:
    """The last line of a pytest run of the folder."""
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    words = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", *words, folder],
        env=environment | {"CI": ci},
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    return answer.stdout.splitlines()[-1]


@pytest.fixture
def folder(repository: Path, tmp_path: Path) -> Path:
    """A folder for tests under the project's hooks."""
    shutil.copy(repository / "tests" / "conftest.py", tmp_path)
    return tmp_path


@pytest.fixture
def skipping(folder: Path) -> Path:
    """A folder in which a test and a whole module are skipped."""
    for name, code in SKIPPING.items():
        (folder / name).write_text(code)
    return folder


def test_a_skip_fails_in_continuous_integration(skipping: Path) -> None:
    """Where CI is set, a missing package cannot hide behind a skip."""
    assert closing_line(skipping, ci="true").startswith("1 failed, 1 error")


def test_a_skip_stays_a_skip_elsewhere(skipping: Path) -> None:
    """On a developer's machine a missing package costs only the tests that need it."""
    assert closing_line(skipping, ci="").startswith("2 skipped in")


def test_a_process_needs_the_marker(folder: Path) -> None:
    """A test that starts a process without saying so fails, and not in `make quick` alone."""
    (folder / "test_it.py").write_text(STARTING)
    assert closing_line(folder, ci="").startswith("1 failed, 1 passed")
