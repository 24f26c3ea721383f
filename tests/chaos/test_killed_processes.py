"""Processes of the service die in the middle of what they do, and nothing is lost or doubled."""

import asyncio
import hashlib
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import redis as blocking
from prometheus_client.parser import text_string_to_metric_families

from arena.db.scripts import load
from arena.queue.queues import Queues
from tests.redis_server import RedisServer
from tests.service_kit import Service, assert_sound, eventually, played, results_of, scrape

pytestmark = [pytest.mark.redis, pytest.mark.slow]


async def is_playing(queues: Queues) -> bool:
    """Whether a match is leased."""
    return (await queues.queue("quasenbo").counts()).leased > 0


async def test_workers_die_and_stop_in_mid_match(service: Service) -> None:
    """A killed worker's match is played by another, a stopped worker gives its own back."""
    service.add_bots("ada", "bob", "cid", pause=0.01)
    service.start("scheduler", "--matches", "8")
    first = service.start("worker")
    async with service.queues() as queues:
        await eventually(lambda: is_playing(queues))
        first.kill()
        second = service.start("worker", ARENA_GRACE="PT0.1S")
        third = service.start("worker")
        await eventually(lambda: _has_logged(service, 2, "match leased"))
        second.terminate()
        assert second.wait(30) == 0
        await eventually(lambda: _all_played(queues, 8))
        third.terminate()
        assert third.wait(30) == 0
        await assert_sound(service, queues, matches=8)
    expired = [each for each in service.logs() if each.get("attempt", 1) > 1]
    assert expired, "the killed worker's lease expired"


async def _all_played(queues: Queues, matches: int) -> bool:
    return await played(queues) >= matches


async def _has_logged(service: Service, process: int, event: str) -> bool:
    (path,) = service.folder.glob(f"{process}-*.log")
    return event in path.read_text()


async def test_the_server_is_killed_and_comes_back(
    service_of_each_kind: Service, durable_server: RedisServer
) -> None:
    """Worker and scheduler wait for the server and go on; no match is lost or counted twice."""
    service = service_of_each_kind
    service.add_bots("ada", "bob", "cid", pause=0.01)
    service.start("scheduler", "--matches", "8")
    service.start("worker")
    async with service.queues() as queues:
        await eventually(lambda: _all_played(queues, 2))
        await eventually(lambda: is_playing(queues))
        durable_server.kill()
        await asyncio.sleep(1.0)
        durable_server.start()
        await eventually(lambda: _all_played(queues, 8))
        await assert_sound(service, queues, matches=8)


async def test_one_of_two_schedulers_takes_over(service: Service) -> None:
    """The one that stands by goes on where the killed one was; nothing is scheduled twice."""
    service.add_bots("ada", "bob", "cid")
    both = [
        service.start("scheduler", "--matches", "6"),
        service.start("scheduler", "--matches", "6"),
    ]
    async with service.queues() as queues:
        await eventually(lambda: _is_active(service))
        service.start("worker", ARENA_SLOTS="1")
        await eventually(lambda: _all_played(queues, 1))
        active = next(each for each in service.logs() if each["event"] == "scheduler became active")
        killed = next(each for each in both if f":{each.pid}" in active["scheduler"])
        killed.kill()
        await eventually(lambda: _all_played(queues, 6))
        await assert_sound(service, queues, matches=6)
    epochs = [
        each["epoch"] for each in service.logs() if each["event"] == "scheduler became active"
    ]
    assert len(epochs) == len(set(epochs)) >= 2


async def _is_active(service: Service) -> bool:
    return any(each["event"] == "scheduler became active" for each in service.logs())


async def test_no_bot_pays_for_a_stopped_referee(service: Service) -> None:
    """A referee that froze in mid-turn, longer than the clock, forfeits nobody's game for it."""
    service.add_bots("ada", "bob", pause=0.15)
    service.start("scheduler", "--matches", "2", ARENA_TIME_CONTROL="5")
    worker = service.start("worker", ARENA_LEASE="PT30S", ARENA_SILENCE="PT25S")
    async with service.queues() as queues:
        await eventually(service.has_acted)
        worker.send_signal(signal.SIGSTOP)
        await asyncio.sleep(6)
        worker.send_signal(signal.SIGCONT)
        await eventually(lambda: _all_played(queues, 2))
        await assert_sound(service, queues, matches=2)
        assert [result.forfeits for result in await results_of(queues, "quasenbo")] == [(), ()]


async def test_a_worker_that_cannot_renew_drops_its_match(service: Service) -> None:
    """A worker that was stopped beyond its lease ends its bots; another plays the match."""
    service.add_bots("ada", "bob", pause=0.1)
    service.start("scheduler", "--matches", "1")
    first = service.start("worker")
    async with service.queues() as queues:
        await eventually(service.has_acted)
        first.send_signal(signal.SIGSTOP)
        service.start("worker")
        await eventually(lambda: _all_played(queues, 1))
        first.send_signal(signal.SIGCONT)
        await eventually(lambda: _has_logged(service, 1, '"result": "lost"'))
        await assert_sound(service, queues, matches=1)
    first.terminate()
    assert first.wait(30) == 0


async def test_a_commit_whose_answer_was_lost_counts_once(service: Service) -> None:
    """The worker repeats the commit under the same token, and hears that it had been made."""
    service.add_bots("ada", "bob")
    server = Path(service.redis_url.removeprefix("unix://"))
    script = load("queue", "commit").text
    with blocking.Redis(unix_socket_path=str(server)) as client:
        # The server's answer to an unknown script would be the one that is lost.
        client.script_load(script)
    async with cut_after(server, service.folder / "proxy", script) as cuts:
        service.start("scheduler", "--matches", "2")
        service.start("worker", ARENA_REDIS_URL=f"unix://{service.folder}/proxy")
        async with service.queues() as queues, service.workers() as workers:
            await eventually(lambda: _all_played(queues, 2))
            await assert_sound(service, queues, matches=2)
            assert cuts == [True]
            (port,) = [each.metrics_port for each in await workers.alive() if each.slots]

            async def counted() -> bool:
                return commits(scrape(port)) == {"already": 1, "committed": 1}

            await eventually(counted)


def commits(text: str) -> dict[str, float]:
    """The answers to commits that a process has counted."""
    return {
        sample.labels["answer"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "arena_commits_total"
    }


@asynccontextmanager
async def cut_after(server: Path, proxy: Path, script: str) -> AsyncIterator[list[bool]]:
    """Stand between a worker and its server, and lose the answer to one call of a script."""
    mark = hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest().encode()
    cuts: list[bool] = []
    tasks: set[asyncio.Task[None]] = set()

    async def pump(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, lossy: list[bool]
    ) -> None:
        try:
            while data := await reader.read(1 << 16):
                if lossy and lossy[0]:
                    break
                if mark in data and not cuts:
                    cuts.append(True)
                    lossy.append(True)
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(str(server))
        lossy: list[bool] = []
        for task in (
            asyncio.create_task(pump(reader, far_writer, lossy=lossy)),
            asyncio.create_task(pump(far_reader, writer, lossy=lossy)),
        ):
            tasks.add(task)

    listener = await asyncio.start_unix_server(serve, str(proxy))
    try:
        yield cuts
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # The transports close their sockets in the loop's next rounds.
        await asyncio.sleep(0.05)
