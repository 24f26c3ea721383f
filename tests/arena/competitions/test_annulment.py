"""Annulled matches of competitions: taken out, played again, counted once."""

import hashlib
import random
from datetime import timedelta

import pytest

from arena.api.competition_messages import match_message
from arena.backend.competitions import CompetitionMatch
from arena.competitions.records import CompetitionState, planned_id
from arena.competitions.report import reports
from arena.errors import PreconditionError
from arena.formats.model import Format
from arena.queue import rebuild
from tests.arena.competitions.annulling import (
    EIGHT,
    annul,
    annulments,
    begun,
    counted,
    queued,
    replaced,
    require_each_match_counted_once,
    stood,
    turn,
)
from tests.arena.competitions.hall import Hall

pytestmark = pytest.mark.redis

FORMATS: list[tuple[str, Format, dict[str, int]]] = [
    ("quasenbo", Format.ROUND_ROBIN, {}),
    ("quasenbo", Format.GAUNTLET, {"challengers": 2}),
    ("quasenbo", Format.SWISS, {"rounds": 4}),
    ("quasenbo", Format.SINGLE_ELIMINATION, {}),
    ("quasenbo", Format.DOUBLE_ELIMINATION, {}),
    ("quasenbo", Format.GROUPS, {"groups": 2}),
    ("pese-katesh", Format.ROUND_ROBIN, {"boards": 1}),
    ("pese-katesh", Format.SWISS, {"boards": 1}),
    ("pese-katesh", Format.SINGLE_ELIMINATION, {"boards": 1}),
]
DECIDING = {Format.SINGLE_ELIMINATION, Format.DOUBLE_ELIMINATION, Format.GROUPS}


async def test_an_annulled_match_is_taken_out_and_played_again(hall: Hall) -> None:
    """Table and ratings lose it; its replay has an id and boards of its own, and counts."""
    await begun(hall, Format.ROUND_ROBIN, bots=4, rated=True)
    await hall.play(most=5)
    await hall.tick()
    before, first = await counted(hall), hall.played[0]
    assert await annul(hall, first.id)
    report = await rebuild.replay(hall.queues.ladder("quasenbo"))
    assert (report.equal, report.annulled) == (True, 1)
    await hall.tick()
    after = await counted(hall)
    assert {each for each in before if after[each] == before[each] - 1} == set(first.entrants)
    await hall.run()
    (again,) = [spec for spec in hall.played if spec.id == "t-cup.r1.t1.a2"]
    assert (again.entrants, again.boards, again.rated) == (first.entrants, first.boards, True)
    assert again.seed not in {spec.seed for spec in hall.played if spec is not again}
    told = (await hall.competitions.rounds("t-cup"))["t-cup/1/r1.t1.a2"]
    assert told.commitment == hashlib.sha256(again.seed).hexdigest()
    assert told.seed == again.seed.hex()
    await require_each_match_counted_once(hall)
    assert set((await counted(hall)).values()) == {3}
    assert len(hall.played) == 7


async def test_an_annulment_is_followed_once(hall: Hall) -> None:
    """Saying it again changes nothing; the replay may be annulled in its turn."""
    await begun(hall, Format.ROUND_ROBIN, bots=4)
    await hall.play(most=1)
    await hall.tick()
    assert await annul(hall, "t-cup.r1.t1")
    assert not await annul(hall, "t-cup.r1.t1")
    await hall.tick()
    await hall.play()
    assert not await annul(hall, "t-cup.r1.t1")
    assert await annul(hall, "t-cup.r1.t1.a2")
    await hall.run()
    played = [spec.id for spec in hall.played if planned_id(spec.id) == "t-cup.r1.t1"]
    assert played == ["t-cup.r1.t1", "t-cup.r1.t1.a2", "t-cup.r1.t1.a3"]
    await require_each_match_counted_once(hall)
    record, results = await stood(hall)
    (told,) = [
        message
        for division in reports(record, results)
        for match in division.matches
        if (
            message := match_message(CompetitionMatch(record, match, results.get(match.id)))
        ).annulled
    ]
    assert (told.id, told.planned_id, list(told.annulled)) == (played[2], played[0], played[:2])
    assert told.scores[0] == results["t-cup.r1.t1"].pair_scores[0] / 1e6


@pytest.mark.parametrize(("ruleset", "format_", "options"), FORMATS)
async def test_whoever_dies_around_an_annulment_every_match_counts_once(
    hall: Hall, ruleset: str, format_: Format, options: dict[str, int]
) -> None:
    """Matches are annulled at any time while schedulers and workers come and go."""
    await hall.add_bots(EIGHT)
    await hall.create(EIGHT, format_, ruleset=ruleset, options=options)
    fate, left = random.Random(3), 12
    followed = refused = 0
    while (await hall.state()) is not CompetitionState.ENDED:
        if fate.random() < 0.6:
            await hall.tick()
        await hall.play(most=fate.randrange(3))
        if left and hall.played and fate.random() < 0.7:
            left -= 1
            try:
                followed += await annul(hall, fate.choice(hall.played[-6:]).id, ruleset=ruleset)
            except PreconditionError:
                refused += (await hall.state()) is not CompetitionState.ENDED
        if fate.random() < 0.3:
            hall.new_runner()
            await hall.lead()
        if fate.random() < 0.3 and (lease := await hall.lease()) is not None:
            await hall.queues.queue(ruleset).release(lease, reason="died")
    await require_each_match_counted_once(hall, ruleset)
    assert followed
    assert refused == 0 or format_ in DECIDING


async def test_a_swiss_keeps_the_rounds_that_have_begun(hall: Hall) -> None:
    """What was played on an annulled result stands, and the next round follows the new one."""
    await begun(hall, Format.SWISS, bots=8, options={"rounds": 3})
    await hall.play()
    await hall.tick()
    second = await queued(hall)
    await hall.play(most=2)
    await hall.tick()
    first = hall.played[0]
    winner = turn(hall, first)
    assert await annul(hall, first.id)
    await replaced(hall)
    waiting = await queued(hall)
    assert set(waiting) == {"t-cup.r1.t1.a2", "t-cup.r2.t3", "t-cup.r2.t4"}
    await hall.play()
    await replaced(hall)
    _, results = await stood(hall)
    assert {each: results[each].entrants for each in second} == {
        each: spec.entrants for each, spec in second.items()
    }
    points = {f"{bot}@1": 0.0 for bot in EIGHT}
    for result in results.values():
        for place, entrant in enumerate(result.entrants):
            points[entrant] += result.match.points(place)
    assert points[winner] == 1 + results["t-cup.r2.t3"].entrants.count(winner) + results[
        "t-cup.r2.t4"
    ].entrants.count(winner)
    met = {frozenset(result.entrants) for result in results.values()}
    third = {frozenset(spec.entrants) for spec in (await queued(hall)).values()}
    assert not third & met
    assert spread(third, points) == min(
        spread(pairs, points) for pairs in pairings(sorted(points)) if not pairs & met
    )
    await hall.run()
    await require_each_match_counted_once(hall)


def pairings(entrants: list[str]) -> list[set[frozenset[str]]]:
    """Return every way to pair entrants off."""
    if not entrants:
        return [set()]
    return [
        {frozenset({entrants[0], other}), *rest}
        for other in entrants[1:]
        for rest in pairings([each for each in entrants[1:] if each != other])
    ]


def spread(pairs: set[frozenset[str]], points: dict[str, float]) -> float:
    """Return the squared differences of points, summed up."""
    return sum((points[one] - points[other]) ** 2 for one, other in map(tuple, pairs))


async def test_a_round_of_a_swiss_that_has_not_begun_is_paired_anew(hall: Hall) -> None:
    """Nobody knew of it yet when the result that completed the round before was annulled."""
    await begun(hall, Format.SWISS, bots=4, options={"rounds": 2})
    await hall.play()
    kept, last = hall.played
    winner = turn(hall, last)
    assert await annul(hall, last.id)
    await hall.tick()
    assert set(await queued(hall)) == {f"{last.id}.a2"}
    await hall.play()
    await hall.tick()
    _, results = await stood(hall)
    won = results[kept.id].match.points(0) == 1
    other = kept.entrants[0 if won else 1]
    assert {winner, other} in [set(spec.entrants) for spec in (await queued(hall)).values()]
    assert (await hall.run()).retired_ids.keys() == {last.id}
    await require_each_match_counted_once(hall)


async def test_an_ended_competition_keeps_its_results(hall: Hall) -> None:
    """Refused in one sentence, and nothing is annulled."""
    await begun(hall, Format.ROUND_ROBIN, bots=4)
    await hall.run()
    with pytest.raises(PreconditionError, match="which has ended; its standings are final"):
        await annul(hall, "t-cup.r1.t1")
    assert await annulments(hall) == set()


async def test_a_cancelled_competition_plays_nothing_again(hall: Hall) -> None:
    """Its matches may be annulled for the ladder's sake."""
    await begun(hall, Format.SINGLE_ELIMINATION, bots=4, rated=True)
    await hall.play()
    await hall.tick()
    await hall.competitions.cancel("t-cup")
    await hall.tick()
    assert await annul(hall, "t-cup.r1.t1")
    await hall.tick()
    assert await hall.play() == 0
    assert (await rebuild.replay(hall.queues.ladder("quasenbo"))).equal


async def test_a_competition_does_not_end_before_an_annulment_is_followed(hall: Hall) -> None:
    """Not while one is being made, nor when it came just after the last result."""
    await begun(hall, Format.ROUND_ROBIN, bots=4)
    assert await hall.play() == 6
    await hall.competitions.hold("t-cup", "t-cup.r1.t2", duration=timedelta(minutes=10))
    await hall.tick()
    assert await hall.state() is CompetitionState.RUNNING
    assert await annul(hall, "t-cup.r1.t2")
    await hall.tick()
    assert set(await queued(hall)) == {"t-cup.r1.t2.a2"}
    await hall.play()
    await hall.competitions.hold("t-cup", "t-cup.r1.t2.a2", duration=timedelta(0))
    assert (await hall.run(rounds=1)).state is CompetitionState.ENDED
    await require_each_match_counted_once(hall)


async def test_the_cards_of_an_annulled_match_stay_sealed_with_its_round(hall: Hall) -> None:
    """Others of the round have yet to see them; the replay's cards are told after it."""
    await begun(hall, Format.ROUND_ROBIN, bots=4)
    await hall.play(most=1)
    await hall.tick()
    assert await annul(hall, "t-cup.r1.t1")
    await replaced(hall)
    assert await hall.competitions.is_sealed("t-cup.r1.t1")
    assert await hall.competitions.is_sealed("t-cup.r1.t1.a2")
    await hall.run()
    assert not await hall.competitions.is_sealed("t-cup.r1.t1")
    assert not await hall.competitions.is_sealed("t-cup.r1.t1.a2")


async def test_whoever_left_loses_the_match_that_was_annulled(hall: Hall) -> None:
    """It is not played again: a walkover takes its place."""
    await begun(hall, Format.ROUND_ROBIN, bots=4)
    await hall.play(most=1)
    await hall.tick()
    cheat, other = hall.played[0].entrants
    await hall.competitions.leave("t-cup", cheat)
    assert await annul(hall, "t-cup.r1.t1")
    await hall.run()
    result = (await stood(hall))[1]["t-cup.r1.t1"]
    assert result.is_walkover
    assert result.match.points(result.entrants.index(other)) == 1
    assert "t-cup.r1.t1.a2" not in {spec.id for spec in hall.played}
    await require_each_match_counted_once(hall)
