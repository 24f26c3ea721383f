"""A match annulled between two schedulers, on an arena of real processes."""

import asyncio

import pytest

from arena.formats.model import Format
from tests.arena.competitions.hall import Hall
from tests.service_kit import Service, results_of

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(300)]

BOTS = ["ada", "bob", "cid", "dan"]


async def test_the_next_scheduler_plays_an_annulled_match_again(service: Service) -> None:
    """One that dies has counted the match; one that follows finds the annulment in the log."""
    service.add_bots(*BOTS)
    service.serve()
    async with service.queues() as queues:
        first = Hall(queues._redis)
        first.strengths = dict.fromkeys(BOTS, 0.0)
        await first.create(BOTS, Format.ROUND_ROBIN, rated=True, options={"boards": 1})
        await first.tick()
        await first.play(most=1)
        await first.tick()
        assert (await first.competitions.results("t-cup")).keys() == {"t-cup.r1.t1"}
        annulled = service.json("match", "annul", "t-cup.r1.t1", "--reason", "a test")
        assert annulled["played_again_as"] == "t-cup.r1.t1.a2"
        service.start("scheduler", "--matches", "1")
        service.start("worker")
        shown = await asyncio.to_thread(service.json, "tournament", "show", "cup", "--wait")
        logged = {
            each.match_id: each
            for each in await results_of(queues, "quasenbo")
            if each.flow == "t:cup"
        }
    assert shown["competition"]["state"] == "ended"
    matches = {each["id"]: each for each in shown["matches"]}
    assert len(matches) == 6
    assert set(matches) == logged.keys() - {"t-cup.r1.t1"}
    assert matches["t-cup.r1.t1.a2"]["annulled"] == ["t-cup.r1.t1"]
    for match, told in matches.items():
        assert told["scores"][0] == logged[match].pair_scores[0] / 1e6
    seeds = {each["id"]: each["seed"] for each in shown["rounds"]}
    assert seeds.keys() == {"t-cup/1", "t-cup/2", "t-cup/3", "t-cup/1/r1.t1.a2"}
    assert len(set(seeds.values()) - {""}) == 4
    assert service.json("ladder-rebuild")["ladders"]["quasenbo"]["equal"]
