"""Authors who watch what they sent while the arena goes away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.redis_server import BINARIES, RedisServer
from tests.service_kit import Service, eventually, make_bot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.redis, pytest.mark.slow]

IMPATIENT = """\
import sys
from datetime import timedelta
from arena.cli import main, remote
remote.PATIENCE = timedelta(seconds={seconds})
main()
"""
"""The command line, with another limit for how long an arena may be away."""


class Watcher:
    """An API as a process, and an author's command that watches it."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.api = service.start("serve", "--admin-token")
        self.port = 0
        self.token = ""
        self._commands: list[subprocess.Popen[bytes]] = []

    async def ready(self) -> None:
        """Wait until the API answers, and make an author's token."""

        async def told() -> bool:
            starts = [each for each in self.service.logs() if each["event"] == "api started"]
            self.port = int(starts[0]["address"].rpartition(":")[2]) if starts else 0
            return self.port > 0

        await eventually(told)
        admin = (self.service.folder / "data" / "admin-token").read_text().strip()
        words = ("token", "create", "ann", "--scope", "author", "--json")
        created = self.service.run(*words, ARENA_SERVER=self.address, ARENA_TOKEN=admin)
        assert created.returncode == 0, created.stderr
        self.token = json.loads(created.stdout)["secret"]

    @property
    def address(self) -> str:
        """Where the API is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self, *words: str, seconds: int) -> subprocess.Popen[bytes]:
        """Start a command; what it prints goes to two files."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("ARENA_")}
        with self.out.open("wb") as out, self.err.open("wb") as err:
            command = subprocess.Popen(
                [sys.executable, "-c", IMPATIENT.format(seconds=seconds), *words],
                env={**clean, "ARENA_SERVER": self.address, "ARENA_TOKEN": self.token},
                cwd=self.service.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        self._commands.append(command)
        return command

    @property
    def out(self) -> Path:
        """What the command printed."""
        return self.service.folder / "command.out"

    @property
    def err(self) -> Path:
        """What it complained of."""
        return self.service.folder / "command.err"

    def kill_api(self) -> None:
        """End the API as a failure would."""
        self.api.kill()
        self.api.wait()

    def close(self) -> None:
        """End every command that is left."""
        for command in self._commands:
            command.kill()
            command.wait()


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Watcher]:
    """An API over a server of its own."""
    server = RedisServer(BINARIES["valkey"], durable=True)
    service = Service(tmp_path, server.url)
    watcher = Watcher(service)
    yield watcher
    watcher.close()
    service.close()
    server.close()


async def test_a_submission_is_watched_on_when_the_arena_comes_back(watcher: Watcher) -> None:
    """A restart of the API within the patience costs the author no more than a line."""
    await watcher.ready()
    folder = make_bot(watcher.service.folder, "sturdy")
    command = watcher.start("submit", str(folder), seconds=120)

    async def uploaded() -> bool:
        return "sturdy@1: " in watcher.out.read_text()

    await eventually(uploaded)
    watcher.kill_api()

    async def noticed() -> bool:
        return "trying again" in watcher.err.read_text()

    await eventually(noticed)
    watcher.service.start("serve", "--port", str(watcher.port))
    watcher.service.start("pipeline", ARENA_ALLOW_UNSANDBOXED_BOTS="true")
    assert command.wait(120) == 0, watcher.err.read_text()
    assert watcher.out.read_text().splitlines()[-1] == (
        "sturdy@1 is accepted and plays on quasenbo"
    )
    assert set(watcher.err.read_text().splitlines()) == {
        f"the arena at {watcher.address} does not answer; trying again"
    }


async def test_a_submission_outlives_the_arena(watcher: Watcher) -> None:
    """When the arena stays away, the author reads what it has, that it is kept, and how to look."""
    await watcher.ready()
    folder = make_bot(watcher.service.folder, "sturdy")
    command = watcher.start("submit", str(folder), seconds=1)

    async def uploaded() -> bool:
        return "sturdy@1: " in watcher.out.read_text()

    await eventually(uploaded)
    watcher.kill_api()
    assert command.wait(60) == 1
    assert watcher.err.read_text().splitlines()[-1] == (
        f"arena: the arena at {watcher.address} does not answer any more; sturdy@1 is uploaded and "
        "is kept there, and `arena bot show sturdy@1` tells what became of it as soon as the arena "
        "is back"
    )
    watcher.service.start("serve", "--port", str(watcher.port))

    async def kept() -> bool:
        return command_of(watcher, "bot", "show", "sturdy@1").returncode == 0

    await eventually(kept)


async def test_a_challenge_outlives_the_arena(watcher: Watcher) -> None:
    """Likewise for a match that was asked for: it waits in its queue."""
    await watcher.ready()
    watcher.service.add_bots("bob")
    own = make_bot(watcher.service.folder, "mine")
    watcher.service.add_folders(own, owner="ann")
    words = ("challenge", "bob", "--ruleset", "quasenbo", "--bot", "mine", "--watch")
    command = watcher.start(*words, seconds=1)

    async def asked() -> bool:
        return watcher.out.read_text().startswith("challenge-")

    await eventually(asked)
    match = watcher.out.read_text().split()[0]
    watcher.kill_api()
    assert command.wait(60) == 1
    assert watcher.err.read_text().splitlines()[-1] == (
        f"arena: the arena at {watcher.address} does not answer any more; {match} is queued and is "
        f"kept there, and `arena match show {match}` tells what became of it as soon as the arena "
        "is back"
    )
    async with watcher.service.queues() as queues:
        assert (await queues.queue("quasenbo").counts()).ready == 1


def command_of(watcher: Watcher, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the author to its end."""
    return watcher.service.run(*words, ARENA_SERVER=watcher.address, ARENA_TOKEN=watcher.token)
