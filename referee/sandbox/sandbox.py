"""Turn a bot's command into a process with limits, an environment, and isolation or none.

`Sandbox` is the interface; `PlainSandbox` starts the bot as a plain process of our own user with
limits, which keeps honest bots in bounds and stops no hostile one. Isolation is
`referee.sandbox.bubblewrap`.
"""

from __future__ import annotations

import os
import shutil
import sys
from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from referee.errors import InvalidBotError, SandboxUnavailableError
from referee.sandbox.folder_use import prune
from referee.sandbox.limits import ResourceLimits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from referee.sandbox.cgroup import Cgroup

BRIDGE = ("-m", "referee.sdk.jsonl", "--")
"""The arguments with which an interpreter that has the SDK runs a bot of JSON lines."""


@dataclass(frozen=True, slots=True)
class BotCommand:
    """Describe the process to start.

    Attributes:
        words: the command of ``bot.toml``.
        folder: the bot's folder, in which the command starts.
        socket: the unix socket on which the referee waits for this process, alone in its folder;
            None when nobody waits.
        token: what the process must say to claim its seat.
        protocol: ``grpc``, or ``jsonl`` for a bot that needs the bridge.
        writable: whether the bot's folder may be written.
    """

    words: tuple[str, ...]
    folder: Path
    socket: Path | None = None
    token: str = ""
    protocol: str = "grpc"
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Launch:
    """Hold the arguments of `subprocess.Popen`, and what is needed to watch and end the process.

    Attributes:
        argv: the whole command.
        environment: the whole environment.
        folder: the working directory.
        limits: what the process may use.
        inherited: descriptors that the child inherits; closed by us once it has started.
        info: our end of a pipe through which bubblewrap tells the first process of the bot's pid
            namespace; None where there is no namespace. The reader closes it.
        cgroup: the control group that the process is born in.
        written: the folder that the process may write, and that has to be watched.
        held: what the process holds, closed when nothing of it is left.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    inherited: tuple[int, ...] = ()
    info: int | None = None
    cgroup: Cgroup | None = None
    written: Path | None = None
    held: ExitStack = field(default_factory=ExitStack)

    def close_inherited(self) -> None:
        """Close our copies of what the child inherits."""
        for descriptor in self.inherited:
            os.close(descriptor)

    def close_all(self) -> None:
        """Close everything: the process could not be started."""
        self.close_inherited()
        if self.info is not None:
            os.close(self.info)
        self.held.close()


class Sandbox(ABC):
    """Turn a bot's command into a launch.

    Attributes:
        tier: how strong the isolation is, stored with every match: ``none``, ``bwrap+watchdog``,
            ``bwrap+cgroup``.
        limits: what a bot may use.
        why: why the isolation is no stronger; empty when nobody looked.
    """

    tier: str
    limits: ResourceLimits
    why: str

    @abstractmethod
    def launch(self, command: BotCommand, *, limits: ResourceLimits | None = None) -> Launch:
        """Return what is to be run.

        Args:
            command: what a bot's folder says.
            limits: other ones than the sandbox's own.

        Raises:
            InvalidBotError: the command names no program.
            OSError: the machine is at its end.
        """

    @abstractmethod
    def require_isolation(self) -> None:
        """Refuse to run bots that nobody trusts, unless they are isolated.

        Raises:
            SandboxUnavailableError: they are not; the sentence says why, and what to do.
        """


class PlainSandbox(Sandbox):
    """Run a bot as a plain process with limits and a lower priority."""

    tier = "none"

    def __init__(self, *, limits: ResourceLimits | None = None, why: str = "") -> None:
        self.limits = limits or ResourceLimits()
        self.why = why

    def launch(self, command: BotCommand, *, limits: ResourceLimits | None = None) -> Launch:
        """Return the command behind ``nice`` and ``prlimit``, with a small environment."""
        limits = limits or self.limits
        words = resolve_program(command)
        if command.protocol == "jsonl":
            words = (sys.executable, *BRIDGE, *words)
        held = ExitStack()
        if command.writable:
            held.callback(prune, command.folder)
        return Launch(
            argv=(
                *("nice", "-n", str(limits.nice)),
                *("prlimit", f"--data={limits.data}", *limits.outer_words(), "--"),
                *words,
            ),
            environment={**_inherited_environment(), **bot_environment(command, command.socket)},
            folder=command.folder,
            limits=limits,
            written=command.folder if command.writable else None,
            held=held,
        )

    def require_isolation(self) -> None:
        """Refuse bots that nobody trusts: they would not be isolated."""
        raise SandboxUnavailableError(
            "submitted bots are not run, because this machine has no sandbox for them: "
            f"{self.why or 'none was asked for'}. Repair that, or give --allow-unsandboxed-bots "
            "where you trust every bot with all that your user may do"
        )


def resolve_program(command: BotCommand) -> tuple[str, ...]:
    """Return the command with its program as an absolute path.

    ``python`` and ``python3`` are the interpreter that the arena itself runs with, so that the SDK
    can be imported; a name with a slash is relative to the bot's folder; anything else is
    looked for on PATH.
    """
    program, *rest = command.words
    if program in {"python", "python3"}:
        return (sys.executable, *rest)
    if "/" in program:
        found = str(command.folder / program)
        if not os.access(found, os.X_OK):
            raise InvalidBotError(f"{program} in {command.folder.name} is not an executable file")
        return (found, *rest)
    on_path = shutil.which(program)
    if on_path is None:
        raise InvalidBotError(
            f"the command {program!r} of {command.folder.name}/bot.toml was not found; "
            "install it or give its path"
        )
    return (on_path, *rest)


def bot_environment(command: BotCommand, socket: Path | None) -> dict[str, str]:
    """Return what every bot process finds in its environment.

    Args:
        command: whose token is told.
        socket: where the bot finds the referee's socket.
    """
    found = {
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    if socket is not None:
        found["ARENA_BOT_ADDRESS"] = f"unix:{socket}"
        found["ARENA_BOT_TOKEN"] = command.token
    return found


def _inherited_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
