import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPING = {
    "a test": 'import pytest\n\ndef test_a():\n    pytest.skip("no redis-server")\n',
    "a module": 'import pytest\n\npytest.skip("no redis-server", allow_module_level=True)\n',
}


def closing_line(folder: Path, *, ci: str) -> str:
    """The last line of a pytest run of the folder."""
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder],
        env=environment | {"CI": ci},
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    return answer.stdout.splitlines()[-1]


@pytest.fixture(params=list(SKIPPING.values()), ids=list(SKIPPING))
def skipping(repository: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder of tests under the project's hooks, in which something is skipped."""
    shutil.copy(repository / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(request.param)
    return tmp_path


def test_a_skip_fails_in_continuous_integration(skipping: Path) -> None:
    """Where CI is set, a missing package cannot hide behind a skip."""
    assert closing_line(skipping, ci="true").startswith(("1 failed", "1 error"))


def test_a_skip_stays_a_skip_elsewhere(skipping: Path) -> None:
    """On a developer's machine a missing package costs only the tests that need it."""
    assert closing_line(skipping, ci="").startswith("1 skipped")
