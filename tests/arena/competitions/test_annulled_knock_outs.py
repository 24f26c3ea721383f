"""Annulled matches of knock-outs: followed until something was played on their results."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from arena.competitions.records import CompetitionState
from arena.errors import PreconditionError
from arena.formats.model import Format
from arena.queue.models import Committed, MatchPhase, MatchSpec
from tests.arena.competitions.annulling import (
    EIGHT,
    annul,
    annulments,
    begun,
    queued,
    replaced,
    require_each_match_counted_once,
    stood,
    taken,
    turn,
)
from tests.arena.competitions.hall import Hall, outcome

pytestmark = pytest.mark.redis


async def test_a_knock_out_drops_what_waits_on_an_annulled_result(hall: Hall) -> None:
    """The final that was queued leaves the queue, and whoever wins the replay plays it."""
    await begun(hall, Format.SINGLE_ELIMINATION, bots=4)
    await hall.play()
    await hall.tick()
    assert set(await queued(hall)) == {"t-cup.r2.t1"}
    winner = turn(hall, hall.played[0])
    assert await annul(hall, "t-cup.r1.t1")
    await replaced(hall)
    assert set(await queued(hall)) == {"t-cup.r1.t1.a2"}
    await hall.play()
    await replaced(hall)
    (final,) = (await queued(hall)).values()
    assert final.id == "t-cup.r2.t1.a2"
    assert winner in final.entrants
    assert (await hall.run()).ranking[0][0] == winner
    assert [spec.id for spec in hall.played[2:]] == ["t-cup.r1.t1.a2", "t-cup.r2.t1.a2"]
    await require_each_match_counted_once(hall)


async def test_a_final_that_is_being_played_on_an_annulled_result_is_dropped(hall: Hall) -> None:
    """Its worker is told so; where the commit comes first it still does not count."""
    await begun(hall, Format.SINGLE_ELIMINATION, bots=4)
    await hall.play()
    await hall.tick()
    queue = hall.queues.queue("quasenbo")
    lease = await taken(hall, "t-cup.r2.t1")
    assert await annul(hall, "t-cup.r1.t1")
    await hall.tick()
    assert await queue.phase("t-cup.r2.t1") is MatchPhase.CANCELLED
    reply = await queue.commit(lease, outcome(lease.spec, hall.strengths))
    assert reply.answer is Committed.CANCELLED
    await hall.play()
    await hall.tick()

    lease = await taken(hall, "t-cup.r2.t1.a2")
    assert await annul(hall, "t-cup.r1.t2")
    reply = await queue.commit(lease, outcome(lease.spec, hall.strengths))
    assert reply.answer is Committed.COMMITTED
    await replaced(hall)
    assert (await stood(hall))[1].keys() == {"t-cup.r1.t1"}
    # What does not count may be annulled for the ladder's sake, and holds nothing up.
    assert await annul(hall, "t-cup.r2.t1.a2")
    record = await hall.run(rounds=10)
    assert {each for each, why in record.retired_ids.items() if not why.annulled} == {
        "t-cup.r2.t1", "t-cup.r2.t1.a2"
    }  # fmt: skip
    await require_each_match_counted_once(hall)


async def test_a_knock_out_that_went_on_refuses_and_says_what_to_do(hall: Hall) -> None:
    """Whether or not the scheduler has seen it; taken back from the end, everything may be."""
    await begun(hall, Format.SINGLE_ELIMINATION, bots=8)
    await hall.play()
    await hall.tick()
    await hall.play(most=1)
    for _ in range(2):
        with pytest.raises(
            PreconditionError, match=r"has played t-cup\.r2\.t1; pause it"
        ) as refused:
            await annul(hall, "t-cup.r1.t1")
        assert refused.value.reason == "IN_COMPETITION"
        await replaced(hall)
    assert await annulments(hall) == set()
    assert "t-cup.r1.t1" in (await stood(hall))[1]

    await hall.competitions.pause("t-cup")
    assert await annul(hall, "t-cup.r2.t1")
    assert await annul(hall, "t-cup.r1.t1")
    await replaced(hall)
    assert (await stood(hall))[1].keys() == {f"t-cup.r1.t{table}" for table in (2, 3, 4)}
    await hall.competitions.resume("t-cup")
    await hall.run()
    assert [spec.id for spec in hall.played[5:]].count("t-cup.r2.t1.a2") == 1
    await require_each_match_counted_once(hall)


async def test_a_tie_break_is_annulled_before_the_match_that_it_decided(hall: Hall) -> None:
    """The match of the bracket is held by the one that was played because it tied."""
    await begun(hall, Format.SINGLE_ELIMINATION, bots=2)
    lease = await taken(hall, "t-cup.r1.t1")
    await hall.queues.queue("quasenbo").commit(lease, tied(lease.spec, hall.strengths))
    await hall.tick()
    await hall.play(most=1)
    assert hall.played[-1].id == "t-cup.r1.t1x"
    with pytest.raises(PreconditionError, match=r"has played t-cup\.r1\.t1x;"):
        await annul(hall, "t-cup.r1.t1")
    assert await annul(hall, "t-cup.r1.t1x")
    await hall.tick()
    assert set(await queued(hall)) == {"t-cup.r1.t1x.a2"}
    assert await annul(hall, "t-cup.r1.t1")
    await hall.tick()
    assert set(await queued(hall)) == {"t-cup.r1.t1.a2"}
    assert (await hall.run()).state is CompetitionState.ENDED


def tied(spec: MatchSpec, strengths: dict[str, float]) -> Any:
    """Return a result of two in which nobody is better."""
    found = outcome(spec, strengths)
    return replace(found, scores=((0, 500_000), (500_000, 0)), sets=(2,) * spec.boards)


async def test_groups_are_annulled_until_the_knock_out_is_played(hall: Hall) -> None:
    """A knock-out that waits is seeded anew; one that has begun to be played holds the groups."""
    await begun(hall, Format.GROUPS, bots=8, options={"groups": 2})
    for _ in range(2):
        await hall.play()
        await hall.tick()
    assert set(await queued(hall)) == {"t-cup.k.r1.t1", "t-cup.k.r1.t2"}
    assert await annul(hall, "t-cup.g2.r1.t1")
    await hall.tick()
    assert set(await queued(hall)) == {"t-cup.g2.r1.t1.a2"}
    await hall.play()
    await hall.tick()
    assert set(await queued(hall)) == {"t-cup.k.r1.t1.a2", "t-cup.k.r1.t2.a2"}
    await hall.play(most=1)
    with pytest.raises(PreconditionError, match=r"has played t-cup\.k\.r1\.t\d\.a2"):
        await annul(hall, "t-cup.g1.r1.t1")
    await hall.run()
    await require_each_match_counted_once(hall)


async def test_every_pairing_of_annulments_in_a_small_knock_out_counts_once(hall: Hall) -> None:
    """Whichever two first-round matches are annulled together, the bracket is played to its end."""
    await hall.add_bots(EIGHT)
    firsts = [f"r1.t{table}" for table in (1, 2, 3, 4)]
    for number, pair in enumerate(combinations(firsts, 2)):
        name = f"cup{number}"
        await hall.create(EIGHT, Format.SINGLE_ELIMINATION, name=name)
        await hall.tick()
        await hall.play()
        await hall.tick()
        for first in pair:
            assert await annul(hall, f"t-{name}.{first}")
        record = await hall.run(f"t-{name}")
        ids = {spec.id.removeprefix(f"t-{name}.") for spec in hall.played if name in spec.id}
        touched = {f"r2.t{1 + firsts.index(each) // 2}" for each in pair}
        assert {f"{each}.a2" for each in (*pair, *touched)} <= ids
        assert len(record.ranking[0]) == 8
