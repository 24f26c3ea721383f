"""The same attacks by a user of the host who is not root, when the tests themselves run as root."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import referee
from referee.sandbox.bwrap_arguments import TMP
from referee.sandbox.runtimes import python_runtime

USER = "63999"
ROOT = Path(referee.__file__).parents[1]

if os.geteuid() == 0:

    @pytest.fixture
    def scratch() -> Iterator[Path]:
        """A folder of the user's, which it sees as /tmp."""
        folder = Path(f"/var/tmp/arena-tests-{os.getpid()}")  # noqa: S108 -- made anew
        folder.mkdir(mode=0o700)
        os.chown(folder, int(USER), int(USER))
        yield folder
        shutil.rmtree(folder)

    @pytest.mark.slow
    @pytest.mark.timeout(600)
    @pytest.mark.parametrize("name", ["test_attacks", "test_processes", "test_seccomp"])
    def test_the_walls_hold_for_an_ordinary_user(scratch: Path, name: str) -> None:
        """An arena that is not root makes a user namespace, and every test passes all the same."""
        words = [
            "-m",
            "pytest",
            f"tests/referee/sandbox/{name}.py",
            "-q",
            "-n",
            "0",
            "--durations=0",
        ]
        done = subprocess.run(
            as_user(scratch, sys.executable, *words),
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "HOME": TMP, "PYTHONDONTWRITEBYTECODE": "1"},
            check=False,
            capture_output=True,
            text=True,
            timeout=550,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert " passed" in done.stdout


def as_user(scratch: Path, *words: str) -> list[str]:
    """Return a command that runs as the user, to whom the interpreter and the project are open.

    Root's bubblewrap builds a view of the machine, without a user namespace, so that bubblewrap
    can make one inside. Folders that the user may not enter are replaced by empty ones.
    """
    folders = sorted({*python_runtime(Path(sys.executable)).folders, ROOT})
    closed = {parent for folder in folders if (parent := _closed_above(folder)) is not None}
    view = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/"]
    for parent in sorted(closed):
        view += ["--perms", "0755", "--tmpfs", str(parent)]
    # Before the folders: the project itself may lie below /tmp.
    view += ["--bind", str(scratch), TMP]
    for folder in folders:
        for parent in reversed(folder.parents):
            if closed & set(parent.parents) or Path(TMP) in parent.parents:
                view += ["--perms", "0755", "--dir", str(parent)]
        view += ["--ro-bind", str(folder), str(folder)]
    view += ["--cap-drop", "ALL"]
    for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
        view += ["--cap-add", capability]
    become = ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", "--inh-caps=-all"]
    return [
        *view,
        "--",
        *become,
        "--bounding-set=-all",
        "--no-new-privs",
        "env",
        "-C",
        str(ROOT),
        *words,
    ]


def _closed_above(folder: Path) -> Path | None:
    """Return the outermost folder above that other users may not enter."""
    above = reversed(folder.parents)
    return next((parent for parent in above if not parent.stat().st_mode & 0o1), None)
