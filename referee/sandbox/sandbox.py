"""Turn a bot's command into the arguments of a process with limits, isolated or not.

`Sandbox` is the interface; `PlainSandbox` starts a process of our own user with limits, which stops
no hostile bot. Isolation is `referee.sandbox.bubblewrap`.
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
    from collections.abc import Iterable, Mapping
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
        socket: the unix socket to which the process connects, alone in its folder; or None.
        token: authenticates the process on that socket.
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
    """Hold the arguments of `subprocess.Popen`, and what monitors and ends the process.

    Attributes:
        argv: the whole command.
        environment: the whole environment.
        folder: the working directory.
        limits: of the process.
        inherited: descriptors for the child; closed here once it has started.
        info: our end of the pipe of bubblewrap's ``--info-fd``; None where there is no pid
            namespace. The reader closes it.
        cgroup: the control group in which the process starts.
        written: the folder that the process may write, whose size is monitored.
        built: our end of the pipe to which a build in a file system of its own writes what it made;
            None otherwise. The reader closes it.
        resources: closed when no process of the bot is left.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    inherited: tuple[int, ...] = ()
    info: int | None = None
    cgroup: Cgroup | None = None
    written: Path | None = None
    built: int | None = None
    resources: ExitStack = field(default_factory=ExitStack)

    def close_inherited(self) -> None:
        """Close our copies of the child's descriptors."""
        close_descriptors(self.inherited)

    def close_all(self) -> None:
        """Close all descriptors and resources: the process could not be started."""
        self.close_inherited()
        close_descriptors(each for each in (self.info, self.built) if each is not None)
        self.resources.close()


class Sandbox(ABC):
    """Turn a bot's command into a launch.

    Attributes:
        tier: how strong the isolation is, stored with every match: ``none``, ``bwrap+watchdog``,
            ``bwrap+cgroup``.
        limits: of each bot.
        why: why the isolation is no stronger; empty when none was tried.
    """

    tier: str
    limits: ResourceLimits
    why: str

    @abstractmethod
    def launch(self, command: BotCommand, *, limits: ResourceLimits | None = None) -> Launch:
        """Return the process to start; ``limits`` replace the sandbox's own.

        Raises:
            InvalidBotError: the command names no program.
            OSError: no descriptor, user id or control group is left.
        """

    @abstractmethod
    def require_isolation(self) -> None:
        """Refuse to run untrusted bots without isolation.

        Raises:
            SandboxUnavailableError: there is none; the message says why, and what to do.
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
        resources = ExitStack()
        if command.writable:
            resources.callback(prune, command.folder)
        return Launch(
            argv=(
                *("nice", "-n", str(limits.nice)),
                *("prlimit", f"--data={limits.data}", *limits.outer_arguments(), "--"),
                *words,
            ),
            environment={**_inherited_environment(), **bot_environment(command, command.socket)},
            folder=command.folder,
            limits=limits,
            written=command.folder if command.writable else None,
            resources=resources,
        )

    def require_isolation(self) -> None:
        """Refuse untrusted bots: there is no isolation."""
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
    """Return the environment of every bot; ``socket`` is the referee's as the bot sees it."""
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


def close_descriptors(descriptors: Iterable[int]) -> None:
    """Close file descriptors."""
    for descriptor in descriptors:
        os.close(descriptor)


def _inherited_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
