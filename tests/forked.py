"""Start commands of the arena as forks of a process that has imported it: most of a start."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from arena import cli

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [f"arena.cli.{part}" for part in ("up", "scheduler", "worker", "pipeline", "serve")]
    + ["tests.forked"]
)


class ForkedCommand:
    """Run ``arena WORDS`` as a process of its own, with the methods of `subprocess.Popen`.

    Attributes:
        args: the words.
        pid: of the process, whose parent is the one that it was forked from.
    """

    def __init__(
        self, words: Sequence[str], *, environment: Mapping[str, str], folder: Path, log: Path
    ) -> None:
        """Start the command in a folder; all that it writes goes to the file ``log``."""
        self.args = list(words)
        log.touch()
        self._process = ForkServerProcess(
            target=_run, args=(self.args, dict(environment), folder, log)
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return the exit code, or None."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code at the end of the process."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _run(words: list[str], environment: dict[str, str], folder: Path, log: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    out = os.open(log, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, out)):
        os.dup2(source, number)
    sys.argv = ["arena", *words]
    cli.main()
