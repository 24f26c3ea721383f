import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sample_bots.playing import SAMPLE_BOTS, forfeits, play, printed

NODE_BOT = SAMPLE_BOTS / "node_random"

needs_node = pytest.mark.skipif(
    not (shutil.which("node") and shutil.which("npm")),
    reason="node and npm are not installed (Debian: apt-get install nodejs npm)",
)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a lock that test processes share."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def node_bot() -> Path:
    """A copy of the Node bot with its packages, kept for later runs and shared by all processes."""
    cache = Path(tempfile.gettempdir()) / f"arena-node-{os.getuid()}"
    cache.mkdir(mode=0o700, exist_ok=True)
    bot = cache / "node_random"
    files = [path for path in NODE_BOT.iterdir() if path.is_file()]
    with locked(cache):
        fresh = bot / "node_modules" / "lock-file-of-these"
        lock_file = (NODE_BOT / "package-lock.json").read_bytes()
        if not fresh.exists() or fresh.read_bytes() != lock_file:
            shutil.rmtree(bot, ignore_errors=True)
            bot.mkdir()
            for path in files:
                shutil.copy(path, bot)
            subprocess.run(
                ["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=bot, check=True
            )
            fresh.write_bytes(lock_file)
        for path in files:
            shutil.copy(path, bot)
    return bot


@pytest.mark.node
@needs_node
async def test_a_node_bot_plays_a_hundred_games_against_python(node_bot: Path) -> None:
    """The Node bot plays both games of rules with many games open, and forfeits none."""
    result = await play("quasenbo", node_bot, "random", boards=50)
    assert len(result.replay.games) == 100
    assert not forfeits(result), printed(result)
    assert [record.report.code for record in result.processes] == [0] * 4


@pytest.mark.node
@needs_node
async def test_a_node_bot_plays_pese_katesh(node_bot: Path) -> None:
    """The Node bot plays the other game, too."""
    result = await play(
        "pese-katesh:floors=1", node_bot, "random", "random", "random", boards=2, rotations=1
    )
    assert not forfeits(result), printed(result)


@pytest.mark.node
@needs_node
async def test_a_node_bot_is_reproducible(node_bot: Path) -> None:
    """Two matches with the same seed are the same, whatever the order of the answers."""
    matches = [
        await play("quasenbo", node_bot, boards=10, rotations=1, parallel_games=parallel)
        for parallel in (1, 10)
    ]
    first, second = ([game.actions for game in match.replay.games] for match in matches)
    assert first == second


def test_the_copy_of_the_proto_file_is_current() -> None:
    """The Node bot's folder is complete, and speaks the protocol of the repository."""
    original = SAMPLE_BOTS.parent / "proto" / "referee" / "v1" / "referee.proto"
    assert (NODE_BOT / "referee.proto").read_bytes() == original.read_bytes()


def test_the_lock_file_names_no_registry() -> None:
    """`npm ci` asks whatever registry is configured."""
    packages = json.loads((NODE_BOT / "package-lock.json").read_text())["packages"]
    assert len(packages) > 2
    assert [name for name, facts in packages.items() if "resolved" in facts] == []
    assert all("integrity" in facts for name, facts in packages.items() if name)
