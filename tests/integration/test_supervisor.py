"""``arena up`` and ``arena demo``: every process is started, kept running, and ended."""

import contextlib
import json
import signal
import time
from pathlib import Path

import psutil
import pytest
import redis as blocking

from tests.service_kit import Process, Service, alive, eventually, make_bot

pytestmark = [pytest.mark.redis, pytest.mark.slow]


async def start_up(service: Service) -> Process:
    """Start `arena up` and wait until it has told its addresses."""
    process = service.start("up")
    log = service.folder / f"{len(service.processes) - 1}-up.log"

    async def told() -> bool:
        assert process.poll() is None, log.read_text()
        return "Add bots with" in log.read_text()

    await eventually(told)
    return process


def family(process: Process) -> dict[str, psutil.Process]:
    """Return the children of `arena up` by what they are."""
    names = {}
    for child in psutil.Process(process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess, IndexError):
            words = child.cmdline()
            names["server" if "server" in words[0] else words[3]] = child
    return names


async def test_ctrl_c_drains_and_keeps_the_data(alone: Service) -> None:
    """The first Ctrl-C ends everything in order; the next start finds the bots again."""
    first = await start_up(alone)
    children = [child.pid for child in family(first).values()]
    assert len(children) >= 3
    alone.add_bots("ada")
    first.send_signal(signal.SIGINT)
    assert first.wait(60) == 0
    assert alive(children) == []
    second = await start_up(alone)
    assert [bot["name"] for bot in alone.json("bots")["bots"]] == ["ada"]
    second.send_signal(signal.SIGTERM)
    assert second.wait(60) == 0


async def test_an_api_that_swells_is_started_anew(alone: Service) -> None:
    """Whoever finds a way to fill its memory does not fill the machine."""
    alone.start("up", ARENA_API_BYTES="1")

    async def restarted() -> bool:
        events = [line["event"] for line in alone.logs() if line.get("part") == "api"]
        return {"process used too much memory", "process died"} <= set(events)

    await eventually(restarted)


async def test_the_data_is_its_users_alone(alone: Service, tmp_path: Path) -> None:
    """Whatever the umask, nobody else reads seeds of matches to come, bots, logs or tokens."""
    data = alone.folder / "data"
    data.mkdir(mode=0o755)
    await start_up(alone)
    added = alone.run("bot", "add", str(make_bot(tmp_path, "ada")))
    assert added.returncode == 0, added.stderr
    open_to_others = [
        path.relative_to(data).as_posix()
        for path in (data, *data.rglob("*"))
        # Bots run as other users: what is unpacked may be read behind the folder's own wall.
        if path.relative_to(data).parts[:1] != ("cache",) and path.stat().st_mode & 0o077
    ]
    assert open_to_others == []


async def test_killed_parts_are_started_again(alone: Service) -> None:
    """Worker, scheduler and server come back, and matches go on."""
    up = await start_up(alone)
    alone.add_bots("ada", "bob")
    before = family(up)
    assert before.keys() >= {"server", "scheduler", "worker"}
    for child in before.values():
        child.kill()

    async def all_are_new() -> bool:
        after = family(up)
        return after.keys() == before.keys() and all(
            after[name].pid != before[name].pid for name in after
        )

    await eventually(all_are_new)

    async def two_played() -> bool:
        answer = alone.run("queue", "show", "--json")
        return answer.returncode == 0 and (
            sum(each["done"] for each in json.loads(answer.stdout)["queues"]) >= 2
        )

    await eventually(two_played)
    up.terminate()
    assert up.wait(60) == 0


async def test_no_orphans_when_the_supervisor_is_killed(alone: Service) -> None:
    """Scheduler, worker, bots and server end by themselves when their supervisor is killed."""
    up = await start_up(alone)
    alone.add_bots("ada", "bob", pause=0.2)
    await eventually(alone.has_acted)
    everyone = [each.pid for each in psutil.Process(up.pid).children(recursive=True)]
    assert len(everyone) >= 5, "a match is being played"
    up.kill()
    up.wait()

    async def all_gone() -> bool:
        return not alive(everyone)

    await eventually(all_gone, within=30)


def test_the_demo_plays_both_ladders(alone: Service, tmp_path: Path) -> None:
    """It ends after so many matches, with ladders that follow from their logs; nothing is left."""
    rulesets = ("quasenbo", "pese-katesh")
    bots = [
        str(make_bot(tmp_path, name, choice=-(number % 2), rulesets=rulesets))
        for number, name in enumerate(("ada", "bob", "cid", "dan"))
    ]
    begun = time.time()
    options = [word for bot in bots for word in ("--bot", bot)]
    place = tmp_path / "temporary"
    place.mkdir()
    answer = alone.run("demo", "--matches", "3", "--json", *options, TMPDIR=str(place))
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    assert document["matches"] == 3
    assert document["ladders"].keys() == set(rulesets)
    for ruleset in rulesets:
        rows = document["ladders"][ruleset]
        assert [row["place"] for row in rows] == [1, 2, 3, 4]
        assert rows[0].keys() >= {"bot", "rating", "strength_error", "match_count", "timeout_count"}
        assert document["bank_checks"][ruleset] == {"sum_plus_bank": 0, "balanced": True}
        assert document["replayed_equal"][ruleset]
    left = [
        each
        for each in psutil.process_iter(["cmdline", "create_time"])
        if each.info["create_time"] > begun and str(place) in " ".join(each.info["cmdline"] or ())
    ]
    assert left == []
    assert list(place.iterdir()) == []


def test_a_demo_keeps_its_folder_when_told(alone: Service, tmp_path: Path) -> None:
    """With a data folder the results stay, and lines tell the progress where no terminal is."""
    bots = [make_bot(tmp_path, name, rulesets=("quasenbo",)) for name in ("ada", "bob")]
    options = [word for bot in bots for word in ("--bot", str(bot))]
    answer = alone.run("demo", "--matches", "2", "--data-dir", "kept", *options)
    assert answer.returncode == 0, answer.stderr
    assert "quasenbo: 2 matches" in answer.stdout
    assert "live = replayed" in answer.stdout
    assert len(list((alone.folder / "kept/archive/replays/quasenbo").iterdir())) == 2
    socket = alone.folder / "kept/redis/socket"
    client = blocking.Redis(unix_socket_path=str(socket))
    with client, pytest.raises(blocking.ConnectionError):
        client.ping()
