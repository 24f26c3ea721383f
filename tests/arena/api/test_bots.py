"""Bots and ladders: seen, activated, retired, suspended."""

from typing import Any

import grpc

from arena.owners.tokens import Scope
from arena.queue.models import MatchSpec
from arena.v1 import bots_pb2, ladders_pb2
from tests.arena.api.calling import Arena, add, bot_archive, refused, submit


def get_bot(name: str) -> bots_pb2.GetBotRequest:
    """Return the request for a bot."""
    return bots_pb2.GetBotRequest(bot=name)


async def test_a_stranger_sees_a_bot_but_not_its_versions(arena: Arena) -> None:
    """Its owner and operators see both, other authors do not."""
    ada, bob = await arena.login("ada"), await arena.login("bob")
    operator = await arena.login("olga", Scope.OPERATOR)
    await submit(ada, bot_archive("greedy"))
    await arena.accept("greedy@1")
    await submit(ada, bot_archive("greedy", content="two"))
    for calls, seen in (
        (arena.stranger(), []),
        (bob, []),
        (ada, ["greedy@2", "greedy@1"]),
        (operator, ["greedy@2", "greedy@1"]),
    ):
        answer = await calls.GetBot(get_bot("greedy"))
        assert [version.id for version in answer.versions] == seen
        assert (answer.bot.active_version, answer.bot.version_count) == ("greedy@1", 2)
        (place,) = answer.places
        assert (place.ruleset, place.place, place.rating) == ("quasenbo", 1, 1500)
    code, _ = await refused(ada.GetBot(get_bot("nobody")))
    assert code is grpc.StatusCode.NOT_FOUND


async def test_a_foreign_version_is_denied_and_a_missing_one_not_found(arena: Arena) -> None:
    """That the bot is there is public; its versions are not."""
    ada, bob = await arena.login("ada"), await arena.login("bob")
    await submit(ada, bot_archive("greedy"))
    code, error = await refused(bob.GetVersion(bots_pb2.GetVersionRequest(version="greedy@1")))
    assert (code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "NOT_YOUR_BOT")
    watching = bob.WatchVersion(bots_pb2.WatchVersionRequest(version="greedy@1"))
    code, _ = await refused(anext(aiter(watching)))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    for text in ("greedy@9", "nobody@1", "", "greedy"):
        code, _ = await refused(ada.GetVersion(bots_pb2.GetVersionRequest(version=text)))
        assert code is grpc.StatusCode.NOT_FOUND


async def test_an_older_version_comes_back(arena: Arena) -> None:
    """Only an accepted one, and only by the bot's owner."""
    ada, bob = await arena.login("ada"), await arena.login("bob")
    for content in "abc":
        await submit(ada, bot_archive("greedy", content=content))
    await arena.accept("greedy@1", "greedy@2")
    request = bots_pb2.ActivateVersionRequest(version="greedy@1")
    code, _ = await refused(bob.ActivateVersion(request))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert (await ada.ActivateVersion(request)).bot.active_version == "greedy@1"
    code, error = await refused(
        ada.ActivateVersion(bots_pb2.ActivateVersionRequest(version="greedy@3"))
    )
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "uploaded" in str(error)


async def test_a_retired_bot_leaves_its_ladders_and_returns(arena: Arena) -> None:
    """Its owner retires it, and activates a version to bring it back."""
    ada, bob = await arena.login("ada"), await arena.login("bob")
    await submit(ada, bot_archive("greedy"))
    await arena.accept("greedy@1")
    request = bots_pb2.RetireBotRequest(bot="greedy")
    code, _ = await refused(bob.RetireBot(request))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    assert (await ada.RetireBot(request)).bot.state == bots_pb2.BOT_STATE_RETIRED
    assert await arena.backend.queues.ladder("quasenbo").size() == 0
    answer = await ada.ActivateVersion(bots_pb2.ActivateVersionRequest(version="greedy@1"))
    assert answer.bot.state == bots_pb2.BOT_STATE_ACTIVE
    assert await arena.backend.queues.ladder("quasenbo").size() == 1


async def test_an_operator_suspends_and_resumes(arena: Arena) -> None:
    """The owner sees why and can do nothing about it; a stranger sees only that."""
    ada, operator = await arena.login("ada"), await arena.login("olga", Scope.OPERATOR)
    await submit(ada, bot_archive("greedy"))
    await arena.accept("greedy@1")
    code, _ = await refused(ada.SuspendBot(bots_pb2.SuspendBotRequest(bot="greedy", reason="mine")))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    code, _ = await refused(operator.SuspendBot(bots_pb2.SuspendBotRequest(bot="greedy")))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    await operator.SuspendBot(bots_pb2.SuspendBotRequest(bot="greedy", reason="it mines coins"))
    assert (await ada.GetBot(get_bot("greedy"))).bot.reason == "it mines coins"
    seen = (await arena.stranger().GetBot(get_bot("greedy"))).bot
    assert (seen.state, seen.reason) == (bots_pb2.BOT_STATE_SUSPENDED, "")
    assert await arena.backend.queues.ladder("quasenbo").size() == 0
    for answer in (
        ada.ActivateVersion(bots_pb2.ActivateVersionRequest(version="greedy@1")),
        ada.RetireBot(bots_pb2.RetireBotRequest(bot="greedy")),
        submit(ada, bot_archive("greedy", content="two")),
    ):
        code, _ = await refused(answer)
        assert code is grpc.StatusCode.FAILED_PRECONDITION
    resumed = await operator.ResumeBot(bots_pb2.ResumeBotRequest(bot="greedy"))
    assert resumed.bot.state == bots_pb2.BOT_STATE_ACTIVE
    assert await arena.backend.queues.ladder("quasenbo").size() == 1
    code, _ = await refused(operator.ResumeBot(bots_pb2.ResumeBotRequest(bot="greedy")))
    assert code is grpc.StatusCode.FAILED_PRECONDITION


async def test_bots_and_ladders_come_in_pages(arena: Arena) -> None:
    """Every entry comes once, in order, and a token of another list is refused."""
    ada = await arena.login("ada")
    for number in range(5):
        await submit(ada, bot_archive(f"bot{number}"))
        await arena.accept(f"bot{number}@1")
    reader, names, token = arena.stranger(), [], ""
    while True:
        request = bots_pb2.ListBotsRequest(page_size=2, page_token=token)
        answer = await reader.ListBots(request)
        names += [bot.name for bot in answer.bots]
        token = answer.next_page_token
        if not token:
            break
        last = token
    assert names == [f"bot{number}" for number in range(5)]
    for wrong in ("x", "e30=", last):
        code, error = await refused(
            reader.GetLadder(ladders_pb2.GetLadderRequest(ruleset="quasenbo", page_token=wrong))
        )
        assert (code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "PAGE_TOKEN")
    first = await reader.GetLadder(ladders_pb2.GetLadderRequest(ruleset="quasenbo", page_size=3))
    second = await reader.GetLadder(
        ladders_pb2.GetLadderRequest(
            ruleset="quasenbo", page_size=3, page_token=first.next_page_token
        )
    )
    entries = [*first.entries, *second.entries]
    assert [entry.place for entry in entries] == [1, 2, 3, 4, 5]
    assert {entry.bot for entry in entries} == set(names)
    assert entries[0].owner == "ada"
    assert (first.ladder.bot_count, second.next_page_token) == (5, "")
    code, _ = await refused(reader.ListBots(bots_pb2.ListBotsRequest(page_size=-1)))
    assert code is grpc.StatusCode.INVALID_ARGUMENT


async def test_bots_are_found_by_owner_and_by_ladder(arena: Arena) -> None:
    """And an unknown ladder is named."""
    ada, bob = await arena.login("ada"), await arena.login("bob")
    await submit(ada, bot_archive("one"))
    await submit(bob, bot_archive("two", rulesets='"pese-katesh"'))
    await arena.accept("one@1", "two@1")
    reader = arena.stranger()
    for request, name in (
        (bots_pb2.ListBotsRequest(owner="bob"), "two"),
        (bots_pb2.ListBotsRequest(ruleset="quasenbo"), "one"),
    ):
        assert [bot.name for bot in (await reader.ListBots(request)).bots] == [name]
    ladders = (await reader.ListLadders(ladders_pb2.ListLaddersRequest())).ladders
    assert [ladder.ruleset for ladder in ladders] == ["pese-katesh", "quasenbo"]
    for text, status in (("chess", "INVALID_ARGUMENT"), ("quasenbo:players=3", "NOT_FOUND")):
        code, _ = await refused(reader.ListBots(bots_pb2.ListBotsRequest(ruleset=text)))
        assert code.name == status


BOTH = '"quasenbo", "pese-katesh"'


async def test_an_admin_adds_a_bot_of_the_house(arena: Arena) -> None:
    """It plays at once, untried; the same folder again is the same version."""
    admin = await arena.login("root", Scope.ADMIN)
    answer = await add(admin, bot_archive("greedy"))
    assert (answer.bot.owner, answer.bot.house) == ("house", True)
    assert answer.bot.state == bots_pb2.BOT_STATE_ACTIVE
    assert (answer.version.id, answer.version.active, answer.is_new) == ("greedy@1", True, True)
    assert answer.version.state == bots_pb2.VERSION_STATE_ACCEPTED
    assert await arena.backend.queues.ladder("quasenbo").size() == 1
    assert (await arena.backend.registry.version("greedy@1")).trusted
    again = await add(admin, bot_archive("greedy"))
    assert (again.version.id, again.is_new) == ("greedy@1", False)
    other = await add(admin, bot_archive("other"), owner="ada")
    assert (other.bot.owner, other.bot.house) == ("ada", False)
    code, _ = await refused(add(admin, bot_archive("greedy", content="two"), owner="ada"))
    assert code is grpc.StatusCode.FAILED_PRECONDITION


async def test_nobody_but_an_admin_adds_a_bot(arena: Arena) -> None:
    """As its code may run outside the sandbox; an archive that holds no bot is refused."""
    for scope in (Scope.AUTHOR, Scope.OPERATOR):
        calls = await arena.login("ada", scope)
        code, error = await refused(add(calls, bot_archive("greedy")))
        assert (code, error.reason) == (grpc.StatusCode.PERMISSION_DENIED, "SCOPE_MISSING")
    code, _ = await refused(add(arena.stranger(), bot_archive("greedy")))
    assert code is grpc.StatusCode.UNAUTHENTICATED
    admin = await arena.login("root", Scope.ADMIN)
    code, _ = await refused(add(admin, b"no archive"))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert not await arena.backend.registry.bots()


async def test_a_bot_with_fewer_rulesets_leaves_its_other_ladders(arena: Arena) -> None:
    """And its matches there are cancelled."""
    admin, queues = await arena.login("root", Scope.ADMIN), arena.backend.queues
    for name in ("one", "two"):
        await add(admin, bot_archive(name, rulesets=BOTH))
    spec = MatchSpec(
        id="ladder-000001",
        ruleset="quasenbo",
        flow="ladder",
        entrants=("one@1", "two@1"),
        boards=2,
        seed=bytes(32),
        time_control="5+0.05",
        rated=True,
        cost=4,
    )
    await queues.queue("quasenbo").enqueue(spec, flow_weight=1, cap=10, epoch=None)
    answer = await add(admin, bot_archive("one", rulesets='"pese-katesh"'))
    assert (list(answer.bot.rulesets), answer.cancelled_matches) == (["pese-katesh"], 1)
    assert [await queues.ladder(each).size() for each in ("quasenbo", "pese-katesh")] == [1, 2]
    assert (await queues.queue("quasenbo").counts()).ready == 0


async def test_an_operator_lets_a_rejected_version_be_tried_again(arena: Arena) -> None:
    """Its author cannot; a version that was not rejected stays as it is."""
    ada, operator = await arena.login("ada"), await arena.login("olga", Scope.OPERATOR)
    await submit(ada, bot_archive("greedy"))
    request = bots_pb2.RecheckVersionRequest(version="greedy@1")
    code, _ = await refused(ada.RecheckVersion(request))
    assert code is grpc.StatusCode.PERMISSION_DENIED
    code, _ = await refused(operator.RecheckVersion(request))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert not (await ada.GetBot(get_bot("greedy"))).bot.rejected
    redis, key = arena.backend.redis, "{arena}:versions"
    text: Any = await redis.hget(key, "greedy@1")
    await redis.hset(key, "greedy@1", text.replace(b'"uploaded"', b'"rejected"'))
    assert (await ada.GetBot(get_bot("greedy"))).bot.rejected
    (listed,) = (await arena.stranger().ListBots(bots_pb2.ListBotsRequest())).bots
    assert listed.rejected
    answer = await operator.RecheckVersion(request)
    assert (answer.waits, answer.version.state) == (True, bots_pb2.VERSION_STATE_UPLOADED)
