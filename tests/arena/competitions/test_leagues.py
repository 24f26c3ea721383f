"""Leagues: seasons that begin by themselves, promotion and relegation."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from arena.bots.registry import BotState
from arena.competitions.entry import create, create_league
from arena.competitions.leagues import AT_ONCE, LeagueRules, LeagueStore, next_start
from arena.competitions.records import CompetitionRules, CompetitionState
from arena.errors import ArenaError, InputError, PreconditionError
from arena.formats.model import Format, Options
from arena.version_id import bot_of
from tests.arena.competitions.hall import SEED, Hall

pytestmark = pytest.mark.redis

BOTS = [f"bot{number:02}" for number in range(24)]


def rules(**facts: Any) -> LeagueRules:
    """Return the rules of a league of Quäsenbö with divisions of eight and two moves."""
    matches = CompetitionRules(
        ruleset="quasenbo",
        format=Format.ROUND_ROBIN,
        options=Options(boards=2, lot="lot"),
        time_control="5",
        weight=3,
    )
    return LeagueRules(matches=matches, **{"division": 8, "moves": 2, **facts})


async def founded(hall: Hall, bots: list[str], **facts: Any) -> LeagueStore:
    """Found a league and enter bots."""
    leagues = LeagueStore(hall.redis)
    assert await leagues.create("l-main", rules(**facts), seed=SEED)
    for bot in bots:
        await leagues.enter("l-main", bot)
    return leagues


def names(divisions: tuple[tuple[str, ...], ...]) -> list[set[str]]:
    """Return the bots of each division."""
    return [{bot_of(version) for version in division} for division in divisions]


async def test_three_divisions_play_three_seasons(hall: Hall) -> None:
    """Two go up and two go down each time, and the league ends after its last season."""
    await hall.add_bots(BOTS)
    # The last of the list is the strongest, so that everybody has somewhere to go.
    hall.strengths = dict(zip(BOTS, reversed(hall.strengths.values()), strict=True))
    leagues = await founded(hall, BOTS, seasons=3, schedule=AT_ONCE)
    await leagues.call_season("l-main")
    seasons = [await hall.run(f"l-main.s{number}") for number in (1, 2, 3)]
    await hall.tick()
    assert (await leagues.get("l-main")).state is CompetitionState.ENDED
    assert len(hall.played) == len({spec.id for spec in hall.played}) == 3 * 3 * 56
    assert {spec.flow for spec in hall.played} == {"l:main"}
    assert [len(division) for division in seasons[2].divisions] == [8, 8, 8]
    for before, after in pairwise(seasons):
        top, middle, bottom = before.ranking
        assert names(after.divisions) == names(
            (
                (*top[:-2], *middle[:2]),
                (*top[-2:], *middle[2:-2], *bottom[:2]),
                (*middle[-2:], *bottom[2:]),
            )
        )


async def test_deaths_of_schedulers_change_no_season(hall: Hall) -> None:
    """A season is created once, whoever dies between its creation and its counting."""
    await hall.add_bots(BOTS[:8])
    leagues = await founded(hall, BOTS[:8], seasons=2, schedule=AT_ONCE)
    await leagues.call_season("l-main")
    for _ in range(400):
        if (await leagues.get("l-main")).state is CompetitionState.ENDED:
            break
        hall.new_runner()
        await hall.lead()
        await hall.tick()
        await hall.play(most=7)
    assert (await leagues.get("l-main")).season == 2
    assert len(hall.played) == len({spec.id for spec in hall.played}) == 2 * 56


async def test_at_once_begins_when_a_division_has_entered(hall: Hall) -> None:
    """Nobody calls for the first season; until then the league says what it waits for."""
    await hall.add_bots(BOTS[:9])
    leagues = await founded(hall, BOTS[:7], schedule=AT_ONCE, seasons=1)
    for _ in range(2):
        await hall.tick()
        league = await leagues.get("l-main")
        assert league.season == 0
        assert league.next_time is not None
        assert league.note == "season 1 could not begin: it takes 8 bots, and 7 can play"
    await leagues.enter("l-main", BOTS[7])
    await hall.tick()
    league = await leagues.get("l-main")
    assert (league.season, league.note) == (1, "")
    await hall.run("l-main.s1")
    await hall.tick()
    league = await leagues.get("l-main")
    assert (league.state, league.next_time) == (CompetitionState.ENDED, None)


async def test_an_operator_calls_a_season_of_fewer(hall: Hall) -> None:
    """Whoever calls for it takes those who have entered, be they fewer than a division."""
    await hall.add_bots(BOTS[:3])
    leagues = await founded(hall, BOTS[:3], schedule=AT_ONCE)
    await hall.tick()
    assert (await leagues.get("l-main")).season == 0
    await leagues.call_season("l-main")
    await hall.tick()
    assert (await leagues.get("l-main")).season == 1


async def test_a_season_says_which_divisions_were_joined_and_who_is_left_out(hall: Hall) -> None:
    """At the first season and at later ones."""
    await hall.add_bots(BOTS[:20])
    leagues = await founded(hall, BOTS[:20])
    await leagues.call_season("l-main")
    await hall.tick()
    first = await hall.competitions.get("l-main.s1")
    assert [len(division) for division in first.divisions] == [8, 12]
    assert first.note == (
        "division 3 would have 4 bots, too few for one of its own: they play in division 2"
    )
    for bot in BOTS[8:19]:
        await leagues.leave("l-main", bot)
    await hall.suspend("bot00", BotState.RETIRED)
    await hall.run("l-main.s1")
    await leagues.call_season("l-main")
    await hall.tick()
    second = await hall.competitions.get("l-main.s2")
    assert [len(division) for division in second.divisions] == [8]
    assert second.note == "bot00 is left out: the bot bot00 is retired"


async def test_a_league_that_is_refused_is_not_created(hall: Hall) -> None:
    """A version instead of a bot, or more than may enter: nothing half done."""
    await hall.add_bots(BOTS[:3])
    leagues = LeagueStore(hall.redis)
    for entries, capacity, sentence in (
        (["bot00", "bot01@1"], 0, "bot01@1 is a version"),
        (BOTS[:3], 2, "takes 2 entrants at most, not 3"),
        (["bot00", "nobody"], 0, "nobody"),
    ):
        founding = rules()
        matches = replace(founding.matches, capacity=capacity)
        with pytest.raises(ArenaError, match=sentence):
            await create_league(hall.arena, "l-main", replace(founding, matches=matches), entries)
        assert await leagues.find("l-main") is None


async def test_a_full_league_and_a_cancelled_one_take_no_entries(hall: Hall) -> None:
    """Each says why, and a cancelled one is not paused either."""
    await hall.add_bots(BOTS[:3])
    founding = rules()
    matches = replace(founding.matches, capacity=2)
    await create_league(hall.arena, "l-main", replace(founding, matches=matches), BOTS[:2])
    leagues = LeagueStore(hall.redis)
    with pytest.raises(PreconditionError, match="main has all of its 2 entrants") as full:
        await leagues.enter("l-main", BOTS[2])
    assert full.value.reason == "FULL"
    await leagues.cancel("l-main")
    with pytest.raises(PreconditionError, match="main is cancelled and takes no entries"):
        await leagues.enter("l-main", BOTS[2])
    with pytest.raises(PreconditionError, match="main is cancelled, not running or paused"):
        await leagues.pause("l-main")


async def test_a_tournament_that_cannot_start_is_not_created(hall: Hall) -> None:
    """Created and started in one step, or not at all; one that can is under way at once."""
    await hall.add_bots(BOTS[:3])
    cup = CompetitionRules(
        ruleset="quasenbo",
        format=Format.GROUPS,
        options=Options(boards=1, groups=2),
        time_control="5",
    )
    start = partial(create, hall.arena, at_once=True)
    with pytest.raises(InputError, match="cup cannot start: 2 groups of 3 entrants"):
        await start("t-cup", cup, BOTS[:3])
    with pytest.raises(PreconditionError, match="2 entrants at most, not 3"):
        await start("t-cup", replace(cup, capacity=2), BOTS[:3])
    assert await hall.competitions.find("t-cup") is None
    record, left_out = await start(
        "t-cup", replace(cup, format=Format.ROUND_ROBIN), ["bot00", "bot01", "bot01@1"]
    )
    assert record.state is CompetitionState.RUNNING
    assert record.divisions == (("bot00@1", "bot01@1"),)
    assert left_out == {"bot01@1": "bot01@1 has entered twice"}
    assert (await hall.run()).state is CompetitionState.ENDED
    with pytest.raises(PreconditionError, match="there is a tournament cup"):
        await start("t-cup", replace(cup, format=Format.ROUND_ROBIN), BOTS[:2])


async def test_who_is_away_leaves_and_who_is_new_starts_at_the_bottom(hall: Hall) -> None:
    """Between seasons bots come and go; a retired one does not return."""
    await hall.add_bots(BOTS[:18])
    leagues = await founded(hall, BOTS[:16], schedule=AT_ONCE)
    await leagues.call_season("l-main")
    await hall.tick()
    await leagues.enter("l-main", "bot16")
    await leagues.enter("l-main", "bot17")
    await leagues.leave("l-main", "bot15")
    await hall.run("l-main.s1")
    await hall.suspend("bot00", BotState.RETIRED)
    await hall.tick()
    season = await hall.competitions.get("l-main.s2")
    upper, lower = names(season.divisions)
    assert "bot00" not in upper | lower
    assert "bot15" not in upper | lower
    assert {"bot16", "bot17"} <= lower
    assert len(upper) == len(lower) == 8


async def test_seasons_begin_when_cron_says(hall: Hall) -> None:
    """Not before their time, and at once when the last one went on beyond it."""
    await hall.add_bots(BOTS[:8])
    leagues = await founded(hall, BOTS[:8], schedule="0 18 * * FRI")
    league = await leagues.get("l-main")
    assert league.next_time is not None
    assert (league.next_time.weekday(), league.next_time.hour) == (4, 18)
    friday = league.next_time

    def be_at(time: datetime) -> None:
        hall.runner.leagues.clock = lambda: time

    be_at(friday - timedelta(minutes=1))
    await hall.tick()
    assert await hall.competitions.find("l-main.s1") is None
    be_at(friday)
    await hall.tick()
    assert await hall.competitions.find("l-main.s1") is not None
    assert (await leagues.get("l-main")).next_time == friday + timedelta(days=7)
    be_at(friday + timedelta(days=8))
    await hall.tick()
    assert await hall.competitions.find("l-main.s2") is None
    await hall.run("l-main.s1")
    await hall.tick()
    assert await hall.competitions.find("l-main.s2") is not None
    assert (await leagues.get("l-main")).next_time == friday + timedelta(days=14)


async def test_a_season_that_cannot_begin_is_noted(hall: Hall) -> None:
    """Too few entrants: the league says so and waits for the next call."""
    await hall.add_bots(BOTS[:1])
    leagues = await founded(hall, BOTS[:1])
    await leagues.call_season("l-main")
    await hall.tick()
    league = await leagues.get("l-main")
    assert (league.season, league.next_time) == (0, None)
    assert league.note == "season 1 could not begin: it takes 2 bots, and 1 can play"


async def test_a_paused_league_begins_no_season(hall: Hall) -> None:
    """Resumed, it goes on; cancelled, it never does."""
    await hall.add_bots(BOTS[:8])
    leagues = await founded(hall, BOTS[:8])
    await leagues.call_season("l-main")
    await leagues.pause("l-main")
    await hall.tick()
    assert await hall.competitions.find("l-main.s1") is None
    await leagues.resume("l-main")
    await hall.tick()
    assert await hall.competitions.find("l-main.s1") is not None
    await leagues.cancel("l-main")
    with pytest.raises(PreconditionError, match="main is cancelled"):
        await leagues.call_season("l-main")


async def test_a_league_paused_as_its_last_season_ends_does_not_end(hall: Hall) -> None:
    """The scheduler saw it running, and the pause came before it wrote; resumed, it ends."""
    await hall.add_bots(BOTS[:8])
    leagues = await founded(hall, BOTS[:8], seasons=1)
    await leagues.call_season("l-main")
    await hall.run("l-main.s1")
    seen = await leagues.get("l-main")
    await leagues.pause("l-main")
    await hall.runner.leagues.begin_or_end(seen, hall.epoch)
    assert (await leagues.get("l-main")).state is CompetitionState.PAUSED
    await leagues.resume("l-main")
    await hall.tick()
    assert (await leagues.get("l-main")).state is CompetitionState.ENDED


@pytest.mark.parametrize("verb", ["pause", "cancel"])
async def test_a_season_due_as_its_league_stops_stops_no_scheduler(hall: Hall, verb: str) -> None:
    """The league was seen running; the refusal is its state's, and others go on."""
    await hall.add_bots(BOTS[:8])
    leagues = await founded(hall, BOTS[:8])
    await leagues.call_season("l-main")
    await hall.lead()
    seen = await leagues.get("l-main")
    await getattr(leagues, verb)("l-main")
    await hall.runner.leagues.begin_or_end(seen, hall.epoch)
    assert (await leagues.get("l-main")).season == 0
    assert await hall.competitions.find("l-main.s1") is None


async def test_a_season_created_as_its_league_is_paused_is_paused_and_goes_on(hall: Hall) -> None:
    """The pause came after the season was created and before it was counted."""
    await hall.add_bots(BOTS[:8])
    leagues = await founded(hall, BOTS[:8], seasons=1)
    await leagues.call_season("l-main")
    await hall.tick()
    # As it stood before the season was counted.
    await hall.redis.hset("{c:l-main}:meta", "season", "0")
    await leagues.call_season("l-main")
    seen = await leagues.get("l-main")
    await leagues.pause("l-main")
    await hall.runner.leagues.begin_or_end(seen, hall.epoch)
    assert await hall.state("l-main.s1") is CompetitionState.PAUSED
    await leagues.resume("l-main")
    assert (await hall.run("l-main.s1")).state is CompetitionState.ENDED
    await hall.tick()
    assert (await leagues.get("l-main")).state is CompetitionState.ENDED


def test_a_schedule_that_is_none_is_refused() -> None:
    """The sentence says what would be one."""
    with pytest.raises(InputError, match="five fields of cron"):
        rules(schedule="every Friday")


def test_seasons_begin_in_utc() -> None:
    """A moment in another time zone is the same moment."""
    noon = datetime(2026, 11, 27, 12, tzinfo=UTC)
    assert next_start("30 12 * * *", after=noon) == noon + timedelta(minutes=30)
