"""Isolate bots by bubblewrap: namespaces, a seccomp filter and limits.

bubblewrap never starts as root with a user namespace: the "nobody" inside would be the host's root.
As root, every running bot is a user of its own on the host. Where that user cannot read what the
bot needs, root's bubblewrap builds a view first in which it can, without a user namespace and with
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
from referee.sandbox.bwrap_arguments import BOT, SEAT, TMP, BwrapArguments, Mount, system_mounts
from referee.sandbox.folder_use import prune
from referee.sandbox.limits import ResourceLimits
from referee.sandbox.runtimes import SYSTEM_PATH, Runtime, Runtimes, find_runtimes, outermost
from referee.sandbox.sandbox import BRIDGE, BotCommand, Launch, Sandbox, bot_environment
from referee.sandbox.seat_users import (
    DEFAULT_USERS,
    SeatUsers,
    can_reach,
    hand_over,
    lend_folder,
    take_folder,
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
        limits: what a bot may use.
        python: the interpreter of Python bots, in which the SDK is installed; our own if None.
        node: the interpreter of JavaScript bots; the one on PATH if None.
        node_modules: packages that every bot in JavaScript may require.
        users: numbers of the host's users that bots run as when we are root.
        cgroup: a control group in which ours may be made; one that was delegated to us if None.
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
            settings: how bots are walled in.
            cgroups: makes a control group for each bot, where there is one that may.
            why: why there are no control groups.

        Raises:
            SandboxUnavailableError: a program is missing, or the architecture is unknown.
            InputError: an interpreter does not serve.
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
        self._users = SeatUsers(settings.users) if os.geteuid() == 0 else None

    def launch(self, command: BotCommand, *, limits: ResourceLimits | None = None) -> Launch:
        """Return the command in its sandbox."""
        limits = limits or self.limits
        runtime = self._runtime(command)
        with ExitStack() as held, ExitStack() as opened:
            user = self._lend_user(command, held)
            info, info_fd = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            opened.callback(os.close, info)
            inherited = _Inherited(opened)
            inherited.add(info_fd)
            arguments = BwrapArguments(
                self._mounts(command, runtime), _environment(command, runtime), limits
            )
            words = (
                *self._enter(arguments, user, inherited, info_fd=info_fd),
                *(self._tools["prlimit"], *limits.inner_words(), *runtime.argv),
            )
            cgroup = None
            if self._cgroups is not None:
                cgroup = held.enter_context(self._cgroups.make(limits))
                words = (*self._join_cgroup(cgroup.procs_file), *words)
            opened.pop_all()
            return Launch(
                argv=words,
                environment={},
                folder=Path("/"),
                limits=limits,
                inherited=tuple(inherited.descriptors),
                info=info,
                cgroup=cgroup,
                written=command.folder if command.writable else None,
                held=held.pop_all(),
            )

    def require_isolation(self) -> None:
        """Allow bots that nobody trusts: they are isolated."""

    def _runtime(self, command: BotCommand) -> Runtime:
        found = self.runtimes.resolve(command.words, command.folder)
        if command.protocol != "jsonl":
            return found
        python = self.runtimes.python
        return Runtime(
            (*python.argv, *BRIDGE, *found.argv),
            outermost([*python.folders, *found.folders]),
            {**python.environment, **found.environment},
        )

    def _lend_user(self, command: BotCommand, held: ExitStack) -> int | None:
        if self._users is None:
            if command.writable:
                held.callback(prune, command.folder)
            return None
        user, lock = self._users.lend()
        held.callback(lock.close)
        if command.writable:
            held.callback(take_folder, command.folder)
            held.callback(prune, command.folder)
            lend_folder(command.folder, user)
        _check_readable(command.folder, user)
        if command.socket is not None:
            hand_over(command.socket, user)
        return user

    def _mounts(self, command: BotCommand, runtime: Runtime) -> tuple[Mount, ...]:
        mounts = [*self._system, *(Mount(folder, folder) for folder in runtime.folders)]
        mounts.append(Mount(command.folder, BOT, writable=command.writable))
        if command.socket is not None:
            mounts.append(Mount(command.socket.parent, SEAT))
        return tuple(mounts)

    def _enter(
        self, arguments: BwrapArguments, user: int | None, inherited: _Inherited, *, info_fd: int
    ) -> list[str]:
        """Return the words that start a command in the sandbox, when put before it."""
        tools = self._tools
        viewed = user is not None and not all(can_reach(m.source, user) for m in arguments.mounts)
        words = [tools["nice"], "-n", str(arguments.limits.nice)]
        words += [tools["prlimit"], *arguments.limits.outer_words(), "--"]
        if viewed:
            view = inherited.data(_joined(arguments.outer_arguments(info_fd=info_fd)))
            words += [tools["bwrap"], "--args", str(view), "--"]
        if user is not None:
            words += [tools["setpriv"], "--reuid", str(user), "--regid", str(user)]
            words += ["--clear-groups"]
        if viewed:
            words += ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
        seccomp = inherited.data(self._filter)
        inner = arguments.inner_arguments(info_fd=None if viewed else info_fd, seccomp=seccomp)
        return [*words, tools["bwrap"], "--args", str(inherited.data(_joined(inner))), "--"]

    def _join_cgroup(self, procs_file: Path) -> tuple[str, ...]:
        # Born in its group: what a process forks before it is moved would stay outside.
        return (self._tools["sh"], "-c", 'echo $$ >"$0" && exec "$@"', str(procs_file))


class _Inherited:
    """Collect the descriptors that a child inherits."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened
        self.descriptors: list[int] = []

    def add(self, descriptor: int) -> None:
        self._opened.callback(os.close, descriptor)
        self.descriptors.append(descriptor)

    def data(self, data: bytes) -> int:
        descriptor = _readable(data)
        self.add(descriptor)
        return descriptor


def _find_tools() -> dict[str, str]:
    tools = {}
    for name in _TOOLS:
        # Not on our own PATH: the view holds what is the system's.
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


def _readable(data: bytes) -> int:
    """Return a new descriptor from which the data can be read; the caller closes it."""
    descriptor = os.memfd_create("arena", os.MFD_CLOEXEC)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
