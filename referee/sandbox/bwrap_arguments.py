"""Build bubblewrap's arguments: mounts, environment and namespaces of a bot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from referee.sandbox.limits import ResourceLimits

BOT = Path("/bot")
SEAT = Path("/run/arena")
TMP = "/tmp"  # noqa: S108 -- the bot's own
SHM = "/dev/shm"  # noqa: S108 -- likewise

_INSIDE = "65534"
"""The bot's user and group as it sees them."""

_DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")
"""Not terminals, whose number is the machine's, nor /dev/zero, whose shared mappings are in no
process's account."""

_ETC = Path(__file__).with_name("etc")
_FROM_HOST_ETC = ("ld.so.cache", "alternatives")
"""Mounted from the host's /etc; the rest of /etc is our own."""


@dataclass(frozen=True, slots=True)
class Mount:
    """Mount a folder or file where a bot sees it.

    Attributes:
        source: the path outside; a symbolic link of the root folder stays a link.
        target: the path that the bot sees.
    """

    source: Path
    target: Path


def system_mounts() -> tuple[Mount, ...]:
    """Return every bot's mounts: programs and libraries of the system, and an /etc of our own."""
    names = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
    roots = [Path("/", name) for name in names]
    own = [Mount(file, Path("/etc", file.name)) for file in sorted(_ETC.iterdir())]
    host = [Mount(path, path) for name in _FROM_HOST_ETC if (path := Path("/etc", name)).exists()]
    return (*(Mount(root, root) for root in roots if root.exists()), *own, *host)


@dataclass(frozen=True, slots=True)
class BwrapArguments:
    """Build bubblewrap's arguments for one bot.

    Attributes:
        mounts: its folders and files besides /dev, /dev/shm and /tmp.
        environment: all of its environment.
        limits: the sizes of /tmp and /dev/shm, and of a build's folder.
        builds: whether /bot is an empty file system in memory that may be written.
    """

    mounts: tuple[Mount, ...]
    environment: Mapping[str, str]
    limits: ResourceLimits
    builds: bool = False

    def inner_arguments(self, *, info_fd: int | None, seccomp: int) -> list[str]:
        """Return the arguments that create the bot's namespaces and mounts.

        Args:
            info_fd: the descriptor to which bubblewrap writes the id of the namespace's first
                process; None inside an outer bubblewrap: every mount is at its target already.
            seccomp: the descriptor that holds the filter.
        """
        words = ["--unshare-user", "--uid", _INSIDE, "--gid", _INSIDE, "--unshare-ipc"]
        words += ["--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup"]
        words += ["--die-with-parent", "--new-session"]
        words += [] if info_fd is None else ["--info-fd", str(info_fd)]
        words += ["--seccomp", str(seccomp), "--clearenv"]
        for name, value in self.environment.items():
            words += ["--setenv", name, value]
        words += ["--perms", "0755", "--dir", "/dev"]
        for device in _DEVICES:
            words += ["--dev-bind", device, device]
        words += ["--size", str(self.limits.shm_bytes), "--perms", "1777", "--tmpfs", SHM]
        words += ["--size", str(self.limits.tmp_bytes), "--perms", "1777", "--tmpfs", TMP]
        words += self._mount_arguments(nested=info_fd is None)
        if self.builds:
            words += [
                "--size",
                str(self.limits.folder_bytes),
                "--perms",
                "0755",
                "--tmpfs",
                str(BOT),
            ]
        return [*words, "--remount-ro", "/", "--chdir", str(BOT)]

    def outer_arguments(self, *, info_fd: int) -> list[str]:
        """Return the arguments of an outer bubblewrap, run by root, with the same mounts.

        The inner bubblewrap needs /dev, /proc and /tmp; the bot sees none of them. The outer one
        has a pid namespace, too: without capabilities it may not kill a process of another user
        when we die, but it may end its namespace.
        """
        words = ["--unshare-pid", "--info-fd", str(info_fd), "--die-with-parent"]
        words += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        words += ["--cap-add", "CAP_SETPCAP"]
        words += ["--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"]
        words += ["--perms", "0755", "--dir", TMP]
        return [*words, *self._mount_arguments(nested=False), "--remount-ro", "/"]

    def _mount_arguments(self, *, nested: bool) -> Iterator[str]:
        made = {Path("/"), Path(TMP)}
        for mount in self.mounts:
            for folder in reversed(mount.target.parents):
                if folder not in made:
                    made.add(folder)
                    yield from ("--perms", "0755", "--dir", str(folder))
            made.add(mount.target)
            if mount.source == mount.target and mount.source.is_symlink():
                yield from ("--symlink", str(mount.source.readlink()), str(mount.target))
            else:
                source = mount.target if nested else mount.source
                yield from ("--ro-bind", str(source), str(mount.target))
