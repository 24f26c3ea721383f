"""Temporary folders of tables outlive no process for long."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from referee.match.scratch import Scratch, sweep

HOLD = "from referee.match.scratch import Scratch; print(Scratch().path, flush=True); input()"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep nothing but what the test made."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_in_use_is_left_alone() -> None:
    """Whoever sweeps cannot take the lock of a living process, its own included."""
    scratch = Scratch()
    assert sweep(young=0) == 0
    assert scratch.path.is_dir()
    scratch.remove()
    assert not scratch.path.exists()


def test_the_folder_of_a_killed_process_is_swept() -> None:
    """The kernel gives the lock back, so nothing has to be remembered."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        folder = Path(holder.stdout.readline().strip())
        assert sweep(young=0) == 0
        holder.send_signal(signal.SIGKILL)
    assert folder.is_dir()
    assert sweep() == 0
    assert sweep(young=0) == 1
    assert not folder.exists()


def test_what_is_not_ours_to_judge_is_left_alone(tmp_path: Path) -> None:
    """A folder without a lock may be another's, or not locked yet."""
    (tmp_path / "arena-table-foreign").mkdir()
    assert sweep(young=0) == 0
    assert (tmp_path / "arena-table-foreign").is_dir()
