"""What the commands of leagues and tournaments say, on an arena without workers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.arena.competitions.hall import Hall
from tests.redis_server import RedisServer
from tests.service_kit import Service

pytestmark = pytest.mark.redis

BOTS = [f"bot{number}" for number in range(8)]
AT_ONCE = ["--every", "at once", "--seasons", "1", "--division", "8", "--boards", "1"]


@pytest.fixture
def service(embedded_server: RedisServer, tmp_path: Path) -> Iterator[Service]:
    """The commands, on the hall's server."""
    service = Service(tmp_path, embedded_server.url)
    service.serve()
    yield service
    service.close()


def words(service: Service, *arguments: str) -> str:
    """Return what a command that must succeed prints, on one line."""
    answer = service.run(*arguments)
    assert answer.returncode == 0, answer.stderr
    return " ".join(answer.stdout.split())


async def test_a_league_says_what_it_waits_for(hall: Hall, service: Service) -> None:
    """From its creation to its end, in words and in JSON."""
    await hall.add_bots(BOTS)
    entering = [f"--bot={bot}" for bot in BOTS[:7]]
    created = words(service, "league", "create", "main", "quasenbo", *AT_ONCE, *entering)
    assert "no season yet; the next one begins at once, with 8 bots or more; 7 bots" in created
    await hall.tick()
    assert "it takes 8 bots, and 7 can play" in words(service, "league", "show", "main")
    assert "enters main" in words(service, "league", "join", "main", "bot7")
    await hall.tick()
    shown = words(service, "league", "show", "main")
    assert shown == "main: quasenbo, running; season 1 of 1; 8 bots"
    await hall.run("l-main.s1")
    await hall.tick()
    shown = service.json("league", "show", "main")
    league, (season,) = shown["league"], shown["seasons"]
    assert (league["state"], season["state"]) == ("ended", "ended")
    assert league["next_time"] is None
    assert words(service, "league", "show", "main").startswith("main: quasenbo, ended; season 1 of")
    assert service.json("league", "list") == {"leagues": [league]}


async def test_a_season_whose_divisions_were_joined_says_so(hall: Hall, service: Service) -> None:
    """Where the league is shown, and where the season is."""
    await hall.add_bots(BOTS)
    entering = [f"--bot={bot}" for bot in BOTS]
    created = words(
        service, "league", "create", "main", "quasenbo", "--division", "3", "--boards", "1",
        *entering,
    )  # fmt: skip
    assert "the next one begins by `arena league season main --start`" in created
    words(service, "league", "season", "main", "--start")
    await hall.tick()
    note = "division 3 would have 2 bots, too few for one of its own: they play in division 2"
    assert f"season 1: {note}" in words(service, "league", "show", "main")
    assert note in words(service, "league", "season", "main")
    (season,) = service.json("league", "show", "main")["seasons"]
    assert season["note"] == note
    assert service.json("league", "season", "main")["competition"]["note"] == note


async def test_a_tournament_that_cannot_start_leaves_nothing(hall: Hall, service: Service) -> None:
    """The name is free for the next try."""
    await hall.add_bots(BOTS[:2])
    create = [
        "tournament",
        "create",
        "cup",
        "quasenbo",
        "--boards",
        "1",
        "--start",
        "--bot",
        "bot0",
    ]
    refused = service.run(*create)
    assert refused.returncode == 2
    assert "cup cannot start: 2 at a table need 2 entrants" in " ".join(refused.stderr.split())
    assert service.json("tournament", "list") == {"competitions": []}
    assert service.json(*create, "--bot", "bot1")["competition"]["state"] == "running"
    assert (await hall.run()).ranking
