import os
import shutil
import subprocess
from pathlib import Path

import pytest

FAKE_PYTHON = """#!/bin/sh
# Stands for `python -m venv DIR`, and as the environment's interpreter for pip.
case "$*" in
  "-m venv "*) echo venv >>calls; mkdir -p "$3/bin"; cp "$0" "$3/bin/python";;
  "-m pip "*) echo pip >>calls; sleep "${PIP_SECONDS:-0}"; exit "${PIP_STATUS:-0}";;
esac
"""


@pytest.fixture
def checkout(repository: Path, tmp_path: Path) -> Path:
    """A folder with the Makefile, and an interpreter that only notes what it was asked."""
    shutil.copy(repository / "Makefile", tmp_path)
    shutil.copy(repository / "pyproject.toml", tmp_path)
    interpreter = tmp_path / "python"
    interpreter.write_text(FAKE_PYTHON)
    interpreter.chmod(0o755)
    return tmp_path


def make(checkout: Path, *targets: str, **environment: str) -> "subprocess.Popen[str]":
    """Starts make in the checkout."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.Popen(
        ["make", f"PYTHON={checkout / 'python'}", *targets],
        cwd=checkout,
        env=inherited | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Waits for a make; returns its status and all that it said."""
    out, errors = process.communicate(timeout=60)
    return process.returncode, out + errors


def calls(checkout: Path) -> list[str]:
    """What the interpreter was asked for, in order."""
    return (checkout / "calls").read_text().split()


def test_a_second_setup_does_nothing(checkout: Path) -> None:
    """What is set up is not set up again."""
    assert finish(make(checkout, "setup"))[0] == 0
    assert finish(make(checkout, "setup"))[0] == 0
    assert calls(checkout) == ["venv", "pip"]


def test_new_requirements_are_installed(checkout: Path) -> None:
    """A change of pyproject.toml brings the environment up to date and keeps it."""
    finish(make(checkout, "setup"))
    stamp = (checkout / ".venv" / "setup-done").stat().st_mtime
    os.utime(checkout / "pyproject.toml", (stamp + 1, stamp + 1))
    finish(make(checkout, "setup"))
    assert calls(checkout) == ["venv", "pip", "pip"]


def test_an_interrupted_setup_begins_anew(checkout: Path) -> None:
    """Half an installation is never taken for a whole one."""
    assert finish(make(checkout, "setup", PIP_STATUS="1"))[0] != 0
    assert finish(make(checkout, "setup"))[0] == 0
    assert calls(checkout) == ["venv", "pip", "venv", "pip"]


def test_setups_at_the_same_time_install_once(checkout: Path) -> None:
    """Two makes started together share one installation."""
    both = [make(checkout, "setup", PIP_SECONDS="0.5") for _ in range(2)]
    assert [finish(process)[0] for process in both] == [0, 0]
    assert calls(checkout) == ["venv", "pip"]


def test_a_development_install_is_enough_for_the_demo(checkout: Path) -> None:
    """After the tests were set up, the demo starts at once."""
    assert finish(make(checkout, ".venv/dev-done"))[0] == 0
    assert finish(make(checkout, "setup"))[0] == 0
    assert calls(checkout) == ["venv", "pip"]


def test_a_user_is_told_what_to_install(checkout: Path, tmp_path: Path) -> None:
    """Without root, missing system packages are named in one line."""
    fake_id = tmp_path / "id"
    fake_id.write_text("#!/bin/sh\necho 1000\n")
    fake_id.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    process = make(
        checkout,
        "system",
        "SYSTEM=no-such-command:package-a sh:dash none-such:package-b",
        PATH=path,
    )
    status, said = finish(process)
    assert status != 0
    assert "apt-get install package-a package-b\n" in said
