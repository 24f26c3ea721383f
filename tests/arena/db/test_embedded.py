"""The embedded server's life."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from arena.db.connection import connect
from arena.db.embedded import EmbeddedServer, find_binary
from arena.errors import ArenaError, InputError

pytestmark = pytest.mark.redis

SUPERVISOR = """
import sys, time
from pathlib import Path
from arena.db.embedded import EmbeddedServer
EmbeddedServer(Path(sys.argv[1])).start()
print("up", flush=True)
time.sleep(60)
"""


async def test_data_survive_a_stop(tmp_path: Path) -> None:
    """What was written is there after the next start, in the same object and in another."""
    server = EmbeddedServer(tmp_path)
    with server:
        assert server.running
        redis = await connect(server.url)
        await redis.set("key", "value")
        await redis.aclose()
    assert not server.running
    server.start()
    server.start()
    redis = await connect(server.url)
    assert await redis.get("key") == b"value"
    assert (await redis.config_get("appendfsync"))["appendfsync"] == "always"
    await redis.aclose()
    server.stop()
    server.stop()


@pytest.mark.parametrize("temporary", ["", "y" * 100], ids=["", "long temporary folder"])
async def test_a_long_folder_has_a_short_socket(
    tmp_path: Path, temporary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path over 107 bytes would fail; the socket then lies elsewhere, for us alone."""
    if temporary:
        (tmp_path / temporary).mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / temporary))
    folder = tmp_path / ("x" * 100)
    with EmbeddedServer(folder) as server:
        socket = Path(server.url.removeprefix("unix://"))
        assert len(os.fsencode(socket)) <= 107
        assert socket.parent.stat().st_mode & 0o077 == 0
        redis = await connect(server.url)
        assert await redis.ping()
        await redis.aclose()
    assert not socket.parent.exists()


def test_two_supervisors_cannot_share_a_folder(tmp_path: Path) -> None:
    """The second one is told which process holds the folder, and the first goes on."""
    with EmbeddedServer(tmp_path) as first:
        with pytest.raises(InputError, match=f"process {os.getpid()} already runs"):
            EmbeddedServer(tmp_path).start()
        assert first.running


def _supervisor(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SUPERVISOR, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process


async def test_the_server_of_a_killed_supervisor_is_taken_over(tmp_path: Path) -> None:
    """After a SIGKILL the next start stops the orphan and keeps its data."""
    supervisor = _supervisor(tmp_path)
    server = EmbeddedServer(tmp_path)
    redis = await connect(server.url)
    await redis.set("key", "value")
    info = await redis.info("server")
    await redis.aclose()
    supervisor.kill()
    supervisor.communicate()
    with server:
        redis = await connect(server.url)
        assert (await redis.info("server"))["process_id"] != info["process_id"]
        assert await redis.get("key") == b"value"
        await redis.aclose()


def test_a_server_that_dies_can_be_started_again(tmp_path: Path) -> None:
    """The supervisor sees that it is gone."""
    server = EmbeddedServer(tmp_path)
    server.start()
    assert server._process is not None
    os.kill(server._process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while server.running and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not server.running
    server.stop()
    with server:
        assert server.running


def test_a_server_that_does_not_start_tells_why(tmp_path: Path) -> None:
    """The message holds the exit code and the log's last words; nothing stays locked."""
    with pytest.raises(ArenaError, match="exit code 1: it wrote no log"):
        EmbeddedServer(tmp_path, binary=Path("/bin/false")).start()
    (tmp_path / "redis" / "appendonlydir").write_text("a file in the folder's place")
    with pytest.raises(ArenaError, match=r"exit code 1: .*append"):
        EmbeddedServer(tmp_path).start()
    (tmp_path / "redis" / "appendonlydir").unlink()
    with EmbeddedServer(tmp_path) as server:
        assert server.running


def test_a_missing_server_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The advice is what to install or to set."""
    monkeypatch.setattr("platform.machine", lambda: "sparc")
    with pytest.raises(InputError, match=r"no server for linux-sparc.*redis_url"):
        find_binary()
