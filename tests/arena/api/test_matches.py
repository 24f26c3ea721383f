"""Challenges and matches: asked for, cancelled, listed, watched; replays and logs."""

import asyncio
import hashlib
import secrets
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from redis.asyncio import Redis

from arena.api.matches import CHUNK
from arena.competitions.records import CompetitionRules
from arena.errors import LimitError
from arena.formats.model import Format, Options
from arena.owners.tokens import Scope
from arena.queue.models import Forfeits, LadderResult, MatchSpec
from arena.queue.retention import archive_old
from arena.v1 import accounts_pb2, matches_pb2
from referee.outcome import ForfeitReason, Termination
from tests.arena.api.calling import (
    Arena,
    Calls,
    all_of,
    bot_archive,
    make_backend,
    refused,
    request_id,
    start,
    submit,
    until,
)

RULESET = "quasenbo"
RESULT = LadderResult(
    scores=((0, 750_000), (250_000, 0)),
    digest=hashlib.sha256(b"replay").digest(),
    terminations={Termination.FINISHED: 3, Termination.FORFEIT: 1},
    forfeits=(Forfeits(1, ForfeitReason.TIMEOUT, 1),),
    points=(12, -12),
    played=timedelta(seconds=2),
)


async def add_bots(arena: Arena) -> tuple[Calls, Calls]:
    """Give ada and bob a bot each, ``adas`` and ``bobs``, that plays."""
    ada, bob = await arena.login("ada"), await arena.login("bob")
    await submit(ada, bot_archive("adas"))
    await submit(bob, bot_archive("bobs"))
    await arena.accept("adas@1", "bobs@1")
    return ada, bob


def challenge(*entrants: str, **facts: object) -> matches_pb2.RequestMatchRequest:
    """Return the request for a match of adas against bobs, or as given."""
    values = {"ruleset": RULESET, "request_id": request_id(), **facts}
    return matches_pb2.RequestMatchRequest(entrants=entrants or ("adas", "bobs"), **values)  # type: ignore[arg-type]


async def play(arena: Arena, *, replay: bytes = b"", logs: dict[str, bytes] | None = None) -> str:
    """Play the next match as a worker would; return its id."""
    queue = arena.backend.queues.queue(RULESET)
    lease = await queue.lease("w1", token=secrets.token_hex(16), duration=timedelta(seconds=30))
    assert lease is not None
    result = RESULT
    if replay:
        digest = arena.backend.archive.put_replay(RULESET, lease.match_id, replay)
        result = replace(RESULT, digest=digest)
    for name, data in (logs or {}).items():
        arena.backend.archive.put_log(RULESET, lease.match_id, name, data, digest=result.digest)
    await queue.commit(lease, result)
    return lease.match_id


async def test_a_challenge_waits_in_the_queue(arena: Arena) -> None:
    """It is unrated, between active versions, and tells of its seed the commitment alone."""
    ada, _ = await add_bots(arena)
    answer = await ada.RequestMatch(challenge(boards=4))
    match = answer.match
    assert answer.is_new
    assert (match.ruleset, match.flow, match.rated, match.boards) == (
        RULESET,
        "challenge",
        False,
        4,
    )
    assert match.state == matches_pb2.MATCH_STATE_WAITING
    assert [entrant.version for entrant in match.entrants] == ["adas@1", "bobs@1"]
    spec = await arena.backend.queues.queue(RULESET).spec(match.id)
    assert spec is not None
    assert match.seed_commitment == hashlib.sha256(spec.seed).hexdigest()
    assert spec.seed.hex() not in str(match)
    assert match.create_time.seconds > 0
    got = await arena.stranger().GetMatch(matches_pb2.GetMatchRequest(match=match.id))
    assert got.match == match


async def test_the_same_request_is_the_same_match(arena: Arena) -> None:
    """Before and after it was played; another id is another match, and another owner's too."""
    ada, bob = await add_bots(arena)
    request = challenge()
    first = await ada.RequestMatch(request)
    again = await ada.RequestMatch(request)
    assert (again.is_new, again.match.id) == (False, first.match.id)
    assert (await bob.RequestMatch(request)).match.id != first.match.id
    assert await play(arena) == first.match.id
    late = await ada.RequestMatch(request)
    assert (late.is_new, late.match.id) == (False, first.match.id)
    assert late.match.state == matches_pb2.MATCH_STATE_ENDED
    assert (await ada.RequestMatch(challenge())).is_new


async def test_equal_requests_at_once_are_one_match(arena: Arena) -> None:
    """Exactly one of them is new."""
    ada, _ = await add_bots(arena)
    request = challenge()
    answers = await asyncio.gather(*(ada.RequestMatch(request) for _ in range(10)))
    assert len({answer.match.id for answer in answers}) == 1
    assert sum(answer.is_new for answer in answers) == 1
    assert (await arena.backend.queues.queue(RULESET).counts()).ready == 1


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (challenge("bobs", "bobs"), "PERMISSION_DENIED"),
        (challenge("adas", "bobs@2"), "PERMISSION_DENIED"),
        (challenge("adas", "nobody"), "NOT_FOUND"),
        (challenge("adas@7", "bobs"), "NOT_FOUND"),
        (challenge("adas@2", "bobs"), "FAILED_PRECONDITION"),
        (challenge("adas"), "INVALID_ARGUMENT"),
        (challenge("adas", "bobs", "adas"), "INVALID_ARGUMENT"),
        (challenge(boards=65), "INVALID_ARGUMENT"),
        (challenge(boards=-1), "INVALID_ARGUMENT"),
        (challenge(request_id=""), "INVALID_ARGUMENT"),
        (challenge(ruleset="chess"), "INVALID_ARGUMENT"),
        (challenge(ruleset="pese-katesh"), "NOT_FOUND"),
    ],
)
async def test_a_challenge_that_cannot_be(
    arena: Arena, request_: matches_pb2.RequestMatchRequest, status: str
) -> None:
    """Each is refused with its own status, and nothing is queued."""
    ada, _ = await add_bots(arena)
    await submit(ada, bot_archive("adas", content="not tried yet"))
    code, error = await refused(ada.RequestMatch(request_))
    assert code.name == status, error
    assert (await arena.backend.queues.queue(RULESET).counts()).ready == 0
    quota = (await ada.GetIdentity(accounts_pb2.GetIdentityRequest())).quotas.challenges
    assert quota.used == 0


async def test_open_challenges_have_a_bound(redis: Redis, tmp_path: Path) -> None:
    """The next one is refused with a time to retry, until one was played or cancelled."""
    arena = await start(make_backend(redis, tmp_path, owner_challenges=2))
    ada, bob = await add_bots(arena)
    answers = await asyncio.gather(*(refused_or_id(ada, challenge()) for _ in range(5)))
    assert sum(answer is not None for answer in answers) == 2
    code, error = await refused(ada.RequestMatch(challenge()))
    assert (code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_CHALLENGES")
    assert isinstance(error, LimitError)
    assert error.retry_after
    assert (await bob.RequestMatch(challenge())).is_new
    await play(arena)
    third = (await ada.RequestMatch(challenge())).match.id
    assert (await ada.CancelMatch(matches_pb2.CancelMatchRequest(match=third))).cancelled
    assert (await ada.RequestMatch(challenge())).is_new
    await arena.close()
    await arena.server.stop(grace=timedelta(0))


async def refused_or_id(calls: Calls, request: matches_pb2.RequestMatchRequest) -> str | None:
    """Return the id of the match that was asked for; None when it was refused."""
    try:
        return str((await calls.RequestMatch(request)).match.id)
    except grpc.aio.AioRpcError as error:
        if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
            raise
        return None


async def test_a_full_queue_takes_no_challenge(redis: Redis, tmp_path: Path) -> None:
    """It is refused with a time to retry, and does not count."""
    arena = await start(make_backend(redis, tmp_path, queue_cap=1))
    ada, _ = await add_bots(arena)
    await ada.RequestMatch(challenge())
    code, error = await refused(ada.RequestMatch(challenge()))
    assert (code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUEUE_FULL")
    quota = (await ada.GetIdentity(accounts_pb2.GetIdentityRequest())).quotas.challenges
    assert quota.used == 1
    await arena.close()
    await arena.server.stop(grace=timedelta(0))


async def test_only_who_asked_cancels(arena: Arena) -> None:
    """Not the opponent; an operator, who is an author too, may. What ended is not cancelled."""
    ada, bob = await add_bots(arena)
    both = await arena.login("olga", Scope.AUTHOR, Scope.OPERATOR)
    match = (await ada.RequestMatch(challenge())).match.id
    request = matches_pb2.CancelMatchRequest(match=match)
    code, _ = await refused(bob.CancelMatch(request))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert (await both.CancelMatch(request)).cancelled
    code, _ = await refused(ada.CancelMatch(request))
    assert code is grpc.StatusCode.NOT_FOUND
    await ada.RequestMatch(challenge())
    ended = await play(arena)
    code, _ = await refused(ada.CancelMatch(matches_pb2.CancelMatchRequest(match=ended)))
    assert code is grpc.StatusCode.FAILED_PRECONDITION


async def test_an_ended_match_tells_what_came_of_it(arena: Arena) -> None:
    """Scores, points, forfeits, terminations and times."""
    ada, _ = await add_bots(arena)
    await ada.RequestMatch(challenge())
    match_id = await play(arena)
    match = (await ada.GetMatch(matches_pb2.GetMatchRequest(match=match_id))).match
    assert match.state == matches_pb2.MATCH_STATE_ENDED
    assert (match.game_count, dict(match.terminations)) == (4, {"finished": 3, "forfeit": 1})
    first, second = match.entrants
    assert (first.score, first.points, list(first.forfeits)) == (0.75, 12, [])
    assert (second.score, second.points) == (0.25, -12)
    assert [(each.reason, each.games) for each in second.forfeits] == [("timeout", 1)]
    assert match.played.ToTimedelta() == timedelta(seconds=2)
    assert match.end_time.seconds > 0
    assert match.seed_commitment == ""
    for wrong in ("nothing", "", "../etc"):
        code, _ = await refused(ada.GetMatch(matches_pb2.GetMatchRequest(match=wrong)))
        assert code is grpc.StatusCode.NOT_FOUND


async def test_matches_come_in_pages_newest_first(arena: Arena) -> None:
    """All of them once, also those of one bot alone."""
    ada, _ = await add_bots(arena)
    played = []
    for _ in range(5):
        await ada.RequestMatch(challenge())
        played.append(await play(arena))
    for filters in ({}, {"ruleset": RULESET}, {"bot": "adas"}):
        seen, token = [], ""
        while True:
            request = matches_pb2.ListMatchesRequest(page_size=2, page_token=token, **filters)
            answer = await ada.ListMatches(request)
            seen += [match.id for match in answer.matches]
            token = answer.next_page_token
            if not token:
                break
        assert seen == played[::-1]
    answer = await ada.ListMatches(matches_pb2.ListMatchesRequest(bot="nobody"))
    assert (list(answer.matches), answer.next_page_token) == ([], "")


async def test_a_replay_is_public_once_the_match_has_ended(arena: Arena) -> None:
    """Not a moment earlier, though it is archived before; it comes in pieces."""
    ada, _ = await add_bots(arena)
    match = (await ada.RequestMatch(challenge())).match.id
    replay = secrets.token_bytes(2 * CHUNK + 5)
    arena.backend.archive.put_replay(RULESET, match, replay)
    request = matches_pb2.GetReplayRequest(match=match, ruleset=RULESET)
    code, error = await refused(anext(aiter(ada.GetReplay(request))))
    assert (code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_ENDED")
    await play(arena, replay=replay)
    parts = await all_of(arena.stranger().GetReplay(request))
    assert [len(part.chunk) for part in parts] == [CHUNK, CHUNK, 5]
    assert b"".join(part.chunk for part in parts) == replay


@pytest.mark.parametrize("keep", [100, 0], ids=["in the log", "older than the log"])
async def test_replay_and_logs_are_those_that_were_committed(keep: int, arena: Arena) -> None:
    """A worker that lost the lease stores its own play too late, and changes nothing."""
    ada, _ = await add_bots(arena)
    await ada.RequestMatch(challenge())
    match = await play(arena, replay=b"committed", logs={"t0-e0": b"committed"})
    digest = (archive := arena.backend.archive).put_replay(RULESET, match, b"late")
    archive.put_log(RULESET, match, "t0-e0", b"late", digest=digest)
    await archive_old(arena.backend.queues.ladder(RULESET), archive, keep=keep, segment=1)
    if keep:
        (log,) = await all_of(ada.GetMatchLog(matches_pb2.GetMatchLogRequest(match=match)))
        assert log.text == "committed"
    request = matches_pb2.GetReplayRequest(match=match, ruleset=RULESET)
    (part,) = await all_of(ada.GetReplay(request))
    assert part.chunk == b"committed"


async def test_a_replay_that_is_gone_is_not_found(arena: Arena) -> None:
    """Of an ended match, too, when it was removed to make room."""
    ada, _ = await add_bots(arena)
    await ada.RequestMatch(challenge())
    match = await play(arena)
    for request in (
        matches_pb2.GetReplayRequest(match=match),
        matches_pb2.GetReplayRequest(match="nothing", ruleset=RULESET),
        matches_pb2.GetReplayRequest(match="../../bots", ruleset=RULESET),
    ):
        code, _ = await refused(anext(aiter(ada.GetReplay(request))))
        assert code is grpc.StatusCode.NOT_FOUND


async def test_a_log_is_its_owners_alone(arena: Arena) -> None:
    """Each owner sees what the own bot printed; a third one, operator or not, nothing."""
    ada, bob = await add_bots(arena)
    await ada.RequestMatch(challenge())
    text = "ä" * 40_000
    match = await play(
        arena, logs={"t0-e0": text.encode(), "t1-e0": b"second", "t0-e1": b"bob's secret"}
    )
    request = matches_pb2.GetMatchLogRequest(match=match)
    parts = await all_of(ada.GetMatchLog(request))
    assert "".join(part.text for part in parts if part.process.table == 0) == text
    assert parts[-1].text == "second"
    assert (parts[-1].process.version, parts[-1].process.table) == ("adas@1", 1)
    (only,) = await all_of(bob.GetMatchLog(request))
    assert (only.text, only.process.entrant) == ("bob's secret", 1)
    eve = await arena.login("eve", Scope.AUTHOR, Scope.OPERATOR, Scope.ADMIN)
    code, error = await refused(anext(aiter(eve.GetMatchLog(request))))
    assert (code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_YOUR_BOT")


async def test_a_log_is_withheld_until_the_match_has_ended(arena: Arena) -> None:
    """A match that is void is played again with the same seed."""
    ada, _ = await add_bots(arena)
    match = (await ada.RequestMatch(challenge())).match.id
    arena.backend.archive.put_log(RULESET, match, "t0-e0", b"early", digest=RESULT.digest)
    request = matches_pb2.GetMatchLogRequest(match=match)
    code, _ = await refused(anext(aiter(ada.GetMatchLog(request))))
    assert code is grpc.StatusCode.FAILED_PRECONDITION


async def test_a_match_is_watched_to_its_end(arena: Arena) -> None:
    """Waiting, being played, ended; then the stream is over. A cancelled one ends, too."""
    ada, _ = await add_bots(arena)
    match = (await ada.RequestMatch(challenge())).match.id
    request = matches_pb2.WatchMatchRequest(match=match)
    stream = aiter(ada.WatchMatch(request))
    assert (await anext(stream)).match.state == matches_pb2.MATCH_STATE_WAITING
    await play(arena)
    rest = [each.match.state async for each in stream]
    assert rest == [matches_pb2.MATCH_STATE_ENDED]
    other = (await ada.RequestMatch(challenge())).match.id
    stream = aiter(ada.WatchMatch(matches_pb2.WatchMatchRequest(match=other)))
    await anext(stream)
    await ada.CancelMatch(matches_pb2.CancelMatchRequest(match=other))
    rest = [each.match.state async for each in stream]
    assert rest == [matches_pb2.MATCH_STATE_CANCELLED]


async def test_results_are_watched_as_they_come(arena: Arena) -> None:
    """From now on, or from a sequence on; nothing is left out in between."""
    ada, _ = await add_bots(arena)
    await ada.RequestMatch(challenge())
    first = await play(arena)
    request = matches_pb2.WatchMatchesRequest(ruleset=RULESET)
    watching = aiter(arena.stranger().WatchMatches(request))
    coming = asyncio.ensure_future(anext(watching))

    async def is_open() -> bool:
        return arena.server._streams._open[""] > 0

    await until(is_open)
    await asyncio.sleep(0.1)
    await ada.RequestMatch(challenge())
    second = await play(arena)
    told = (await coming).match
    assert told.id == second
    request = matches_pb2.WatchMatchesRequest(ruleset=RULESET, bot="adas", after_sequence=0)
    again = aiter(ada.WatchMatches(request))
    assert [(await anext(again)).match.id for _ in range(2)] == [first, second]


async def test_what_tells_cards_is_sealed_until_the_round_has_ended(arena: Arena) -> None:
    """The matches of a round share their boards, so neither replay nor log of one is given out."""
    ada, _ = await add_bots(arena)
    rules = CompetitionRules(
        ruleset=RULESET, format=Format.ROUND_ROBIN, options=Options(), time_control="5+0.05"
    )
    assert await arena.backend.competitions.create("t-cup", rules)
    spec = MatchSpec(
        id="t-cup.r1.m1",
        ruleset=RULESET,
        flow="t:cup",
        entrants=("adas@1", "bobs@1"),
        boards=1,
        seed=bytes(32),
        time_control="5+0.05",
        rated=False,
        cost=2,
    )
    await arena.backend.queues.queue(RULESET).enqueue(spec, flow_weight=1, cap=10, epoch=None)
    assert await play(arena, replay=b"all cards", logs={"t0-e0": b"my cards"}) == spec.id
    for stream in (
        ada.GetReplay(matches_pb2.GetReplayRequest(match=spec.id)),
        ada.GetMatchLog(matches_pb2.GetMatchLogRequest(match=spec.id)),
    ):
        code, error = await refused(anext(aiter(stream)))
        assert (code, error.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SEALED")
    match = (await ada.GetMatch(matches_pb2.GetMatchRequest(match=spec.id))).match
    assert match.state == matches_pb2.MATCH_STATE_ENDED
