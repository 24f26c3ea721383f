"""Temporary folders outlive no process for long."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from referee.sandbox import scratch as scratch_folders
from referee.sandbox.scratch import LOCK, Scratch, sweep
from referee.sandbox.selftest import _probe_environment

HOLD = """
from referee.sandbox.scratch import Scratch
print(Scratch("table").path, Scratch("build", readable=True).path, sep="\\n", flush=True)
input()
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweep nothing but what the test made."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # However long its path is, /tmp is not looked into.
    monkeypatch.setattr(scratch_folders, "LONGEST_PREFIX", len(os.fsencode(tmp_path)))


def test_a_folder_in_use_is_left_alone() -> None:
    """Whoever sweeps cannot take the lock of a living process, its own included."""
    scratch = Scratch("upload")
    assert sweep(young=0) == 0
    assert scratch.path.is_dir()
    scratch.remove()
    assert not scratch.path.exists()


def test_the_folders_of_a_killed_process_are_swept() -> None:
    """The kernel gives the lock back, so nothing has to be remembered."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        folders = [Path(holder.stdout.readline().strip()) for _ in range(2)]
        (folders[1] / "bot").mkdir()
        assert sweep(young=0) == 0
        holder.send_signal(signal.SIGKILL)
    assert all(folder.is_dir() for folder in folders)
    assert sweep() == 0
    assert sweep(young=0) == len(folders)
    assert not any(folder.exists() for folder in folders)


def test_the_self_tests_folder_can_be_swept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed while it tries its sandbox leaves no folder for ever."""
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")  # noqa: S108 -- sockets need a short path
    with _probe_environment() as (_, own, _, _):
        folder = own.parent.parent
        assert (folder / LOCK).exists()
    assert not folder.exists()


def test_what_is_not_ours_to_judge_is_left_alone(tmp_path: Path) -> None:
    """A folder without our lock may be another's, somebody's data, or not locked yet."""
    data = tmp_path / "arena-data"
    data.mkdir()
    (data / "lock").touch()
    (tmp_path / "arena-notes").touch()
    assert sweep(young=0) == 0
    assert (data / "lock").exists()


@pytest.mark.parametrize(("readable", "mode"), [(False, 0o700), (True, 0o755)])
def test_only_a_folder_for_bots_can_be_looked_into(readable: bool, mode: int) -> None:  # noqa: FBT001 -- a parameter of the test
    """What is uploaded or said on a socket is no other user's to see."""
    scratch = Scratch("check", readable=readable)
    assert stat.S_IMODE(scratch.path.stat().st_mode) == mode
    assert scratch.path.name.startswith("arena-check-")
    scratch.remove()
