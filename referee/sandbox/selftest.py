"""Find the strongest sandbox that works on this machine, by trying each."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from referee.errors import SandboxUnavailableError
from referee.sandbox.bubblewrap import BubblewrapSandbox, SandboxSettings
from referee.sandbox.cgroup import find_cgroups
from referee.sandbox.run import run_in_sandbox
from referee.sandbox.sandbox import BotCommand, PlainSandbox, Sandbox
from referee.sandbox.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from referee.sandbox.cgroup import CgroupParent

_LIMIT = timedelta(seconds=30)
_PROBE = Path(__file__).with_name("probe.py")
_SHOWN = 300
"""Characters of bubblewrap's or the probe's stderr in a message."""


async def detect_sandbox(settings: SandboxSettings | None = None) -> Sandbox:
    """Return the strongest sandbox that works here; its `why` says why it is no stronger.

    From the strongest: ``bwrap+cgroup``, ``bwrap+watchdog``, ``none``. Each is probed with a bot
    that tries to escape. `Sandbox.require_isolation` refuses untrusted bots in ``none``.

    Raises:
        InputError: an interpreter that the settings name cannot run bots.
    """
    settings = settings or SandboxSettings()
    why = ""
    tries: list[CgroupParent | None] = [None]
    try:
        tries.insert(0, find_cgroups(settings.cgroup))
    except SandboxUnavailableError as error:
        why = str(error)
    for cgroups in tries:
        try:
            sandbox = BubblewrapSandbox(settings, cgroups=cgroups, why=why)
            await probe_sandbox(sandbox)
        except SandboxUnavailableError as error:
            why = str(error)
        else:
            return sandbox
    return PlainSandbox(limits=settings.limits, why=why)


async def probe_sandbox(sandbox: Sandbox) -> None:
    """Run a bot that tries to escape.

    Raises:
        SandboxUnavailableError: an attempt succeeded, or the bot could not be started; the message
            is bubblewrap's own where there is one.
    """
    with _probe_environment() as (port, own, other, folder):
        words = ("python", _PROBE.name, str(port), str(other), str(sandbox.limits.processes))
        command = BotCommand(words=words, folder=folder, socket=own, token="none")  # noqa: S106
        try:
            report = await run_in_sandbox(command, sandbox, limit=_LIMIT)
        except OSError as error:
            raise SandboxUnavailableError(str(error)) from error
    if not report.succeeded:
        said = report.stderr.strip()[-_SHOWN:]
        raise SandboxUnavailableError(said or f"the test of the sandbox failed: {report}")


@contextmanager
def _probe_environment() -> Iterator[tuple[int, Path, Path, Path]]:
    """Yield a port that listens on loopback, two seats' sockets, and the folder of a bot."""
    with (
        ExitStack() as resources,
        socket.create_server(("127.0.0.1", 0)) as loopback,
        socket.socket(socket.AF_UNIX) as own,
        socket.socket(socket.AF_UNIX) as other,
    ):
        scratch = Scratch("selftest", short=True)
        resources.callback(scratch.remove)
        folder = scratch.path
        for number, seat in (("0", own), ("1", other)):
            (folder / number).mkdir(mode=0o700)
            seat.bind(str(folder / number / "s"))
            seat.listen()
        bot = folder / "bot"
        bot.mkdir()
        probe = bot / _PROBE.name
        probe.write_bytes(_PROBE.read_bytes())
        # The sandbox may run it as another user, whatever the umask.
        bot.chmod(0o755)
        probe.chmod(0o644)
        yield loopback.getsockname()[1], folder / "0" / "s", folder / "1" / "s", bot
