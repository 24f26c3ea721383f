"""Tournaments played by the real processes, some of which are killed."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.queue.queues import Queues
from tests.redis_server import BINARIES, RedisServer
from tests.service_kit import Service, eventually, results_of

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(600)]

BOTS = ["ada", "bob", "cid", "dan"]
CREATE = ["tournament", "create", "cup", "quasenbo", "--seed", "s", "--boards", "1", "--start"]


@pytest.fixture
def services(tmp_path: Path) -> Iterator[list[Service]]:
    """Two arenas, each on an embedded server of its own."""
    servers = [RedisServer(BINARIES["valkey"], durable=True) for _ in range(2)]
    services = []
    for number, server in enumerate(servers):
        folder = tmp_path / str(number)
        folder.mkdir()
        services.append(Service(folder, server.url))
    yield services
    for service, server in zip(services, servers, strict=True):
        service.close()
        server.close()


def standings(service: Service) -> list[tuple[Any, ...]]:
    """Return what the table says, and which matches it is made of."""
    shown = service.json("tournament", "show", "cup", "--wait")
    (division,) = shown["divisions"]
    rows = [(row["entrant"], row["points"], row["set_score"]) for row in division["standings"]]
    matches = [(each["match"], *each["entrants"], *each["scores"]) for each in division["matches"]]
    seeds = [(each["round"], each["seed"]) for each in shown["rounds"]]
    return [("ended", shown["state"]), *rows, *sorted(matches), *sorted(seeds)]


async def test_killed_schedulers_and_workers_leave_the_same_table(
    services: list[Service],
) -> None:
    """The same seed gives the same matches and the same table, in peace and under fire."""
    calm, stormy = services
    for service in services:
        service.add_bots(*BOTS)
        service.json(*CREATE, "--format", "double_elimination", *(f"--bot={bot}" for bot in BOTS))
    calm.start("scheduler", "--matches", "1")
    calm.start("worker")
    expected = await asyncio.to_thread(standings, calm)
    calm.close()

    schedulers = [stormy.start("scheduler", "--matches", "1") for _ in range(2)]
    worker = stormy.start("worker")
    async with stormy.queues() as queues:
        for count in (1, 4):
            await eventually(lambda count=count: _has(queues, count))  # type: ignore[misc]
            _kill(schedulers.pop(0), worker)
            schedulers.append(stormy.start("scheduler", "--matches", "1"))
            worker = stormy.start("worker")
        found = await asyncio.to_thread(standings, stormy)
        ids = [each.match_id for each in await results_of(queues, "quasenbo")]
    assert json.dumps(found) == json.dumps(expected)
    assert len(ids) == len(set(ids))


async def _has(queues: Queues, count: int) -> bool:
    results = await results_of(queues, "quasenbo")
    return sum(each.flow == "t:cup" for each in results) >= count


def _kill(*processes: subprocess.Popen[bytes]) -> None:
    for process in processes:
        process.kill()
        process.wait()


async def test_the_commands_of_a_tournament_and_of_a_league(services: list[Service]) -> None:
    """An operator plans, creates, pauses, resumes and shows, in words, JSON and CSV."""
    service = services[0]
    service.add_bots(*BOTS)
    service.start("scheduler", "--matches", "1")
    service.start("worker")
    plan = service.json("tournament", "plan", "quasenbo", "--entrants", "6", "--slots", "2")
    assert (plan["matches_least"], plan["rounds"]) == (15, 5)
    service.json("tournament", "create", "cup", "quasenbo", "--format", "single_elimination")
    for bot in BOTS:
        service.json("tournament", "join", "cup", bot)
    service.json("tournament", "withdraw", "cup", "dan")
    assert service.json("tournament", "start", "cup")["state"] == "running"
    assert service.json("tournament", "pause", "cup")["state"] == "paused"
    assert service.json("tournament", "resume", "cup")["state"] == "running"
    answer = service.run("tournament", "show", "cup", "--wait", "--cross")
    assert answer.returncode == 0, answer.stderr
    assert "┐" in answer.stdout
    assert "comes first" in answer.stdout
    table = service.run("tournament", "show", "cup", "--csv").stdout.splitlines()
    assert table[0].startswith("competition,rank,entrant,points")
    assert len(table) == 4
    refused = service.run("tournament", "start", "cup")
    assert refused.returncode == 2
    assert "cup is ended" in refused.stderr

    service.json("league", "create", "main", "quasenbo", "--every", "at once", "--seasons", "1",
                 "--everybody", "--boards", "1")  # fmt: skip
    assert service.run("league", "season", "main", "--start").returncode == 0
    await eventually(lambda: _has_ended(service), within=120)
    season = service.json("league", "season", "main")
    assert [len(each["standings"]) for each in season["divisions"]] == [4]
    (league,) = service.json("league", "show", "main")["leagues"]
    assert len(league["places"]) == 4


async def _has_ended(service: Service) -> bool:
    shown = await asyncio.to_thread(service.json, "league", "show", "main")
    await asyncio.sleep(0.5)
    return bool(shown["leagues"][0]["state"] == "ended")
