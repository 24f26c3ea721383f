"""Tournaments played by the real processes, some of which are killed."""

import asyncio
import random
from collections.abc import Iterator

import pytest

from arena.formats.model import Format
from tests.integration.competitions.storm import RULESETS, Case, House, Storm, Tournament
from tests.service_kit import eventually

pytestmark = [pytest.mark.redis, pytest.mark.slow]

FOUR = RULESETS[1]
CASES = [
    Case(format=Format.SWISS, entrants=4, matches=6, options={"rounds": 3}),
    Case(format=Format.DOUBLE_ELIMINATION, entrants=4, matches=6),
    Case(ruleset=FOUR, format=Format.SINGLE_ELIMINATION, entrants=5, matches=2),
    Case(format=Format.GROUPS, entrants=4, matches=3, options={"groups": 2, "advance": 1}),
]
"""Each way in which a round follows from the last one; a gauntlet and a round robin have none."""


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """An arena whose scheduler and worker live."""
    house = House(tmp_path_factory.mktemp("calm") / "arena", bots=6)
    asyncio.run(house.settle_in())
    house.start("scheduler")
    house.start("worker")
    yield house
    house.close()


@pytest.fixture(scope="module")
def stormy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """An arena that has nothing but its server."""
    house = House(tmp_path_factory.mktemp("stormy") / "arena", bots=6)
    asyncio.run(house.settle_in())
    yield house
    house.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_killed_schedulers_and_workers_leave_the_same_table(
    calm: House, stormy: House, case: Case
) -> None:
    """The same seed gives the same matches and the same table, in peace and under fire."""
    async with calm.opened() as one, stormy.opened() as other:
        expected, found = Tournament(one, case), Tournament(other, case)
        await expected.start(calm.bots)
        await found.start(stormy.bots)
        led = stormy.times_led()
        storm = Storm(stormy, found, random.Random(case.name))
        try:
            await storm.rage(matches=case.matches)
            await eventually(expected.has_ended)
        finally:
            storm.settle()
            await expected.abandon()
            await found.abandon()
        assert storm.leases_lost > 0
        assert stormy.times_led() >= led + 2

        told = await found.told()
        assert told == await expected.told()
        matches = [each["id"] for each in told["matches"]]
        assert len(matches) >= case.matches
        assert sorted(await found.played()) == sorted(await expected.played()) == sorted(matches)
        assert await found.left_over() == 0
