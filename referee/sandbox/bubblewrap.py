"""Isolate bots by bubblewrap: namespaces, a seccomp filter and limits.

bubblewrap never starts as root with a user namespace: the "nobody" inside would be the host's root.
As root, every running bot has a user id of its own on the host. Where that user cannot read what
the bot needs, an outer bubblewrap, run by root, mounts it first, without a user namespace and with
no more capabilities than it takes to become that user; the bot's own namespaces are inside of it.

There is no /proc inside: it would show the environment of the first process, and in containers it
is a new /proc that fails.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from referee.errors import InvalidBotError, SandboxUnavailableError
from referee.sandbox import build
from referee.sandbox.bwrap_arguments import BOT, SEAT, TMP, BwrapArguments, Mount, system_mounts
from referee.sandbox.host_users import (
    DEFAULT_USERS,
    UserPool,
    can_reach,
    chown_socket,
)
from referee.sandbox.limits import ResourceLimits
from referee.sandbox.runtimes import SYSTEM_PATH, Runtime, Runtimes, find_runtimes, outermost
from referee.sandbox.sandbox import (
    BRIDGE,
    BotCommand,
    Launch,
    Sandbox,
    bot_environment,
    close_descriptors,
)
from referee.sandbox.seccomp import seccomp_filter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from referee.sandbox.cgroup import CgroupParent

_TOOLS = ("bwrap", "nice", "prlimit", "setpriv", "sh")
_PACKAGES = {"bwrap": "bubblewrap", "nice": "coreutils", "sh": "dash"}


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """Configure how bots are isolated.

    Attributes:
        limits: of each bot.
        python: the interpreter of Python bots, in which the SDK is installed; our own if None.
        node: the interpreter of JavaScript bots; the one on PATH if None.
        node_modules: packages that every bot in JavaScript may require.
        users: the host's user ids that bots run as when we are root.
        cgroup: the parent of the bots' control groups; one that was delegated to us if None.
    """

    limits: ResourceLimits = field(default_factory=ResourceLimits)
    python: Path | None = None
    node: Path | None = None
    node_modules: Path | None = None
    users: range = DEFAULT_USERS
    cgroup: Path | None = None


class BubblewrapSandbox(Sandbox):
    """Run each bot in namespaces of its own, behind a seccomp filter.

    Attributes:
        runtimes: the interpreters that bots may name.
    """

    def __init__(
        self,
        settings: SandboxSettings | None = None,
        *,
        cgroups: CgroupParent | None = None,
        why: str = "",
    ) -> None:
        """Find the programs needed; `detect_sandbox` tests whether they work.

        Args:
            settings: how bots are isolated.
            cgroups: makes a control group for each bot, unless None.
            why: why there are no control groups.

        Raises:
            SandboxUnavailableError: a program is missing, or the architecture is unknown.
            InputError: an interpreter cannot run bots.
        """
        settings = settings or SandboxSettings()
        self.limits = settings.limits
        self.why = why
        self.tier = "bwrap+watchdog" if cgroups is None else "bwrap+cgroup"
        self.runtimes: Runtimes = find_runtimes(
            python=settings.python, node=settings.node, node_modules=settings.node_modules
        )
        self._tools = _find_tools()
        self._filter = seccomp_filter()
        self._system = system_mounts()
        self._cgroups = cgroups
        self._users = UserPool(settings.users) if os.geteuid() == 0 else None

    def launch(self, command: BotCommand, *, limits: ResourceLimits | None = None) -> Launch:
        """Return the command in its sandbox."""
        limits = limits or self.limits
        runtime = self._runtime(command)
        with ExitStack() as resources, ExitStack() as on_failure:
            user = self._allocate_user(command, resources)
            inherited: list[int] = []
            on_failure.callback(close_descriptors, inherited)
            info, info_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            on_failure.callback(os.close, info)
            inherited.append(info_fd)
            built = None
            if command.writable:
                built, built_fd = os.pipe2(os.O_CLOEXEC)
                on_failure.callback(os.close, built)
                inherited.append(built_fd)
                runtime = self._build_runtime(runtime, built_fd)
            arguments = BwrapArguments(
                self._mounts(command, runtime),
                _environment(command, runtime),
                limits,
                builds=command.writable,
            )
            words = (
                *self._enter(arguments, user, inherited, info_fd=info_fd),
                *(self._tools["prlimit"], *limits.inner_arguments(), *runtime.argv),
            )
            cgroup = None
            if self._cgroups is not None:
                cgroup = resources.enter_context(self._cgroups.make(limits))
                words = (*self._join_cgroup(cgroup.procs_file), *words)
            on_failure.pop_all()
            return Launch(
                argv=words,
                environment={},
                folder=Path("/"),
                limits=limits,
                inherited=tuple(inherited),
                info=info,
                cgroup=cgroup,
                built=built,
                resources=resources.pop_all(),
            )

    def require_isolation(self) -> None:
        """Allow untrusted bots: they are isolated."""

    def _runtime(self, command: BotCommand) -> Runtime:
        found = self.runtimes.resolve(command.words, command.folder)
        return found if command.protocol != "jsonl" else self._behind_python(BRIDGE, found)

    def _build_runtime(self, runtime: Runtime, descriptor: int) -> Runtime:
        # Isolated: nothing of the bot's folder is imported.
        return self._behind_python(("-I", "-m", build.__name__, str(descriptor)), runtime)

    def _behind_python(self, arguments: tuple[str, ...], runtime: Runtime) -> Runtime:
        """Return a command that our own Python starts."""
        python = self.runtimes.python
        return Runtime(
            (*python.argv, *arguments, *runtime.argv),
            outermost([*python.folders, *runtime.folders]),
            {**python.environment, **runtime.environment},
        )

    def _allocate_user(self, command: BotCommand, resources: ExitStack) -> int | None:
        """Return the bot's user id on the host, now the owner of its socket; None for our own."""
        if self._users is None:
            return None
        user, lock = self._users.allocate()
        resources.callback(lock.close)
        _check_readable(command.folder, user)
        if command.socket is not None:
            chown_socket(command.socket, user)
        return user

    def _mounts(self, command: BotCommand, runtime: Runtime) -> tuple[Mount, ...]:
        mounts = [*self._system, *(Mount(folder, folder) for folder in runtime.folders)]
        mounts.append(Mount(command.folder, build.SOURCE if command.writable else BOT))
        if command.socket is not None:
            mounts.append(Mount(command.socket.parent, SEAT))
        return tuple(mounts)

    def _enter(
        self, arguments: BwrapArguments, user: int | None, inherited: list[int], *, info_fd: int
    ) -> list[str]:
        """Return the words that start a command in the sandbox, when put before it."""
        tools = self._tools
        nested = user is not None and not all(can_reach(m.source, user) for m in arguments.mounts)
        words = [tools["nice"], "-n", str(arguments.limits.nice)]
        words += [tools["prlimit"], *arguments.limits.outer_arguments(), "--"]
        if nested:
            outer = _joined(arguments.outer_arguments(info_fd=info_fd))
            words += [tools["bwrap"], "--args", str(_add_memfd(outer, inherited)), "--"]
        if user is not None:
            words += [tools["setpriv"], "--reuid", str(user), "--regid", str(user)]
            words += ["--clear-groups"]
        if nested:
            words += ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
        seccomp = _add_memfd(self._filter, inherited)
        inner = arguments.inner_arguments(info_fd=None if nested else info_fd, seccomp=seccomp)
        return [*words, tools["bwrap"], "--args", str(_add_memfd(_joined(inner), inherited)), "--"]

    def _join_cgroup(self, procs_file: Path) -> tuple[str, ...]:
        # Joined before exec: children forked before the process is moved would stay outside.
        return (self._tools["sh"], "-c", 'echo $$ >"$0" && exec "$@"', str(procs_file))


def _find_tools() -> dict[str, str]:
    tools = {}
    for name in _TOOLS:
        # Not on our own PATH: an outer bubblewrap mounts the system's folders alone.
        path = shutil.which(name, path=SYSTEM_PATH)
        if path is None:
            package = _PACKAGES.get(name, "util-linux")
            raise SandboxUnavailableError(
                f"{name} was not found in {SYSTEM_PATH}; install {package}"
            )
        tools[name] = path
    return tools


def _environment(command: BotCommand, runtime: Runtime) -> dict[str, str]:
    socket = None if command.socket is None else SEAT / command.socket.name
    return {
        **bot_environment(command, socket),
        **runtime.environment,
        "PATH": SYSTEM_PATH,
        "HOME": TMP,
        "TMPDIR": TMP,
    }


def _check_readable(folder: Path, user: int) -> None:
    status = folder.stat()
    if status.st_uid != user and status.st_mode & 0o5 != 0o5:
        raise InvalidBotError(
            f"the sandbox runs bots as another user, who may not read {folder}; "
            f"chmod -R go+rX {folder}"
        )


def _joined(words: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def _add_memfd(data: bytes, inherited: list[int]) -> int:
    """Add a descriptor from which the data can be read to those of the child, and return it."""
    descriptor = os.memfd_create("arena", os.MFD_CLOEXEC)
    inherited.append(descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
