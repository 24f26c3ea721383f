"""A whole arena but for its scheduler, and authors who call it from folders of their own."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from arena.check.run import CheckOptions
from arena.cli.demo import add_bot
from arena.db.connection import connect
from arena.owners.tokens import Scope
from arena.pipeline.pipeline import Pipeline, PipelineOptions
from arena.pipeline.trial import TrialOptions, ValidationPlan
from arena.sample_bots import shipped_bot
from arena.worker.worker import Worker, WorkerOptions
from referee.clock import TimeControl
from referee.sandbox.sandbox import PlainSandbox
from tests.arena.api.calling import HOST, make_backend, start
from tests.redis_server import BINARIES, RedisServer
from tests.sample_bots.playing import NeverLate
from tests.service_kit import run_command

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from arena.backend.backend import Backend

CONTROL = TimeControl.parse("2+0.05")
OWNERS = ("ada", "bob")


@dataclass
class Author:
    """An author with a login and a folder, far from the arena."""

    name: str
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    stack: Stack | None = None

    def arena(self, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; whatever went wrong, no traceback is shown."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("ARENA_")}
        done = run_command(
            tuple(map(str, words)),
            environment={**clean, **self.environment, **environment},
            folder=self.folder,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, *words: str | Path) -> Any:
        """Run a command that must succeed, and return its JSON."""
        done = self.arena(*words, "--json")
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    def bot(self, name: str, act: str, *, before: str = "") -> Path:
        """Write a bot; ``act`` is the body of its method."""
        path = self.folder / name
        path.mkdir(exist_ok=True)
        (path / "bot.toml").write_text(
            f'name = "{name}"\nrulesets = ["quasenbo"]\ncommand = ["python", "bot.py"]\n'
        )
        body = "\n".join(f"        {line}" for line in act.splitlines())
        (path / "bot.py").write_text(
            "import pathlib\nfrom referee.sdk import Bot, run\n\n"
            f"{before}\n\nclass Mine(Bot):\n    def act(self, turn):\n{body}\n\n\nrun(Mine())\n"
        )
        return path

    def accepted(self, name: str, act: str) -> Path:
        """Write a bot and put it on its ladder without a trial, which is not what is tested."""
        folder = self.bot(name, act)
        assert self.stack is not None
        self.stack.add_bot(folder, owner=self.name)
        return folder


class Stack:
    """API, worker and pipeline on a thread of their own.

    Attributes:
        address: of the API.
        tokens: by owner.
    """

    def __init__(self, redis_url: str, folder: Path) -> None:
        self.address = ""
        self.tokens: dict[str, str] = {}
        self._backend: Backend
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(self._main(redis_url, folder),)
        )
        self._thread.start()
        assert self._ready.wait(60)

    def add_bot(self, folder: Path, *, owner: str) -> None:
        """Add a bot as an operator does, who trusts it."""
        adding = add_bot(self._backend, folder, owner=owner)
        asyncio.run_coroutine_threadsafe(adding, self._loop).result(60)

    def close(self) -> None:
        """Stop everything."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._loop.close()

    async def _main(self, redis_url: str, folder: Path) -> None:
        redis = await connect(redis_url)
        self._backend = backend = make_backend(redis, folder, boards=1, time_control=str(CONTROL))
        arena = await start(backend)
        for owner in OWNERS:
            await backend.registry.add_owner(owner)
            created = await backend.accounts.create(owner, scopes=frozenset({Scope.AUTHOR}))
            self.tokens[owner] = created.secret
        await backend.registry.add_owner("house")
        added = await backend.registry.add_folder(
            shipped_bot("first_legal"), owner="house", house=True
        )
        for ruleset in added.bot.rulesets:
            await backend.queues.open_ladder(ruleset)
            await backend.queues.ladder(ruleset).enter(added.bot.name)
        worker = Worker(
            backend,
            sandbox=PlainSandbox(),
            metrics=arena.metrics,
            metrics_port=0,
            options=WorkerOptions(
                name="w",
                slots=2,
                cores=2,
                parallel_games=lambda _: 4,
                allows_unsandboxed=True,
            ),
        )
        pipeline = Pipeline(
            backend,
            sandbox=PlainSandbox(),
            options=PipelineOptions(
                slots=2,
                cores=2,
                trial=TrialOptions(
                    plan=lambda _: ValidationPlan(boards=1, control=CONTROL, parallel_games=4),
                    check=CheckOptions(control=CONTROL),
                    allows_unsandboxed=True,
                ),
            ),
        )
        for part in (worker, pipeline):
            part._referee.monitor = NeverLate()
        self.address = f"http://{HOST}:{arena.port}"
        running = [asyncio.create_task(part.run(self._stopping)) for part in (worker, pipeline)]
        self._ready.set()
        await asyncio.gather(*running)
        await arena.server.stop(grace=timedelta(seconds=1))
        await redis.aclose()


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Return an arena that all tests of one process share; each makes bots of its own."""
    server = RedisServer(BINARIES["valkey"])
    server.settle()
    stack = Stack(server.url, tmp_path_factory.mktemp("stack"))
    yield stack
    stack.close()
    server.close()


def author(stack: Stack, owner: str, folder: Path) -> Author:
    """Return an author who is logged in."""
    folder.mkdir()
    environment = {"XDG_CONFIG_HOME": str(folder / "config")}
    found = Author(owner, folder, environment, stack)
    done = found.arena("login", stack.address, ARENA_TOKEN=stack.tokens[owner])
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture
def ada(stack: Stack, tmp_path: Path) -> Author:
    """Return an author."""
    return author(stack, "ada", tmp_path / "ada")


@pytest.fixture
def bob(stack: Stack, tmp_path: Path) -> Author:
    """Return another author."""
    return author(stack, "bob", tmp_path / "bob")


@pytest.fixture
def stranger(tmp_path: Path) -> Author:
    """Return somebody without a login."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    return Author("", folder, {"XDG_CONFIG_HOME": str(folder / "config")})
