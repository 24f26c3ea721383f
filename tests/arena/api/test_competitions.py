"""The calls about competitions, over the wire."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from redis.asyncio import Redis

from arena.formats.model import Format
from arena.owners.tokens import Scope
from arena.queue.models import RetryPolicy
from arena.queue.strengths import LadderStrengths, Strength
from arena.v1 import competitions_pb2 as pb
from arena.v1 import ladders_pb2, operations_pb2
from arena.v1.arena_pb2_grpc import ArenaServiceStub
from arena.v1.competitions_pb2_grpc import CompetitionServiceStub
from tests.arena.api.calling import Arena, make_backend, refused, start
from tests.arena.competitions.hall import Hall

pytestmark = pytest.mark.redis

BOTS = [f"bot{number}" for number in range(4)]


class Calls:
    """Every call with one token."""

    def __init__(self, channel: grpc.aio.Channel, token: str) -> None:
        self._stub: Any = CompetitionServiceStub(channel)
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()

    def __getattr__(self, name: str) -> Any:
        return lambda request: getattr(self._stub, name)(request, metadata=self._metadata)


@pytest_asyncio.fixture
async def arena(redis: Redis, tmp_path: Path) -> AsyncIterator[Arena]:
    """An API on a free port."""
    arena = await start(make_backend(redis, tmp_path))
    yield arena
    await arena.close()
    await arena.server.stop(grace=timedelta(seconds=5))


async def login(arena: Arena, owner: str = "", *scopes: Scope) -> Calls:
    """Return the calls of an owner, or of a stranger."""
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{arena.port}")
    arena.channels.append(channel)
    if not owner:
        return Calls(channel, "")
    await arena.backend.registry.add_owner(owner)
    created = await arena.backend.accounts.create(owner, scopes=frozenset(scopes or {Scope.AUTHOR}))
    return Calls(channel, created.secret)


def rules(**facts: Any) -> pb.CompetitionRules:
    """Return rules of a short round robin."""
    return pb.CompetitionRules(**{"ruleset": "quasenbo", "boards": 2, **facts})


async def test_a_tournament_from_its_creation_to_its_winner(arena: Arena, hall: Hall) -> None:
    """An operator creates and starts it, owners enter, and strangers see the standings."""
    await hall.add_bots(BOTS)
    operator = await login(arena, "op", Scope.OPERATOR)
    created = await operator.CreateTournament(
        pb.CreateTournamentRequest(name="cup", rules=rules(), entries=["bot0"], open=True)
    )
    assert created.competition.state == pb.COMPETITION_STATE_OPEN
    for bot in BOTS[1:]:
        author = await login(arena, bot)
        entry = pb.EnterCompetitionRequest(competition="t-cup", entry=bot)
        assert (await author.EnterCompetition(entry)).is_new
        assert not (await author.EnterCompetition(entry)).is_new
    started = await operator.StartTournament(pb.StartTournamentRequest(competition="t-cup"))
    assert started.competition.entrant_count == 4
    await hall.run()

    stranger = await login(arena)
    got = await stranger.GetCompetition(pb.GetCompetitionRequest(competition="t-cup"))
    assert got.competition.state == pb.COMPETITION_STATE_ENDED
    (standings,) = got.standings
    assert standings.finished
    assert [row.place for row in standings.rows] == [1, 2, 3, 4]
    assert {row.note.partition(":")[0] for row in standings.rows} <= {"thin", "separated"}
    for told in got.rounds:
        assert hashlib.sha256(bytes.fromhex(told.seed)).hexdigest() == told.seed_commitment
    request = pb.ListCompetitionMatchesRequest(competition="t-cup", page_size=4)
    page = await stranger.ListCompetitionMatches(request)
    request.page_token = page.next_page_token
    rest = await stranger.ListCompetitionMatches(request)
    matches = [*page.matches, *rest.matches]
    assert len({match.id for match in matches}) == 6
    assert all(sum(match.scores) == pytest.approx(1) for match in matches)
    meetings = await stranger.ListMeetings(pb.ListMeetingsRequest(competition="t-cup"))
    assert len(meetings.meetings) == 12
    listed = await stranger.ListCompetitions(pb.ListCompetitionsRequest())
    assert [each.id for each in listed.competitions] == ["t-cup"]


async def test_who_may_do_what(arena: Arena, hall: Hall) -> None:
    """Authors enter their own bots into open tournaments, and do nothing else."""
    await hall.add_bots(BOTS)
    operator = await login(arena, "op", Scope.OPERATOR)
    author = await login(arena, "bot1")
    create = pb.CreateTournamentRequest(name="cup", rules=rules())
    code, _ = await refused(author.CreateTournament(create))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    await operator.CreateTournament(create)
    code, _ = await refused(operator.CreateTournament(create))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    own = pb.EnterCompetitionRequest(competition="t-cup", entry="bot1")
    code, error = await refused(author.EnterCompetition(own))
    assert (code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_OPEN")
    await operator.OpenTournament(pb.OpenTournamentRequest(competition="t-cup"))
    await author.EnterCompetition(own)
    others = pb.EnterCompetitionRequest(competition="t-cup", entry="bot2")
    code, error = await refused(author.EnterCompetition(others))
    assert (code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_YOUR_BOT")
    await operator.EnterCompetition(others)
    await author.LeaveCompetition(pb.LeaveCompetitionRequest(competition="t-cup", entry="bot1"))
    got = await author.GetCompetition(pb.GetCompetitionRequest(competition="t-cup"))
    assert list(got.entries) == ["bot2"]
    code, error = await refused(
        operator.StartTournament(pb.StartTournamentRequest(competition="t-cup"))
    )
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "2 entrants or more" in str(error)
    for name in ("t-none", "l-none.s1", "nonsense", "t-../x"):
        code, _ = await refused(author.GetCompetition(pb.GetCompetitionRequest(competition=name)))
        assert code is grpc.StatusCode.NOT_FOUND


async def test_a_match_of_a_tournament_is_annulled_and_played_again(
    arena: Arena, hall: Hall
) -> None:
    """While it is under way; the matches' list says under which ids. Ended, it refuses."""
    await hall.add_bots(BOTS)
    await hall.create(BOTS, Format.ROUND_ROBIN)
    await hall.tick()
    await hall.play(most=1)
    await hall.tick()
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{arena.port}")
    arena.channels.append(channel)
    await arena.backend.registry.add_owner("op")
    operator = await arena.backend.accounts.create("op", scopes=frozenset({Scope.OPERATOR}))
    metadata = (("authorization", f"Bearer {operator.secret}"),)
    annul: Any = ArenaServiceStub(channel).AnnulMatch
    stranger = await login(arena)
    listing = pb.ListCompetitionMatchesRequest(competition="t-cup")
    before = (await stranger.ListCompetitionMatches(listing)).matches[0]
    assert (before.id, before.ended) == ("t-cup.r1.t1", True)

    request = operations_pb2.AnnulMatchRequest(match="t-cup.r1.t1", reason="a test")
    answer = await annul(request, metadata=metadata)
    assert (answer.annulled, answer.played_again_as) == (True, "t-cup.r1.t1.a2")
    assert answer.match.annul_reason == "a test"
    await hall.tick()
    after = (await stranger.ListCompetitionMatches(listing)).matches[0]
    assert (after.id, after.ended) == ("t-cup.r1.t1.a2", False)
    answer = await annul(request, metadata=metadata)
    assert (answer.annulled, answer.played_again_as) == (False, "t-cup.r1.t1.a2")

    await hall.run()
    ended = (await stranger.ListCompetitionMatches(listing)).matches[0]
    assert (ended.id, ended.ended) == ("t-cup.r1.t1.a2", True)
    assert list(ended.annulled) == ["t-cup.r1.t1"]
    request.match = "t-cup.r1.t2"
    code, error = await refused(annul(request, metadata=metadata))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert error.reason == "IN_COMPETITION"
    assert "its standings are final" in str(error)


async def test_a_league_is_created_called_and_paused(arena: Arena, hall: Hall) -> None:
    """Its season is a competition; pausing the league pauses both."""
    await hall.add_bots(BOTS)
    operator = await login(arena, "op", Scope.OPERATOR)
    request = pb.CreateLeagueRequest(name="main", rules=rules(), bots=BOTS, moves=1)
    created = await operator.CreateLeague(request)
    assert created.league.id == "l-main"
    await operator.CallSeason(pb.CallSeasonRequest(league="l-main"))
    await hall.tick()
    paused = await operator.PauseCompetition(pb.PauseCompetitionRequest(competition="l-main"))
    assert paused.state == pb.COMPETITION_STATE_PAUSED
    season = await operator.GetCompetition(pb.GetCompetitionRequest(competition="l-main.s1"))
    assert season.competition.state == pb.COMPETITION_STATE_PAUSED
    assert [each.id for each in season.standings] == ["l-main.s1.d1"]
    await operator.ResumeCompetition(pb.ResumeCompetitionRequest(competition="l-main"))
    await hall.run("l-main.s1")
    got = await operator.GetLeague(pb.GetLeagueRequest(league="l-main"))
    assert (got.league.season, list(got.bots)) == (1, BOTS)
    cancelled = await operator.CancelCompetition(pb.CancelCompetitionRequest(competition="l-main"))
    assert cancelled.state == pb.COMPETITION_STATE_CANCELLED


async def test_a_ladder_s_lines_tell_how_strong_bots_are(arena: Arena, hall: Hall) -> None:
    """As the scheduler measured it last: with an error bar, or in a word why there is none."""
    await hall.add_bots(BOTS)
    await hall.create(BOTS[:3], Format.ROUND_ROBIN, rated=True, options={"cycles": 4})
    await hall.run()
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{arena.port}")
    arena.channels.append(channel)
    ladder: Any = ArenaServiceStub(channel).GetLadder
    request = ladders_pb2.GetLadderRequest(ruleset="quasenbo")
    for entry in (await ladder(request)).entries:
        assert not entry.HasField("strength")
        assert (entry.note, entry.match_count) == ("", 0)

    strengths = LadderStrengths(hall.redis, hall.queues.ladder("quasenbo"))
    await strengths.update()
    column = strengths.column()
    await strengths.publish(column)
    told = {entry.bot: entry for entry in (await ladder(request)).entries}
    assert told.keys() == set(BOTS)
    for bot in BOTS[:3]:
        known = column[bot].strength
        assert known is not None
        assert told[bot].strength == pytest.approx(known.elo)
        assert told[bot].strength_error == pytest.approx(known.error)
        assert (told[bot].note, told[bot].match_count, told[bot].timeout_count) == ("", 8, 0)
        assert told[bot].rated_matches == 8
    assert not told[BOTS[3]].HasField("strength_error")

    for bot, line in column.items():
        assert line.strength is not None
        thin = Strength(line.strength.elo, None, "thin: 3 independent sets")
        column[bot] = replace(line, strength=thin, timeouts=2)
    await strengths.publish(column)
    line = (await ladder(request)).entries[0]
    assert not line.HasField("strength")
    assert not line.HasField("strength_error")
    assert (line.note, line.timeout_count) == ("thin: 3 independent sets", 2)


async def test_a_forecast_counts_matches(arena: Arena, hall: Hall) -> None:
    """How long it takes is unknown before anything was played."""
    await hall.add_bots(BOTS)
    operator = await login(arena, "op", Scope.OPERATOR)
    found = await operator.PlanTournament(
        pb.PlanTournamentRequest(rules=rules(format=pb.COMPETITION_FORMAT_SWISS), entrant_count=16)
    )
    assert (found.forecast.match_count_min, found.forecast.game_count) == (32, 128)
    assert not found.forecast.HasField("elapsed")


async def test_a_tournament_starts_as_it_is_created(arena: Arena, hall: Hall) -> None:
    """With every active bot and a seed; one that cannot start is not created."""
    await hall.add_bots(BOTS)
    operator = await login(arena, "op", Scope.OPERATOR)
    request = pb.CreateTournamentRequest(name="cup", rules=rules(), entries=BOTS[:1], start=True)
    code, _ = await refused(operator.CreateTournament(request))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    request.everybody, request.seed = True, "text"
    answer = await operator.CreateTournament(request)
    assert answer.competition.state == pb.COMPETITION_STATE_RUNNING
    assert (answer.competition.entrant_count, dict(answer.left_out)) == (4, {})
    record = await arena.backend.competitions.get("t-cup")
    assert record.seed == hashlib.sha256(b"text").digest()


async def test_only_operators_see_which_matches_of_a_tournament_are_dead(
    arena: Arena, hall: Hall
) -> None:
    """With the reason, as in the queue."""
    await hall.add_bots(BOTS)
    operator, stranger = await login(arena, "op", Scope.OPERATOR), await login(arena)
    await hall.create(BOTS[:2], Format.ROUND_ROBIN)
    await hall.tick()
    queue = arena.backend.queues.queue("quasenbo")
    queue._policy = RetryPolicy(voids=1)
    lease = await hall.lease()
    assert lease is not None
    await queue.void(lease, reason="the referee lagged")
    request = pb.GetCompetitionRequest(competition="t-cup")
    (dead,) = (await operator.GetCompetition(request)).dead_matches
    assert (dead.match, dead.reason) == (lease.match_id, "the referee lagged")
    assert not (await stranger.GetCompetition(request)).dead_matches


async def test_a_plan_may_name_the_tables_and_a_ladder_that_is_not_there(arena: Arena) -> None:
    """Operators alone plan."""
    operator, author = await login(arena, "op", Scope.OPERATOR), await login(arena, "ada")
    request = pb.PlanTournamentRequest(rules=rules(), entrant_count=4, slots=2)
    code, _ = await refused(author.PlanTournament(request))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert (await operator.PlanTournament(request)).forecast.match_count_max == 6
    request.slots = 0
    code, _ = await refused(operator.PlanTournament(request))
    assert code is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_league_tells_its_seasons(arena: Arena, hall: Hall) -> None:
    """Where everybody came, and how many bots the next one waits for."""
    await hall.add_bots(BOTS)
    operator, stranger = await login(arena, "op", Scope.OPERATOR), await login(arena)
    await operator.CreateLeague(
        pb.CreateLeagueRequest(name="main", rules=rules(), everybody=True, seed="text", moves=1)
    )
    request = pb.GetLeagueRequest(league="l-main")
    before = await stranger.GetLeague(request)
    assert (list(before.bots), list(before.seasons)) == (BOTS, [])
    assert (before.league.called, before.league.wanted_count) == (False, 2)
    called = await operator.CallSeason(pb.CallSeasonRequest(league="l-main"))
    assert called.league.called
    await hall.tick()
    await hall.run("l-main.s1")
    (season,) = (await stranger.GetLeague(request)).seasons
    assert (season.id, season.number) == ("l-main.s1", 1)
    assert season.state == pb.COMPETITION_STATE_ENDED
    (division,) = season.divisions
    assert sorted(division.versions) == [f"{bot}@1" for bot in BOTS]
    matches = await stranger.ListCompetitionMatches(
        pb.ListCompetitionMatchesRequest(competition="l-main.s1")
    )
    assert all(each.planned_id == each.id for each in matches.matches)
    assert all(sum(each.points) == 1 for each in matches.matches)
