"""Runs the real service for tests: its processes, its commands, bots made for the purpose."""

import asyncio
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO
from unittest import mock

import psutil
import pytest

from arena import cli
from arena.archive.archive import Archive
from arena.cli.demo import HOUSE, add_bot
from arena.config import load
from arena.context import connected
from arena.db.connection import connect
from arena.db.presence import Presence
from arena.files import ADDRESS_FILE
from arena.queue import rebuild
from arena.queue.log_entries import LoggedResult
from arena.queue.queues import Queues
from tests.forked import ForkedCommand
from tests.redis_server import BINARIES, RedisServer

BOT = """\
import time
from pathlib import Path
from referee.sdk import Bot, Turn, run


class KitBot(Bot):
    def act(self, turn: Turn) -> str:
        if turn.ply > 3:
            Path("acted").touch()
        time.sleep({pause})
        return turn.legal_actions[{choice}]


run(KitBot())
"""
SHORT = {
    "ARENA_LEASE": "PT4S",
    "ARENA_RENEWAL": "PT0.5S",
    "ARENA_SILENCE": "PT3S",
    "ARENA_BACKOFF": "PT0.2S",
    "ARENA_GRACE": "PT20S",
    "ARENA_METRICS_PORT": "0",
    "ARENA_API_PORT": "0",
    "ARENA_WEB_PORT": "0",
    "ARENA_TIME_CONTROL": "5+0.05",
    "ARENA_BOARDS": "1",
    "ARENA_SLOTS": "2",
    "ARENA_SANDBOX": "false",
}
"""Leases and back-offs of seconds instead of minutes, any free ports, bots as plain processes."""


def make_bot(
    folder: Path,
    name: str,
    *,
    pause: float = 0.0,
    choice: int = 0,
    rulesets: Iterable[str] = ("quasenbo",),
) -> Path:
    """Write a bot that waits before each answer, then takes the action at an index."""
    path = folder / name
    path.mkdir(parents=True)
    (path / "bot.py").write_text(BOT.format(pause=pause, choice=choice))
    (path / "bot.toml").write_text(
        f'name = "{name}"\nrulesets = {json.dumps(list(rulesets))}\n'
        'command = ["python", "bot.py"]\n'
    )
    return path


CLIENTS = {
    *("bot", "bots", "challenge", "ladder", "league", "login", "match", "matches", "owners"),
    *("queue", "submit", "token", "tournament", "webhook", "workers"),
}
"""Commands that ask an API and start no process; `arena tournament play` is none of them."""

LOCAL = {"check", "games", "new", "play", "replay"}
"""Commands that need no arena; `arena replay ask` may take the terminal, and is a process."""


class _OneThread(io.StringIO):
    """A stream that keeps what one thread writes, and passes on what others do."""

    def __init__(self, other: TextIO) -> None:
        super().__init__()
        self._other = other
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        """Write a text."""
        mine = threading.get_ident() == self._thread
        return super().write(text) if mine else self._other.write(text)


def run_command(
    words: Sequence[str], *, environment: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run ``arena WORDS`` to its end: here what runs no part of an arena, else as a process."""
    runs_here = words[0] in CLIENTS | LOCAL and not {"ask", "play"} & {*words[1:2]}
    # The width of a terminal is read as the process starts.
    if not runs_here or "COLUMNS" in environment:
        return subprocess.run(
            [sys.executable, "-m", "arena", *words],
            env=environment,
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
    out, errors = _OneThread(sys.stdout), _OneThread(sys.stderr)
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(folder),
        Path(os.devnull).open() as none,
    ):
        patch.setattr(sys, "argv", ["arena", *words])
        patch.setattr(sys, "stdin", none)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", errors)
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        except BaseException:  # noqa: BLE001 -- whatever a command raises, it is told
            # As the interpreter ends a process.
            traceback.print_exc(file=errors)
            code = 1
    return subprocess.CompletedProcess(list(words), code, out.getvalue(), errors.getvalue())


Process = ForkedCommand | subprocess.Popen[bytes]
"""A process of an arena; as Popen where it needs more than a command's words and environment."""


@dataclass
class Service:
    """An arena of a test: its folder, its server's address, its processes."""

    folder: Path
    redis_url: str = ""
    processes: list[Process] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        """What every process and command of this arena runs with."""
        own = {"ARENA_DATA_DIR": str(self.folder / "data"), **SHORT}
        if self.redis_url:
            own["ARENA_REDIS_URL"] = self.redis_url
        clean = {key: value for key, value in os.environ.items() if not key.startswith("ARENA_")}
        return {**clean, **own}

    def start(self, *arguments: str, **environment: str) -> Process:
        """Start ``arena ARGUMENTS``; what it writes goes to a file of the folder."""
        process = ForkedCommand(
            arguments,
            environment={**self.environment, **environment},
            folder=self.folder,
            log=self.folder / f"{len(self.processes)}-{arguments[0]}.log",
        )
        self.processes.append(process)
        return process

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``arena ARGUMENTS`` to its end."""
        return run_command(
            arguments, environment={**self.environment, **environment}, folder=self.folder
        )

    def json(self, *arguments: str) -> Any:
        """Run a command that must succeed, and return its JSON."""
        answer = self.run(*arguments, "--json")
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    def logs(self) -> list[dict[str, Any]]:
        """What the processes logged."""
        # The last line may not be whole yet.
        lines = [
            line
            for path in sorted(self.folder.glob("*.log"))
            for line in path.read_text().rpartition("\n")[0].splitlines()
        ]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def add_bots(self, *names: str, **facts: Any) -> None:
        """Add bots of the house, as the API would; no API has to run."""
        folders = [
            make_bot(self.folder, name, choice=-(number % 2), **facts)
            for number, name in enumerate(names)
        ]
        self.add_folders(*folders)

    def add_folders(self, *folders: Path, owner: str = HOUSE) -> None:
        """Add bots by their folders."""

        async def add() -> None:
            settings = load(data_dir=self.folder / "data", redis_url=self.redis_url)
            async with connected(settings) as arena:
                for folder in folders:
                    await add_bot(arena, folder, owner=owner)

        # A test may itself run on a loop.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, add()).result()

    def serve(self) -> Process:
        """Start the API, and wait until commands find it."""
        process = self.start("serve", "--admin-token")
        deadline = time.monotonic() + 60
        while not (self.folder / "data" / ADDRESS_FILE).exists():
            assert process.poll() is None, "the API did not start"
            assert time.monotonic() < deadline, "the API never told its address"
            time.sleep(0.05)
        return process

    async def has_acted(self) -> bool:
        """Whether a bot that was made here is in the middle of a game."""
        return any(self.folder.glob("data/cache/*/acted"))

    def close(self) -> None:
        """End every process that is left."""
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()

    @asynccontextmanager
    async def queues(self) -> AsyncIterator[Queues]:
        """Connect to the queues."""
        redis = await connect(self.redis_url)
        try:
            yield Queues(redis)
        finally:
            await redis.aclose()

    @asynccontextmanager
    async def workers(self) -> AsyncIterator[Presence]:
        """Connect to the list of processes that are alive."""
        redis = await connect(self.redis_url)
        try:
            yield Presence(redis)
        finally:
            await redis.aclose()

    def archive(self) -> Archive:
        """Open the archive."""
        return Archive(str(self.folder / "data" / "archive"), cache=self.folder / "cache")


@contextmanager
def own_arena(folder: Path) -> Iterator[Service]:
    """Yield an arena on an embedded server of its own; both end with the block."""
    server = RedisServer(BINARIES["valkey"], durable=True)
    service = Service(folder, server.url)
    yield service
    service.close()
    server.close()


async def eventually(fact: Callable[[], Awaitable[object]], *, within: float = 120.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + within
    while not await fact():
        assert time.monotonic() < deadline, "it never came to hold"
        await asyncio.sleep(0.05)


async def results_of(queues: Queues, ruleset: str) -> list[LoggedResult]:
    """Return every result in a ladder's log."""
    entries = await queues.ladder(ruleset).entries(count=100_000)
    return [entry for entry in entries if isinstance(entry, LoggedResult)]


async def played(queues: Queues, ruleset: str = "quasenbo") -> int:
    """Return how many matches of a ladder are done."""
    return (await queues.queue(ruleset).counts()).done


async def assert_sound(service: Service, queues: Queues, *, matches: int) -> None:
    """Each of so many matches counts once, is archived, and the ratings follow from the log."""
    results = await results_of(queues, "quasenbo")
    ids = [result.match_id for result in results]
    assert sorted(ids) == [f"ladder-{number:06d}" for number in range(1, matches + 1)]
    counts = await queues.queue("quasenbo").counts()
    waiting = (counts.ready, counts.delayed, counts.paused, counts.leased, counts.dead)
    assert waiting == (0, 0, 0, 0, 0)
    report = await rebuild.replay(queues.ladder("quasenbo"))
    assert report.balance == 0
    assert report.differences == ()
    archive = service.archive()
    for each in results:
        assert archive.get_replay("quasenbo", each.match_id, digest=each.digest)


def scrape(port: int) -> str:
    """Return what a process serves on /metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


def alive(pids: Iterable[int]) -> list[int]:
    """Return those processes that run."""
    return [pid for pid in pids if psutil.pid_exists(pid) and not _is_zombie(pid)]


def _is_zombie(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
