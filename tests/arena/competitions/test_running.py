"""Running tournaments: every format to its end, with nothing lost or doubled."""

import hashlib
import json
import random
from datetime import timedelta

import pytest

from arena.bots.registry import BotState
from arena.competitions.records import CompetitionState
from arena.competitions.report import reports
from arena.competitions.store import StaleEpochError
from arena.formats.model import Format
from arena.webhooks.store import Webhooks
from tests.arena.competitions.hall import SEED, Hall

pytestmark = pytest.mark.redis

SIXTEEN = [f"bot{number:02}" for number in range(16)]
TWO = [
    (Format.ROUND_ROBIN, {}, 120),
    (Format.GAUNTLET, {"challengers": 2}, 28),
    (Format.SWISS, {}, 32),
    (Format.SINGLE_ELIMINATION, {}, 15),
    (Format.DOUBLE_ELIMINATION, {}, 30),
    (Format.GROUPS, {"groups": 4}, 31),
]
FOUR = [
    (Format.ROUND_ROBIN, {"boards": 1}, 60),
    (Format.SWISS, {"boards": 1}, 16),
    (Format.SINGLE_ELIMINATION, {"boards": 2}, 7),
    (Format.GROUPS, {"boards": 1, "groups": 4}, 15),
]
ALL = [("quasenbo", *each) for each in TWO] + [("pese-katesh", *each) for each in FOUR]


@pytest.mark.parametrize(("ruleset", "format_", "options", "matches"), ALL)
async def test_every_format_ends_with_a_plausible_winner(
    hall: Hall, ruleset: str, format_: Format, options: dict[str, int], matches: int
) -> None:
    """Sixteen bots play; each match is played once, and one of the strongest wins."""
    await hall.add_bots(SIXTEEN)
    await hall.create(SIXTEEN, format_, ruleset=ruleset, options=options)
    record = await hall.run()
    assert record.state is CompetitionState.ENDED
    ids = [spec.id for spec in hall.played if not spec.id.endswith("x")]
    assert len(ids) == len(set(ids))
    assert len(ids) in {matches, matches + (format_ is Format.DOUBLE_ELIMINATION)}
    assert record.ranking[0][0] in {f"{bot}@1" for bot in SIXTEEN[:4]}
    results = await hall.competitions.results("t-cup")
    assert set(results) == {spec.id for spec in hall.played}
    (report,) = reports(record, results)
    assert report.finished
    assert [row.standing.entrant for row in report.rows] == list(record.ranking[0])


@pytest.mark.parametrize(("ruleset", "format_", "options", "matches"), ALL)
async def test_deaths_of_schedulers_and_workers_change_nothing(
    hall: Hall, ruleset: str, format_: Format, options: dict[str, int], matches: int
) -> None:
    """Whoever dies when: the same matches are played, with the same table at the end."""
    del matches
    await hall.add_bots(SIXTEEN)
    await hall.create(SIXTEEN, format_, ruleset=ruleset, options=options)
    calm = await hall.run()
    in_peace = {spec.id: (spec.entrants, spec.seed) for spec in hall.played}

    await hall.redis.flushall()
    hall.played.clear()
    hall.new_runner()
    await hall.lead()
    await hall.add_bots(SIXTEEN)
    await hall.create(SIXTEEN, format_, ruleset=ruleset, options=options)
    fate = random.Random(1)
    while (await hall.state()) is not CompetitionState.ENDED:
        await hall.tick()
        await hall.play(most=fate.randrange(4))
        if fate.random() < 0.4:
            # The scheduler dies, and another follows.
            hall.new_runner()
            await hall.lead()
        if fate.random() < 0.4 and (lease := await hall.lease()) is not None:
            # A worker dies with what it has leased.
            await hall.queues.queue(ruleset).release(lease, reason="died")
    assert {spec.id: (spec.entrants, spec.seed) for spec in hall.played} == in_peace
    assert len(hall.played) == len(in_peace)
    assert (await hall.competitions.get("t-cup")).ranking == calm.ranking


async def test_matches_of_a_round_share_a_seed_told_at_its_end(hall: Hall) -> None:
    """The commitment stands before the first match, the seed after the last."""
    await hall.add_bots(SIXTEEN[:4])
    await hall.create(SIXTEEN[:4], Format.SWISS, options={"rounds": 2})
    await hall.tick()
    first = (await hall.competitions.rounds("t-cup"))["t-cup/1"]
    assert first.seed == ""
    await hall.play(most=1)
    await hall.tick()
    assert (await hall.competitions.rounds("t-cup"))["t-cup/1"].seed == ""
    assert await hall.competitions.is_sealed(hall.played[0].id)
    await hall.play(most=1)
    await hall.tick()
    told = (await hall.competitions.rounds("t-cup"))["t-cup/1"]
    assert hashlib.sha256(bytes.fromhex(told.seed)).hexdigest() == first.commitment
    assert not await hall.competitions.is_sealed(hall.played[0].id)
    assert {spec.seed.hex() for spec in hall.played} == {told.seed}
    assert set(await hall.competitions.rounds("t-cup")) == {"t-cup/1", "t-cup/2"}


async def test_a_deposed_scheduler_is_refused(hall: Hall) -> None:
    """Whoever has lost the right can neither queue matches nor fold results in."""
    await hall.add_bots(SIXTEEN[:4])
    await hall.create(SIXTEEN[:4], Format.ROUND_ROBIN)
    await hall.tick()
    await hall.play()
    old, epoch = hall.runner, hall.epoch
    hall.new_runner()
    await hall.lead()
    await hall.tick()
    with pytest.raises(StaleEpochError):
        await old.tick(epoch, slots=8)


async def test_a_paused_tournament_begins_no_match(hall: Hall) -> None:
    """What waits is held back until it is resumed; then everything is played once."""
    await hall.add_bots(SIXTEEN[:6])
    await hall.create(SIXTEEN[:6], Format.ROUND_ROBIN)
    await hall.tick()
    await hall.competitions.pause("t-cup")
    await hall.tick()
    assert await hall.play() == 0
    await hall.competitions.resume("t-cup")
    assert (await hall.run()).state is CompetitionState.ENDED
    assert len(hall.played) == len({spec.id for spec in hall.played}) == 15


async def test_a_cancelled_tournament_leaves_the_queue(hall: Hall) -> None:
    """Nothing waits any more, what is being played is dropped, and the seeds are told."""
    await hall.add_bots(SIXTEEN[:6])
    await hall.create(SIXTEEN[:6], Format.ROUND_ROBIN)
    await hall.tick()
    lease = await hall.lease()
    assert lease is not None
    await hall.competitions.cancel("t-cup")
    await hall.tick()
    await hall.commit(lease)
    assert await hall.play() == 0
    record = await hall.competitions.get("t-cup")
    assert (record.state, record.settled) == (CompetitionState.CANCELLED, True)
    assert await hall.competitions.results("t-cup") == {}
    assert all(each.seed for each in (await hall.competitions.rounds("t-cup")).values())


@pytest.mark.parametrize("format_", [each[0] for each in TWO])
async def test_entrants_who_leave_lose_what_they_have_not_played(
    hall: Hall, format_: Format
) -> None:
    """A retired, a suspended and a withdrawn bot play no more, and the competition still ends."""
    await hall.add_bots(SIXTEEN[:12])
    options = {"groups": 3, "challengers": 3}
    await hall.create(SIXTEEN[:12], format_, options=options)
    await hall.tick()
    await hall.play(most=4)
    await hall.suspend("bot00")
    await hall.suspend("bot05", BotState.RETIRED)
    await hall.competitions.leave("t-cup", "bot03")
    await hall.tick()
    before = len(hall.played)
    record = await hall.run()
    away = {"bot00@1": "suspended", "bot03@1": "withdrawn", "bot05@1": "retired"}
    assert record.gone == away
    later = {version for spec in hall.played[before:] for version in spec.entrants}
    assert later.isdisjoint(away)
    assert record.ranking[0][0] not in away
    results = await hall.competitions.results("t-cup")
    (report,) = reports(record, results)
    assert report.finished
    assert sum(row.walkovers for row in report.rows) > 0


async def test_a_house_bot_takes_the_seat_of_who_left_a_table_of_four(hall: Hall) -> None:
    """The others' games keep their meaning; whoever left is last, and nothing is rated."""
    await hall.add_bots(SIXTEEN[:8])
    await hall.add_bots(["filler"], owner="house", house=True)
    await hall.create(
        SIXTEEN[:8], Format.ROUND_ROBIN, ruleset="pese-katesh", options={"boards": 2}, rated=True
    )
    await hall.competitions.leave("t-cup", "bot02")
    record = await hall.run()
    results = await hall.competitions.results("t-cup")
    with_filler = [spec for spec in hall.played if "filler@1" in spec.entrants]
    assert len(with_filler) == 7
    assert not any(spec.rated for spec in with_filler)
    assert record.ranking[0][-1] == "bot02@1"
    for spec in with_filler:
        result = results[spec.id]
        (place,) = result.substituted
        assert result.entrants[place] == "bot02@1"
        assert result.match.points(place) == 0
    (report,) = reports(record, results)
    assert report.rows[-1].note.startswith("unplayed")


async def test_bots_of_one_owner_meet_unrated(hall: Hall) -> None:
    """In a rated tournament their match counts in it, and not on the ladder."""
    await hall.add_bots(["ada1", "ada2"], owner="ada")
    await hall.add_bots(["bob"])
    await hall.create(["ada1", "ada2", "bob"], Format.ROUND_ROBIN, rated=True)
    await hall.run()
    unrated = [set(spec.bots) for spec in hall.played if not spec.rated]
    assert unrated == [{"ada1", "ada2"}]


async def test_a_void_match_is_played_again_with_its_seed(hall: Hall) -> None:
    """Our own failure costs nobody anything."""
    await hall.add_bots(SIXTEEN[:2])
    await hall.create(SIXTEEN[:2], Format.ROUND_ROBIN)
    await hall.tick()
    lease = await hall.lease()
    assert lease is not None
    await hall.queues.queue("quasenbo").void(lease, reason="lag")
    await hall.redis.zadd("{l:quasenbo}:delayed", {lease.match_id: 0})
    record = await hall.run()
    assert record.state is CompetitionState.ENDED
    assert [spec.seed for spec in hall.played] == [lease.spec.seed]


async def test_what_somebody_took_out_of_the_queue_is_queued_again(hall: Hall) -> None:
    """A purged or cancelled match does not leave a hole in the competition."""
    await hall.add_bots(SIXTEEN[:4])
    await hall.create(SIXTEEN[:4], Format.ROUND_ROBIN)
    await hall.tick()
    assert await hall.queues.queue("quasenbo").cancel("t-cup.r1.t1")
    record = await hall.run()
    assert record.state is CompetitionState.ENDED
    assert len(hall.played) == 6


async def test_a_tied_knock_out_match_plays_boards_that_nobody_has_seen(hall: Hall) -> None:
    """Its seed is another than the round's; the bracket goes on when it ties, too."""
    await hall.add_bots(SIXTEEN[:2])
    hall.strengths = dict.fromkeys(hall.strengths, 0.0)
    seeds = set()
    for number in range(40):
        await hall.create(
            SIXTEEN[:2], Format.SINGLE_ELIMINATION, name=f"c{number}", options={"boards": 1}
        )
        await hall.redis.hset(f"{{c:t-c{number}}}:meta", "seed", bytes([number]).hex() * 32)
        await hall.run(f"t-c{number}")
        seeds |= {spec.seed for spec in hall.played}
        if any(spec.id.endswith("x") for spec in hall.played):
            break
    assert hall.played[-1].id.endswith("x")
    assert len(seeds) == len(hall.played)


async def test_a_new_version_does_not_enter_half_way(hall: Hall) -> None:
    """Entries are frozen to the version that was active at the start."""
    await hall.add_bots(SIXTEEN[:3])
    await hall.create(SIXTEEN[:3], Format.ROUND_ROBIN)
    await hall.tick()

    added = await hall.registry.add_folder(hall.bot_folder("bot00", "new"), owner="bot00")
    assert added.version.id == "bot00@2"
    await hall.run()
    assert {version for spec in hall.played for version in spec.entrants} == {
        "bot00@1", "bot01@1", "bot02@1"
    }  # fmt: skip
    assert SEED not in {spec.seed for spec in hall.played}


async def test_a_gauntlet_is_not_won_by_playing_more(hall: Hall) -> None:
    """A weak challenger who meets everybody does not come before those who beat it."""
    await hall.add_bots(SIXTEEN[:8])
    hall.strengths["bot00"] = -1000.0
    await hall.create(SIXTEEN[:8], Format.GAUNTLET)
    record = await hall.run()
    assert record.ranking[0][-1] == "bot00@1"


async def test_owners_hear_where_their_bots_came(hall: Hall) -> None:
    """An event for each bot whose owner has a webhook, with its place."""
    await hall.add_bots(SIXTEEN[:3])
    webhooks = Webhooks(hall.redis)
    await webhooks.set("bot00", "https://example.org/hook")
    await hall.create(SIXTEEN[:3], Format.ROUND_ROBIN)
    record = await hall.run()
    delivery = await webhooks.claim(token="t" * 32, duration=timedelta(seconds=9))
    assert delivery is not None
    body = json.loads(delivery.body)
    assert (body["kind"], body["competition"]) == ("competition.ended", "t-cup")
    assert body["place"] == 1 + record.ranking[0].index("bot00@1")
    assert await webhooks.waiting() == 1
