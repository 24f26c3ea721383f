"""What Prometheus sees agrees with what was played."""

import asyncio
import json
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from arena.matches.replay_file import unpack
from arena.metrics import Metrics
from tests.metric_names import METRICS
from tests.service_kit import Service, eventually, played, results_of, scrape

pytestmark = pytest.mark.redis

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def samples(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Return the values of each sample's name by the values of its labels, in order of names."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = tuple(value for _, value in sorted(sample.labels.items()))
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


async def ports(service: Service) -> dict[str, int]:
    """Return where worker and scheduler serve their metrics."""
    async with service.workers() as workers:

        async def both() -> bool:
            return {each.kind for each in await workers.alive()} == {"worker", "scheduler"}

        await eventually(both)
        return {each.kind: each.metrics_port for each in await workers.alive()}


async def test_counters_agree_with_the_log(service: Service) -> None:
    """Matches, games, forfeits and turns are those of the results and their replays."""
    service.add_bots("ada", "bob")
    # This one is too slow for its clock.
    service.add_bots("cid", pause=0.4)
    service.start("scheduler", "--matches", "4", ARENA_TIME_CONTROL="1")
    service.start("worker")
    where = await ports(service)
    async with service.queues() as queues:

        async def all_counted() -> bool:
            counted = samples(scrape(where["worker"])).get("arena_matches_total", {})
            return counted.get(("committed", "quasenbo"), 0) == 4

        await eventually(all_counted)
        results = await results_of(queues, "quasenbo")
    counted = samples(scrape(where["worker"]))

    games: Counter[tuple[str, ...]] = Counter()
    forfeits: Counter[tuple[str, ...]] = Counter()
    for result in results:
        for termination, count in result.terminations.items():
            games["quasenbo", termination.value] += count
        for each in result.forfeits:
            forfeits[each.reason.value, "quasenbo"] += each.games
    assert nonzero(counted["arena_games_total"]) == games
    assert nonzero(counted["arena_forfeits_total"]) == forfeits
    assert forfeits["timeout", "quasenbo"] > 0

    archive = service.archive()
    replays = [
        unpack(archive.get_replay("quasenbo", each.match_id, digest=each.digest))
        for each in results
    ]
    turns = sum(
        asked is not None for replay in replays for game in replay.games for asked in game.times
    )
    assert counted["arena_turns_total"] == {("quasenbo",): turns}
    parts = {labels[0]: n for labels, n in counted["arena_turn_seconds_count"].items()}
    assert parts == dict.fromkeys(("queue", "transport", "think", "charged"), turns)
    assert nonzero(counted["arena_commits_total"]) == {("committed",): 4}
    assert counted["arena_match_seconds_count"] == {("quasenbo",): 4}


def nonzero(values: dict[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
    """Return the samples that are not 0."""
    return {labels: value for labels, value in values.items() if value}


async def test_names_and_labels_are_the_documented_ones(service: Service) -> None:
    """Worker and scheduler together serve every metric, and no other of the arena's."""
    service.add_bots("ada", "bob")
    service.start("scheduler", "--matches", "1")
    service.start("worker")
    where = await ports(service)
    async with service.queues() as queues:

        async def done() -> bool:
            return await played(queues) == 1

        await eventually(done)
        await asyncio.sleep(1.5)
    found: dict[str, set[str]] = {}
    for port in where.values():
        for family in text_string_to_metric_families(scrape(port)):
            name = family.name + ("_total" if family.type == "counter" else "")
            for sample in family.samples:
                if name.startswith("arena_"):
                    found.setdefault(name, set()).update(sample.labels.keys() - {"le"})
    assert found == METRICS


def test_two_processes_take_two_ports() -> None:
    """Without a port of its own each process takes the next free one."""
    one, other = Metrics(), Metrics()
    first = one.serve(host="127.0.0.1", port=None)
    second = other.serve(host="127.0.0.1", port=None)
    try:
        assert first.port != second.port
        assert "arena_voids_total" in scrape(second.port)
    finally:
        first.close()
        second.close()


def shipped_configuration(folder: Path, targets: list[int]) -> Path:
    """Copy what operators get for one machine, with nothing but the targets changed."""
    shutil.copytree(DEPLOY / "prometheus", folder)
    file = folder / "prometheus.yml"
    config = yaml.safe_load(file.read_text())
    (scraped,) = config["scrape_configs"]
    (static,) = scraped["static_configs"]
    assert static["targets"]
    static["targets"] = [f"127.0.0.1:{port}" for port in targets]
    file.write_text(yaml.safe_dump(config))
    return file


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Any]:
    """Starts Prometheus as shipped on targets; returns a function that asks its HTTP API."""
    binary = shutil.which("prometheus")
    if binary is None:
        pytest.skip("needs Debian's prometheus")
    started: list[subprocess.Popen[bytes]] = []

    def start(targets: list[int]) -> Any:
        config = shipped_configuration(tmp_path / "prometheus", targets)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        with (tmp_path / "prometheus.out").open("wb") as log:
            started.append(
                subprocess.Popen(
                    [
                        binary,
                        f"--config.file={config}",
                        f"--storage.tsdb.path={tmp_path}/tsdb",
                        f"--web.listen-address=127.0.0.1:{port}",
                    ],
                    stdout=log,
                    stderr=log,
                )
            )

        def ask(path: str) -> Any:
            """Return the data of an answer; None as long as there is none."""
            try:
                with urllib.request.urlopen(
                    f"http://127.0.0.1:{port}/api/v1/{path}", timeout=5
                ) as answer:
                    return json.load(answer)["data"]
            except OSError:
                return None

        return ask

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.slow
async def test_prometheus_finds_throughput_and_timeouts(service: Service, prometheus: Any) -> None:
    """The real Prometheus, as it is shipped, scrapes a running arena and watches its alerts."""
    service.add_bots("ada", "bob")
    service.add_bots("cid", pause=0.4)
    service.start("scheduler", ARENA_TIME_CONTROL="1")
    service.start("worker")
    where = await ports(service)
    ask = prometheus(list(where.values()))

    async def has(query: str) -> bool:
        answer = await asyncio.to_thread(ask, f"query?query={urllib.parse.quote(query)}")
        found = answer["result"] if answer else []
        return bool(found) and float(found[0]["value"][1]) > 0

    await eventually(lambda: has('sum(arena_forfeits_total{reason="timeout"})'))
    await eventually(lambda: has("sum by (ruleset) (rate(arena_turns_total[20s]))"))
    await eventually(lambda: has("sum(rate(arena_games_total[20s]))"))
    await eventually(lambda: has('sum(up{job="arena"}) == 2'))
    (group,) = (await asyncio.to_thread(ask, "rules"))["groups"]
    rules = yaml.safe_load((DEPLOY / "prometheus" / "arena.rules.yml").read_text())
    expected = [rule["alert"] for rule in rules["groups"][0]["rules"]]
    assert [rule["name"] for rule in group["rules"]] == expected
    assert {rule["health"] for rule in group["rules"]} <= {"ok", "unknown"}
