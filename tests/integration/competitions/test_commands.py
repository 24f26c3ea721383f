"""The commands of tournaments and leagues, on an arena of real processes."""

import asyncio

import pytest

from tests.service_kit import Service, eventually

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(600)]

BOTS = ["ada", "bob", "cid", "dan"]


async def test_the_commands_of_a_tournament_and_of_a_league(service: Service) -> None:
    """An operator plans, creates, pauses, resumes and shows, in words, JSON and CSV."""
    service.add_bots(*BOTS)
    service.serve()
    service.start("scheduler", "--matches", "1")
    plan = service.json("tournament", "plan", "quasenbo", "--entrants", "6", "--slots", "2")
    forecast = plan["forecast"]
    assert (forecast["match_count_min"], forecast["round_count"]) == (15, 5)
    service.json("tournament", "create", "cup", "quasenbo", "--format", "single_elimination")
    for bot in BOTS:
        service.json("tournament", "join", "cup", bot)
    service.json("tournament", "leave", "cup", "dan")
    assert service.json("tournament", "start", "cup")["competition"]["state"] == "running"
    assert service.json("tournament", "pause", "cup")["state"] == "paused"
    assert service.json("tournament", "resume", "cup")["state"] == "running"
    service.start("worker")
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
    assert [len(each["rows"]) for each in season["standings"]] == [4]
    (played,) = service.json("league", "show", "main")["seasons"]
    assert [len(each["versions"]) for each in played["divisions"]] == [4]


async def _has_ended(service: Service) -> bool:
    shown = await asyncio.to_thread(service.json, "league", "show", "main")
    await asyncio.sleep(0.5)
    return bool(shown["league"]["state"] == "ended")
