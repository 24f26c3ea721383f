"""What a bot's command becomes before it runs: limits, environment, walls.

`Sandbox` is the interface; `PlainSandbox` starts the bot as a plain process of our own user with
resource limits, which keeps honest bots in bounds and stops no hostile one.
"""

from __future__ import annotations

import os
import shutil
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from referee.errors import InvalidBotError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MEMORY_BYTES = 1 << 30
OPEN_FILES = 128
FILE_BYTES = 32 << 20
NICE = 5
"""Bots run at a lower priority than the referee that measures them."""


@dataclass(frozen=True, slots=True)
class BotCommand:
    """What is to be started.

    Attributes:
        words: the command of ``bot.toml``.
        folder: the bot's folder, in which the command starts.
        socket: the unix socket on which the referee waits for this process.
        token: what the process must say to claim its seat.
    """

    words: tuple[str, ...]
    folder: Path
    socket: Path
    token: str


@dataclass(frozen=True, slots=True)
class Launch:
    """What `subprocess.Popen` is given.

    Attributes:
        argv: the whole command.
        environment: the whole environment.
        folder: the working directory.
        inherited: descriptors that the child inherits; closed by us once it has started.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    inherited: tuple[int, ...] = field(default=())


class Sandbox(ABC):
    """Turns a bot's command into a launch.

    Attributes:
        tier: how strong the walls are, stored with every match: ``none``, ``bwrap+watchdog``,
            ``bwrap+cgroup``.
    """

    tier: str

    @abstractmethod
    def launch(self, command: BotCommand) -> Launch:
        """Return what is to be run.

        Raises:
            InvalidBotError: the command names no program.
        """


class PlainSandbox(Sandbox):
    """A plain process with resource limits and a lower priority."""

    tier = "none"

    def launch(self, command: BotCommand) -> Launch:
        """Return the command behind ``nice`` and ``prlimit``, with a small environment."""
        limits = (
            "nice",
            "-n",
            str(NICE),
            "prlimit",
            f"--data={MEMORY_BYTES}",
            f"--nofile={OPEN_FILES}",
            f"--fsize={FILE_BYTES}",
            "--core=0",
            "--",
        )
        return Launch(
            argv=(*limits, *resolve_program(command)),
            environment=bot_environment(command, address=f"unix:{command.socket}"),
            folder=command.folder,
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
            raise InvalidBotError(f"{program} in {command.folder} is not an executable file")
        return (found, *rest)
    on_path = shutil.which(program)
    if on_path is None:
        raise InvalidBotError(
            f"the command {program!r} of {command.folder}/bot.toml was not found; "
            "install it or give its path"
        )
    return (on_path, *rest)


def bot_environment(command: BotCommand, *, address: str) -> dict[str, str]:
    """Return the whole environment of a bot process."""
    inherited = {
        name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ
    }
    return {
        **inherited,
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "ARENA_BOT_ADDRESS": address,
        "ARENA_BOT_TOKEN": command.token,
    }
