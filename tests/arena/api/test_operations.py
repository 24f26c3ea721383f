"""What operators see and do."""

import secrets
from datetime import timedelta

import grpc

from arena.db.presence import Announcement, Presence
from arena.owners.tokens import Scope
from arena.queue.models import MatchSpec, RetryPolicy
from arena.queue.retention import archive_old
from arena.v1 import matches_pb2, operations_pb2
from tests.arena.api.calling import Arena, bot_archive, refused, submit
from tests.arena.api.test_matches import RESULT, RULESET


async def add_match(arena: Arena, match_id: str = "ladder-000001") -> None:
    """Queue a rated match of two bots."""
    ada = await arena.login("ada")
    for name in ("one", "two"):
        await submit(ada, bot_archive(name))
        await arena.accept(f"{name}@1")
    spec = MatchSpec(
        id=match_id,
        ruleset=RULESET,
        flow="ladder",
        entrants=("one@1", "two@1"),
        boards=2,
        seed=bytes(32),
        time_control="5+0.05",
        rated=True,
        cost=4,
    )
    await arena.backend.queues.queue(RULESET).enqueue(spec, flow_weight=1, cap=10, epoch=None)


async def lose(arena: Arena) -> None:
    """Void the next match until it is dead."""
    queue = arena.backend.queues.queue(RULESET)
    while True:
        lease = await queue.lease("w1", token=secrets.token_hex(16), duration=timedelta(seconds=30))
        if lease is None:
            return
        await queue.void(lease, reason="the referee lagged")


async def test_a_queue_is_counted(arena: Arena) -> None:
    """Matches by state and flow, and what the archive holds with its bounds."""
    operator = await arena.login("olga", Scope.OPERATOR)
    await add_match(arena)
    answer = await operator.GetQueue(operations_pb2.GetQueueRequest())
    (queue,) = answer.queues
    assert (queue.ruleset, queue.ready, queue.dead) == (RULESET, 1, 0)
    assert [(flow.name, flow.waiting) for flow in queue.flows] == [("ladder", 1)]
    usages = {usage.kind: usage for usage in answer.usages}
    assert usages["bots"].files == 2
    settings = arena.backend.settings
    assert usages["replays"].limit_bytes == settings.replay_bytes
    assert answer.owner_limit_bytes == settings.owner_bytes > 0
    cache = arena.backend.archive.cache
    assert (answer.cache.kind, answer.cache.files) == ("cache", 0)
    digest = (await arena.backend.registry.version("one@1")).digest
    arena.backend.archive.unpack_bot(digest)
    answer = await operator.GetQueue(operations_pb2.GetQueueRequest())
    assert (answer.cache.files, answer.cache.limit_bytes) == (1, settings.cache_bytes)
    assert answer.cache.size_bytes == sum(cache.sizes().values()) > 0


async def test_a_dead_match_is_retried_or_purged(arena: Arena) -> None:
    """Only a dead one; the queue shows it with its reason."""
    operator = await arena.login("olga", Scope.OPERATOR)
    await add_match(arena)
    arena.backend.queues.queue(RULESET)._policy = RetryPolicy(voids=1)
    retry = operations_pb2.RetryMatchRequest(match="ladder-000001")
    code, _ = await refused(operator.RetryMatch(retry))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    await lose(arena)
    (queue,) = (await operator.GetQueue(operations_pb2.GetQueueRequest())).queues
    (dead,) = queue.dead_matches
    assert (dead.match, dead.reason) == ("ladder-000001", "the referee lagged")
    assert list(dead.versions) == ["one@1", "two@1"]
    answer = await operator.RetryMatch(retry)
    assert answer.match.state == matches_pb2.MATCH_STATE_WAITING
    await lose(arena)
    await operator.PurgeMatch(operations_pb2.PurgeMatchRequest(match="ladder-000001"))
    code, _ = await refused(operator.GetMatch(matches_pb2.GetMatchRequest(match="ladder-000001")))
    assert code is grpc.StatusCode.NOT_FOUND


async def test_all_dead_matches_are_retried_or_purged(arena: Arena) -> None:
    """Of one ladder or of all, by operators alone; how many is told."""
    operator, ada = await arena.login("olga", Scope.OPERATOR), await arena.login("ada")
    for number in range(3):
        await add_match(arena, f"ladder-{number:06}")
    arena.backend.queues.queue(RULESET)._policy = RetryPolicy(voids=1)
    await arena.backend.queues.open_ladder("pese-katesh")
    await lose(arena)
    retry, purge = operations_pb2.RetryMatchesRequest(), operations_pb2.PurgeMatchesRequest()
    for call in (ada.RetryMatches(retry), ada.PurgeMatches(purge)):
        code, _ = await refused(call)
        assert code is grpc.StatusCode.PERMISSION_DENIED
    other = operations_pb2.RetryMatchesRequest(ruleset="pese-katesh")
    assert (await operator.RetryMatches(other)).match_count == 0
    assert (await operator.RetryMatches(retry)).match_count == 3
    assert (await arena.backend.queues.queue(RULESET).counts()).ready == 3
    await lose(arena)
    purge.ruleset = RULESET
    assert (await operator.PurgeMatches(purge)).match_count == 3
    assert (await arena.backend.queues.queue(RULESET).counts()).dead == 0
    purge.ruleset = "quasenbo:players=3"
    code, _ = await refused(operator.PurgeMatches(purge))
    assert code is grpc.StatusCode.NOT_FOUND


async def test_an_operator_cancels_any_match(arena: Arena) -> None:
    """One of the ladder, too; its bots' owner and an admin cannot."""
    await add_match(arena)
    request = matches_pb2.CancelMatchRequest(match="ladder-000001")
    code, error = await refused((await arena.login("ada")).CancelMatch(request))
    assert (code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_YOUR_MATCH")
    code, error = await refused((await arena.login("root", Scope.ADMIN)).CancelMatch(request))
    assert (code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")
    operator = await arena.login("olga", Scope.OPERATOR)
    assert (await operator.CancelMatch(request)).cancelled
    assert (await arena.backend.queues.queue(RULESET).counts()).ready == 0


async def test_a_match_that_the_ladder_has_forgotten_is_annulled(arena: Arena) -> None:
    """Whoever names its ladder finds it in the archive."""
    operator = await arena.login("olga", Scope.OPERATOR)
    await add_match(arena)
    queue, ladder = arena.backend.queues.queue(RULESET), arena.backend.queues.ladder(RULESET)
    lease = await queue.lease("w1", token=secrets.token_hex(16), duration=timedelta(seconds=30))
    assert lease is not None
    await queue.commit(lease, RESULT)
    await ladder.enter("late")
    await archive_old(ladder, arena.backend.archive, keep=1, segment=1)
    request = operations_pb2.AnnulMatchRequest(match="ladder-000001", reason="a bug of ours")
    code, _ = await refused(operator.AnnulMatch(request))
    assert code is grpc.StatusCode.NOT_FOUND
    request.ruleset = RULESET
    answer = await operator.AnnulMatch(request)
    assert (answer.annulled, answer.match.annul_reason) == (True, "a bug of ours")
    restored = await ladder.rating("one")
    assert restored is not None
    assert restored.rating == 1500_000_000


async def test_a_queue_counts_what_has_ended(arena: Arena) -> None:
    """As `arena queue show` does."""
    operator = await arena.login("olga", Scope.OPERATOR)
    await add_match(arena)
    queue = arena.backend.queues.queue(RULESET)
    lease = await queue.lease("w1", token=secrets.token_hex(16), duration=timedelta(seconds=30))
    assert lease is not None
    await queue.commit(lease, RESULT)
    (counted,) = (await operator.GetQueue(operations_pb2.GetQueueRequest())).queues
    assert (counted.ready, counted.leased, counted.done) == (0, 0, 1)


async def test_an_annulled_match_leaves_the_ratings(arena: Arena) -> None:
    """The reason is shown with it; a second time changes nothing."""
    operator = await arena.login("olga", Scope.OPERATOR)
    await add_match(arena)
    request = operations_pb2.AnnulMatchRequest(match="ladder-000001", reason="a bug of ours")
    code, _ = await refused(operator.AnnulMatch(request))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    queue, ladder = arena.backend.queues.queue(RULESET), arena.backend.queues.ladder(RULESET)
    lease = await queue.lease("w1", token=secrets.token_hex(16), duration=timedelta(seconds=30))
    assert lease is not None
    await queue.commit(lease, RESULT)
    changed = await ladder.rating("one")
    assert changed is not None
    assert changed.rating > 1500_000_000
    first = await operator.AnnulMatch(request)
    assert (first.annulled, first.match.annul_reason) == (True, "a bug of ours")
    assert not (await operator.AnnulMatch(request)).annulled
    restored = await ladder.rating("one")
    assert restored is not None
    assert restored.rating == 1500_000_000


async def test_whoever_is_alive_is_listed(arena: Arena) -> None:
    """With its kind and its slots."""
    operator = await arena.login("olga", Scope.OPERATOR)
    announcement = Announcement(name="worker:here:1", kind="worker", slots=3, metrics_port=7491)
    await Presence(arena.backend.redis).announce(announcement)
    (worker,) = (await operator.ListWorkers(operations_pb2.ListWorkersRequest())).workers
    assert (worker.name, worker.kind, worker.slots) == ("worker:here:1", "worker", 3)
