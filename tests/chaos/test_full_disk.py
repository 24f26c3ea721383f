"""The disk is full: each part says so in a sentence, nothing is lost, and all goes on with room."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis.exceptions import RedisError

from arena.db.connection import connect
from arena.db.embedded import EmbeddedServer
from arena.queue import rebuild
from arena.queue.queues import Queues
from tests.chaos.full_disk import disks
from tests.redis_server import BINARIES, RedisServer
from tests.service_kit import (
    Process,
    Service,
    assert_sound,
    eventually,
    make_bot,
    played,
    results_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.chaos.full_disk import Disk

pytestmark = [pytest.mark.redis, pytest.mark.slow]

with tempfile.TemporaryDirectory() as _scratch:
    DISKS = disks(Path(_scratch))

ONE_DISK = list(DISKS)[-1:]
"""The real disk where one can be had: elsewhere writes fail likewise, with another number."""

EVERY_DISK = pytest.mark.parametrize("scene", DISKS, indirect=True)
"""Marks tests that try each number of the error, in a worker and in the API."""


@dataclass
class Scene(Service):
    """An arena whose data lie on a disk of their own, and its logs elsewhere.

    A process that copies stands before each log, so that no limit of its writer's concerns it.
    """

    disk: Disk = field(init=False)
    copiers: list[Process] = field(default_factory=list)

    def start(self, *arguments: str, **environment: str) -> Process:
        """Start a part."""
        number = len(self.processes)
        with (self.folder / f"{number}-{arguments[0]}.log").open("wb") as log:
            copier = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=log)
        assert copier.stdin is not None
        process = subprocess.Popen(
            [sys.executable, "-m", "arena", *arguments],
            env={**self.environment, **environment},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=copier.stdin,
            stderr=copier.stdin,
        )
        copier.stdin.close()
        self.copiers.append(copier)
        self.processes.append(process)
        return process

    def start_unheard(self, *arguments: str) -> Process:
        """Start a part whose log goes to a device that is always full."""
        with Path("/dev/full").open("wb") as full:
            process = subprocess.Popen(
                [sys.executable, "-m", "arena", *arguments],
                env=self.environment, cwd=self.folder, stdout=full, stderr=full,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def pids(self) -> list[int]:
        """Return the processes that were started here."""
        return [process.pid for process in self.processes]

    def said(self, event: str) -> list[dict[str, Any]]:
        """Return what was logged of an event."""
        return [each for each in self.logs() if each["event"] == event]

    async def logged(self, event: str) -> None:
        """Wait until an event is logged."""

        async def found() -> bool:
            return bool(self.said(event))

        await eventually(found)

    def close(self) -> None:
        """End everything, and give the disk back."""
        self.disk.free()
        super().close()
        for copier in self.copiers:
            copier.kill()
            copier.wait()
        self.disk.close()


def scene_on(kind: str, folder: Path, redis_url: str = "") -> Scene:
    """Return an arena whose data folder is a disk of this kind."""
    scene = Scene(folder, redis_url)
    scene.disk = DISKS[kind](folder / "data", scene.pids)
    return scene


@pytest.fixture(params=ONE_DISK)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    """An arena with a server of its own on another disk."""
    server = RedisServer(BINARIES["valkey"], durable=True)
    scene = scene_on(request.param, tmp_path, server.url)
    yield scene
    scene.close()
    server.close()


@pytest.fixture(params=ONE_DISK)
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    """An arena that is all on one disk, its server too."""
    scene = scene_on(request.param, tmp_path)
    yield scene
    scene.close()


@EVERY_DISK
async def test_results_wait_for_room(scene: Scene) -> None:
    """What was played while the disk was full is archived and committed, once, with room."""
    scene.add_bots("ada", "bob")
    scene.start("scheduler", "--matches", "6")
    worker = scene.start("worker")
    async with scene.queues() as queues:

        async def some() -> bool:
            return await played(queues) >= 2

        async def every() -> bool:
            return await played(queues) == 6

        await eventually(some)
        scene.disk.fill()
        await scene.logged("disk full")
        assert "because the disk is full" in scene.said("disk full")[0]["detail"]
        leased = len(scene.said("match leased"))
        await asyncio.sleep(2)
        assert len(scene.said("match leased")) <= leased + 1, "nothing new is begun"
        scene.disk.free()
        await eventually(every)
        worker.terminate()
        assert worker.wait(60) == 0
        await assert_sound(scene, queues, matches=6)
    assert scene.said("match voided") == []


async def assert_both_played(scene: Scene, worker: Process) -> None:
    """Wait for two matches, let the worker stop, and see that nothing else was left or lost."""
    async with scene.queues() as queues:

        async def every() -> bool:
            return await played(queues) == 2

        await eventually(every)
        worker.terminate()
        assert worker.wait(60) == 0
        await assert_sound(scene, queues, matches=2)


async def test_matches_wait_for_room_to_unpack_their_bots(scene: Scene) -> None:
    """What cannot be begun on a full disk is given back, and costs no attempt."""
    scene.add_bots("ada", "bob")
    worker = scene.start("worker")
    await scene.logged("worker started")
    scene.disk.fill()
    scene.start("scheduler", "--matches", "2")
    await scene.logged("disk full")
    scene.disk.free()
    await assert_both_played(scene, worker)
    assert scene.said("match voided") == []
    assert {each["attempt"] for each in scene.said("match leased")} == {1}


@EVERY_DISK
async def test_uploads_are_refused_in_a_sentence_and_taken_later(scene: Scene) -> None:
    """Author and operator are told why; nothing is half there, and the same works with room."""
    scene.start("serve", "--admin-token")
    await scene.logged("api started")
    admin = (scene.folder / "data" / "admin-token").read_text().strip()
    login = {
        "ARENA_SERVER": f"http://{scene.said('api started')[0]['address']}",
        "ARENA_TOKEN": admin,
    }
    folder = str(make_bot(scene.folder, "late"))
    scene.disk.fill()
    refused = scene.run("submit", folder, "--no-watch", **login)
    assert refused.returncode == 1, refused.stdout
    assert "the arena has no room on its disk now, and stored nothing" in refused.stderr
    assert scene.run("bot", "show", "late", **login).returncode == 2
    added = scene.run("bot", "add", folder, **login)
    assert added.returncode == 1
    assert "no room on its disk" in added.stderr
    assert added.stderr.count("\n") == 1
    scene.disk.free()
    usages = {each["kind"]: each["files"] for each in scene.json("queue", "show")["usages"]}
    assert usages["bots"] == 0
    taken = scene.run("submit", folder, "--no-watch", "--json", **login)
    assert taken.returncode == 0, taken.stderr
    answer = json.loads(taken.stdout)
    assert (answer["version"]["id"], answer["is_new"]) == ("late@1", True)


async def test_a_trial_waits_for_room(scene: Scene) -> None:
    """A version that waited while the disk was full is tried when there is room."""
    scene.start("serve", "--admin-token")
    await scene.logged("api started")
    login = {
        "ARENA_SERVER": f"http://{scene.said('api started')[0]['address']}",
        "ARENA_TOKEN": (scene.folder / "data" / "admin-token").read_text().strip(),
    }
    scene.start("pipeline", ARENA_ALLOW_UNSANDBOXED_BOTS="true")
    await scene.logged("pipeline started")
    scene.disk.fill()
    scene.processes[1].send_signal(signal.SIGSTOP)
    scene.disk.free()
    folder = str(make_bot(scene.folder, "patient"))
    assert scene.run("submit", folder, "--no-watch", **login).returncode == 0
    scene.disk.fill()
    scene.processes[1].send_signal(signal.SIGCONT)
    await scene.logged("trial failed")
    scene.disk.free()
    await scene.logged("trial ended")
    shown = scene.run("bot", "show", "patient@1", "--json", **login)
    version = json.loads(shown.stdout)["version"]
    assert version["state"] == "accepted"
    assert all(step["ok"] for step in version["steps"])


async def test_the_whole_arena_outlives_a_full_disk(whole: Scene) -> None:
    """Its server ends rather than lose what it has told; with room it is back, as is all else."""
    up = whole.start("up")
    await whole.logged("api started")
    whole.add_bots("ada", "bob")
    redis = await connect(EmbeddedServer(whole.folder / "data").url)
    try:
        queues = Queues(redis)

        async def two_more() -> bool:
            try:
                return await played(queues) >= before + 2
            except RedisError:
                return False

        before = 0
        await eventually(two_more)
        whole.disk.fill()
        await whole.logged("server died")
        whole.disk.free()
        first = whole.said("server died")[0]
        assert first["detail"], "why it ended"

        async def is_back() -> bool:
            try:
                return bool(await redis.ping())
            except RedisError:
                return False

        await eventually(is_back)
        before = await played(queues)
        assert before >= 2
        await eventually(two_more)
        report = await rebuild.replay(queues.ladder("quasenbo"))
        assert (report.balance, report.differences) == (0, ())
        results = await results_of(queues, "quasenbo")
        ids = [result.match_id for result in results]
        assert len(set(ids)) == len(ids)
        archive = whole.archive()
        for each in results:
            assert archive.get_replay("quasenbo", each.match_id, digest=each.digest)
        assert (await queues.queue("quasenbo").counts()).dead == 0
    finally:
        await redis.aclose()
    up.terminate()
    assert up.wait(90) == 0


async def test_a_log_that_cannot_be_written_stops_nothing(scene: Scene) -> None:
    """Matches are played and committed though no line of the log finds room."""
    scene.add_bots("ada", "bob")
    scene.start_unheard("scheduler", "--matches", "2")
    worker = scene.start_unheard("worker")
    await assert_both_played(scene, worker)
