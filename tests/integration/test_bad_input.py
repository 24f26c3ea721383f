"""Bad input: one sentence that carries the fix, exit code 2, and nothing half done."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.redis_server import BINARIES, RedisServer
from tests.service_kit import Service, make_bot, own_arena

pytestmark = pytest.mark.redis


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """An arena without bots, whose API runs for all tests here."""
    with own_arena(tmp_path_factory.mktemp("served")) as service:
        service.serve()
        yield service


COMMANDS = (
    ("bots",),
    ("ladder",),
    ("ladder-rebuild",),
    ("matches",),
    ("match", "show", "ladder-000001"),
    ("queue", "show"),
    ("worker",),
    ("scheduler",),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_arena_runs(alone: Service, command: tuple[str, ...]) -> None:
    """Commands say what to start, and make no data folder."""
    answer = alone.run(*command)
    assert answer.returncode == 2, answer.stderr
    assert answer.stderr.startswith("arena: no arena runs in ")
    assert "`arena up`" in answer.stderr
    assert not (alone.folder / "data").exists()


def test_no_server_answers(alone: Service) -> None:
    """An address without a server behind it is named."""
    answer = alone.run("ladder-rebuild", "--redis-url", f"unix://{alone.folder}/nobody")
    assert answer.returncode == 2
    assert f"no Redis server answers at unix://{alone.folder}/nobody" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_the_whole_arena_does_not_start_without_its_server(alone: Service) -> None:
    """`arena up` starts nothing when the server of the settings does not answer."""
    answer = alone.run("up", "--redis-url", f"unix://{alone.folder}/nobody")
    assert answer.returncode == 2
    assert f"no Redis server answers at unix://{alone.folder}/nobody" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_an_address_that_is_none(alone: Service) -> None:
    """Text that is no address is refused with what is possible."""
    answer = alone.run("ladder-rebuild", "--redis-url", "localhost")
    assert answer.returncode == 2
    assert "redis://HOST:PORT/DB" in answer.stderr


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("ladder", "chess"), "there is no game 'chess'"),
        (("ladder", "quasenbo"), "there is no ladder of quasenbo; the ladders are: none yet"),
        (("ladder-rebuild", "quasenbo"), "there is no ladder of quasenbo"),
        (("match", "show", "ladder-9"), "there is no match 'ladder-9'"),
        (("match", "annul", "ladder-9", "--reason", "x"), "there is no match 'ladder-9'"),
        (("bot", "suspend", "nobody", "--reason", "x"), "there is no bot nobody"),
        (("queue", "retry", "ladder-9"), "there is no match 'ladder-9'"),
        (("bot", "add", "missing"), "missing is not a folder"),
        (("bot", "add", "."), ". holds no bot.toml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_names_that_do_not_exist(served: Service, command: tuple[str, ...], sentence: str) -> None:
    """Unknown ladders, matches, bots and folders are named."""
    answer = served.run(*command)
    assert answer.returncode == 2, answer.stderr
    assert answer.stderr.startswith(f"arena: {sentence}")


async def test_a_bot_of_another_owner_is_not_replaced(service: Service, tmp_path: Path) -> None:
    """A name belongs to its owner; the second one changes nothing."""
    service.serve()
    folder = make_bot(tmp_path, "ada")
    assert service.run("bot", "add", str(folder), "--owner", "ann").returncode == 0
    answer = service.run("bot", "add", str(folder), "--owner", "ben")
    assert answer.returncode == 2
    assert "belongs to ann" in answer.stderr
    (bot,) = service.json("bots")["bots"]
    assert bot["owner"] == "ann"


@pytest.mark.parametrize("command", ["worker", "scheduler", "up"])
def test_a_port_that_is_taken(alone: Service, command: str) -> None:
    """An explicit port in use is named, and no process is left."""
    server = RedisServer(BINARIES["valkey"])
    try:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            answer = alone.run(command, "--metrics-port", port, "--redis-url", server.url)
    finally:
        server.close()
    assert answer.returncode == 2, answer.stderr
    assert f"metrics cannot be served on 127.0.0.1:{port}" in answer.stderr


def test_two_arenas_in_one_folder(alone: Service) -> None:
    """The second `arena up` names the process that uses the folder, and harms nothing."""
    first = alone.start("up")
    while "The arena runs in" not in (alone.folder / "0-up.log").read_text():
        assert first.poll() is None
        time.sleep(0.05)
    answer = alone.run("up")
    assert answer.returncode == 2, answer.stderr
    assert f"process {first.pid} already runs the server" in answer.stderr
    assert alone.run("queue", "show").returncode == 0
    first.terminate()
    assert first.wait(60) == 0
