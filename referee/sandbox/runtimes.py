"""Find the interpreters that run bots, and the folders that these need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from referee.errors import InputError, InvalidBotError

if TYPE_CHECKING:
    from collections.abc import Mapping

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""PATH of a bot; /usr is the same inside the sandbox."""

_PROBE_SECONDS = 60.0

# Run by the interpreter that bots will run in. Sources without a compiled cache are compiled here,
# because bots see every folder read-only and would compile them at every start.
_PROBE = """
import compileall, json, sys
from pathlib import Path
import google.protobuf, grpc
import referee, referee.games, referee.sdk
package = Path(referee.__file__).parent
compileall.compile_dir(package, quiet=2)
files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
print(json.dumps({
    "executable": sys.executable,
    "prefixes": [sys.prefix, sys.base_prefix],
    "package": str(package),
    "files": [file for file in files if file and Path(file).is_absolute()],
}))
"""


@dataclass(frozen=True, slots=True)
class Runtime:
    """Describe how a program is run.

    Attributes:
        argv: replaces its name in a command.
        folders: mounted read-only at the same absolute paths as outside.
        environment: added to every bot's environment.
    """

    argv: tuple[str, ...]
    folders: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Runtimes:
    """Resolve the interpreters that bots may name in their commands.

    Attributes:
        by_name: runtimes by the program's name in ``bot.toml``.
    """

    by_name: Mapping[str, Runtime]

    @property
    def python(self) -> Runtime:
        """The interpreter in which the SDK can be imported."""
        return self.by_name["python"]

    def resolve(self, words: tuple[str, ...], folder: Path) -> Runtime:
        """Resolve a command inside the sandbox, where the folder is ``/bot``.

        A name with a slash is relative to the bot's folder; any other name is a runtime's, or that
        of a program of the system.

        Raises:
            InvalidBotError: there is no such program.
        """
        program, *rest = words
        if program in self.by_name:
            found = self.by_name[program]
            return Runtime((*found.argv, *rest), found.folders, found.environment)
        if "/" in program:
            return Runtime((f"/bot/{_own_program(program, folder)}", *rest))
        on_path = shutil.which(program, path=SYSTEM_PATH)
        if on_path is None:
            known = ", ".join(sorted(self.by_name))
            raise InvalidBotError(
                f"the command {program!r} of {folder.name}/bot.toml was not found; "
                f"there are {known}, what lies in {SYSTEM_PATH}, and files of the bot's folder"
            )
        return Runtime((on_path, *rest))


def find_runtimes(
    *, python: Path | None = None, node: Path | None = None, node_modules: Path | None = None
) -> Runtimes:
    """Find the interpreters that `SandboxSettings` names, and the folders that they need.

    Raises:
        InputError: an interpreter that was named cannot run bots.
    """
    found = {"python": python_runtime(python or Path(sys.executable))}
    found["python3"] = found["python"]
    on_path = node or shutil.which("node")
    if on_path is not None:
        found["node"] = node_runtime(Path(on_path), node_modules)
    return Runtimes(found)


@cache
def python_runtime(executable: Path) -> Runtime:
    """Return an interpreter with the folders that ``import referee.sdk`` reads.

    These are its installation, that of the virtual environment, and the sources of an editable
    install, which lie outside of both.

    Raises:
        InputError: it cannot import the SDK.
    """
    document = json.loads(_ask(executable, "-c", _PROBE))
    folders = [Path(document["package"])]
    for prefix in map(Path, document["prefixes"]):
        folders += [prefix, prefix.resolve()]
    seen = [*folders, Path("/usr")]
    for file in map(Path, document["files"]):
        if not any(file.is_relative_to(folder) for folder in seen):
            seen.append(file.parent)
            folders.append(file.parent)
    return Runtime((document["executable"],), outermost(folders))


@cache
def node_runtime(executable: Path, modules: Path | None) -> Runtime:
    """Return a Node with the packages of a ``node_modules`` folder.

    Raises:
        InputError: it does not run, or there is no such folder.
    """
    path = Path(_ask(executable, "--print", "process.execPath").strip())
    # Node looks for its own files two levels up: /opt/node/bin/node.
    folders = [path.parent.parent]
    environment = {}
    if modules is not None:
        if not modules.is_dir():
            raise InputError(f"{modules} is not a folder; name one that npm has filled")
        folders.append(modules.resolve())
        environment["NODE_PATH"] = str(modules.resolve())
    return Runtime((str(path),), outermost(folders), environment)


def outermost(folders: list[Path]) -> tuple[Path, ...]:
    """Return the folders that lie neither in another one nor below /usr, each once."""
    kept: list[Path] = []
    for folder in sorted(set(folders)):
        if not any(folder.is_relative_to(other) for other in (Path("/usr"), *kept)):
            kept.append(folder)
    return tuple(kept)


def _own_program(program: str, folder: Path) -> Path:
    # Not Path.resolve, which raises where links go round in circles: a build may leave such ones.
    home = Path(os.path.realpath(folder))
    inside = Path(os.path.realpath(folder / program))
    if not inside.is_relative_to(home) or not os.access(inside, os.X_OK):
        raise InvalidBotError(f"{program} is not an executable file of the bot's folder")
    return inside.relative_to(home)


def _ask(executable: Path, *words: str) -> str:
    try:
        answer = subprocess.run(
            [executable, *words],
            check=True,
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            cwd="/",
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise InputError(f"{executable} cannot run bots: {said[-1] if said else error}") from error
    return answer.stdout
