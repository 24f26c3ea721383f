"""An operator's day: every command against an arena that runs."""

import shutil
from pathlib import Path

import pytest

from arena.formats.model import Format
from tests.arena.competitions.hall import Hall
from tests.service_kit import Service, eventually, make_bot, played

pytestmark = pytest.mark.redis


async def test_from_no_bot_to_an_annulled_match(service: Service) -> None:
    """Bots are added, matches played, shown and annulled, and the ladder follows from its log."""
    service.add_bots("ada", "bob", "cid")
    service.serve()
    service.start("scheduler", "--matches", "3")
    worker = service.start("worker")
    async with service.queues() as queues:
        await eventually(lambda: _done(queues, 3))
    worker.terminate()
    assert worker.wait(30) == 0

    bots = service.json("bots")["bots"]
    assert [(bot["name"], bot["owner"], bot["state"]) for bot in bots] == [
        ("ada", "house", "active"),
        ("bob", "house", "active"),
        ("cid", "house", "active"),
    ]
    (ladder,) = service.json("ladder", "quasenbo")["ladders"]
    standings = ladder["entries"]
    assert [row["place"] for row in standings] == [1, 2, 3]
    assert sum(row["rating"] for row in standings) == pytest.approx(4500)
    assert sum(row["match_count"] for row in standings) in {0, 6}, "until they are measured"
    notes = {row["note"].partition(":")[0] for row in standings}
    assert notes <= {"", "thin", "unplayed", "separated"}

    matches = service.json("matches")["matches"]
    assert sorted(each["id"] for each in matches) == [f"ladder-00000{n}" for n in (1, 2, 3)]
    shown = service.json("match", "show", "ladder-000001")["match"]
    assert shown["game_count"] == 2
    assert sum(each["rating_change"] for each in shown["entrants"]) == pytest.approx(0)

    annulled = service.json("match", "annul", "ladder-000001", "--reason", "a test")
    assert (annulled["annulled"], annulled["played_again_as"]) == (True, "")
    assert annulled["match"]["annul_reason"] == "a test"
    assert service.json("match", "show", "ladder-000001") == {"match": annulled["match"]}
    again = service.run("match", "annul", "ladder-000001", "--reason", "once more")
    assert again.returncode == 1

    rebuilt = service.json("ladder-rebuild")["ladders"]["quasenbo"]
    assert rebuilt["equal"]
    assert (rebuilt["annulled"], rebuilt["balance"]) == (1, 0)

    suspended = service.json("bot", "suspend", "cid", "--reason", "a test")
    assert suspended["bot"]["state"] == "suspended"
    (ladder,) = service.json("ladder", "quasenbo")["ladders"]
    assert sorted(row["bot"] for row in ladder["entries"]) == ["ada", "bob"]
    assert service.json("bot", "resume", "cid")["bot"]["state"] == "active"


async def _done(queues: object, matches: int) -> bool:
    return await played(queues) >= matches  # type: ignore[arg-type]


async def test_a_match_of_a_tournament_is_annulled_and_played_again(service: Service) -> None:
    """The answer says as what; a tournament that has ended refuses with exit code 2."""
    async with service.queues() as queues:
        service.serve()
        hall = Hall(queues._redis)
        await hall.add_bots(["ada", "bob"])
        await hall.create(["ada", "bob"], Format.ROUND_ROBIN)
        await hall.tick()
        await hall.play(most=1)
        annul = ("match", "annul", "t-cup.r1.t1", "--reason", "a test")
        answer = service.run(*annul)
        assert answer.returncode == 0, answer.stderr
        assert "played again as t-cup.r1.t1.a2" in " ".join(answer.stdout.split())
        await hall.tick()
        shown = service.run("tournament", "show", "cup").stdout
        assert "t-cup.r1.t1 was annulled; t-cup.r1.t1.a2 takes its place" in shown
        await hall.run()
        refused = service.run("match", "annul", "t-cup.r1.t1.a2", "--reason", "a test")
        assert refused.returncode == 2
        assert "its standings are final" in " ".join(refused.stderr.split())


async def test_a_ladder_that_was_tampered_with_is_found_out(service: Service) -> None:
    """``arena ladder-rebuild`` names what does not follow from the log, and exits with 1."""
    service.add_bots("ada", "bob")
    async with service.queues() as queues:
        await queues._redis.hset("{l:quasenbo}:rating", "ada", 1_600_000_000)
    answer = service.run("ladder-rebuild")
    assert answer.returncode == 1
    assert "ada is 1600000000, the log says 1500000000" in answer.stderr


async def test_a_match_that_failed_through_our_own_fault_is_mended(service: Service) -> None:
    """Three voids make it dead, shown with its reason; retried after the repair, it is played."""
    service.add_bots("ada", "bob")
    replays = service.folder / "data" / "archive" / "replays"
    replays.write_text("in the way")
    service.serve()
    service.start("scheduler", "--matches", "1")
    service.start("worker")
    async with service.queues() as queues:

        async def is_dead() -> bool:
            return (await queues.queue("quasenbo").counts()).dead == 1

        await eventually(is_dead)
        shown = service.json("queue", "show")
        (queue,) = shown["queues"]
        assert (queue["ruleset"], queue["dead"]) == ("quasenbo", 1)
        (dead,) = queue["dead_matches"]
        refused = service.run("queue", "purge")
        assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
        assert (dead["match"], dead["voids"]) == ("ladder-000001", 3)
        assert "cannot be written" in dead["reason"]

        replays.unlink()
        assert service.json("queue", "retry", "ladder-000001") == {"match_count": 1}
        await eventually(lambda: _done(queues, 1))
    usages = {each["kind"]: each for each in service.json("queue", "show")["usages"]}
    assert usages["replays"]["files"] == 1
    assert service.json("queue", "purge", "--yes") == {"match_count": 0}


async def test_a_new_version_inherits_the_rating(service: Service, tmp_path: Path) -> None:
    """A changed folder becomes the next version; the same one again does not."""
    service.serve()
    folder = make_bot(tmp_path, "ada")
    added = service.json("bot", "add", str(folder), "--owner", "ann")
    assert added["bot"]["active_version"] == "ada@1"
    assert not service.json("bot", "add", str(folder), "--owner", "ann")["is_new"]
    shutil.rmtree(folder)
    make_bot(tmp_path, "ada", choice=-1)
    added = service.json("bot", "add", str(folder), "--owner", "ann")
    assert added["bot"]["active_version"] == "ada@2"
    (ladder,) = service.json("ladder")["ladders"]
    assert [row["rating"] for row in ladder["entries"]] == [1500]
