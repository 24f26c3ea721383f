"""Uploads: whole, cut off, repeated, wrong, too many, all at once."""

import asyncio
import io
import tarfile
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from redis.asyncio import Redis

from arena.bots.steps import VersionStep, encode_steps
from arena.errors import LimitError
from arena.uploads.archive_limits import ARCHIVE_BYTES
from arena.v1 import accounts_pb2, bots_pb2
from arena.version_id import bot_of
from tests.arena.api.calling import (
    Arena,
    all_of,
    bot_archive,
    make_backend,
    pieces,
    refused,
    start,
    submit,
    until,
    upload,
)

ARCHIVE = bot_archive("greedy")


async def is_empty(arena: Arena) -> bool:
    """Return whether nothing at all was stored of a bot."""
    usage = await asyncio.to_thread(arena.backend.archive.usage)
    return not await arena.backend.registry.bots() and usage["bots"].files == 0


async def test_an_upload_becomes_a_version(arena: Arena) -> None:
    """It is answered at once with the version, which waits to be tried."""
    calls = await arena.login("ada")
    answer = await submit(calls, ARCHIVE)
    version = answer.version
    assert (version.id, answer.is_new, version.active) == ("greedy@1", True, False)
    assert version.state == bots_pb2.VERSION_STATE_UPLOADED
    assert list(version.rulesets) == ["quasenbo"]
    bot = (await calls.GetBot(bots_pb2.GetBotRequest(bot="greedy"))).bot
    assert (bot.owner, bot.state) == ("ada", bots_pb2.BOT_STATE_PENDING)


async def test_the_same_content_again_is_the_same_version(arena: Arena) -> None:
    """Whoever did not get the answer submits again; other content is the next version."""
    calls = await arena.login("ada")
    first = await submit(calls, ARCHIVE)
    again = await submit(calls, ARCHIVE)
    assert (again.is_new, again.version) == (False, first.version)
    other = await submit(calls, bot_archive("greedy", content="two"))
    assert (other.is_new, other.version.id) == (True, "greedy@2")


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "HEADER_MISSING"),
        (pieces(ARCHIVE)[1:], "HEADER_MISSING"),
        (pieces(ARCHIVE)[:-1], "UPLOAD_CUT_OFF"),
        (pieces(ARCHIVE)[:1], "UPLOAD_CUT_OFF"),
        (pieces(ARCHIVE, size=len(ARCHIVE) - 1), "UPLOAD_SIZE"),
        (pieces(ARCHIVE, sha256="0" * 64), "DIGEST_MISMATCH"),
        (pieces(ARCHIVE, sha256="none"), "HEADER"),
        (pieces(ARCHIVE, size=0), "HEADER"),
        (pieces(ARCHIVE, size=ARCHIVE_BYTES + 1), "UPLOAD_TOO_LARGE"),
        ([pieces(ARCHIVE)[0], pieces(ARCHIVE)[0]], "CHUNK_SIZE"),
        (pieces(bytes(70_000), chunk=70_000), "CHUNK_SIZE"),
        ([pieces(ARCHIVE)[0], bots_pb2.SubmitVersionRequest(chunk=b"")], "CHUNK_SIZE"),
    ],
)
async def test_an_upload_that_is_not_what_it_says_leaves_nothing(
    arena: Arena, messages: list[bots_pb2.SubmitVersionRequest], reason: str
) -> None:
    """The reason says what was wrong, and nothing is stored."""
    calls = await arena.login("ada")
    code, error = await refused(upload(calls, messages))
    assert (code, error.reason) == (grpc.StatusCode.INVALID_ARGUMENT, reason)
    assert await is_empty(arena)


async def test_a_caller_who_vanishes_leaves_nothing(arena: Arena) -> None:
    """The call is cancelled in the middle of the archive."""
    calls = await arena.login("ada")
    begun = asyncio.Event()

    async def stream() -> AsyncIterator[bots_pb2.SubmitVersionRequest]:
        yield pieces(ARCHIVE)[0]
        begun.set()
        await asyncio.sleep(60)

    call = calls.SubmitVersion(stream())
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await is_empty(arena)
    assert (await submit(calls, ARCHIVE)).is_new


def hostile(name: str) -> bytes:
    """Return an archive whose one entry has this name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        entry = tarfile.TarInfo(name)
        entry.size = 1
        tar.addfile(entry, io.BytesIO(b"x"))
    return out.getvalue()


@pytest.mark.parametrize(
    "archive",
    [
        b"no archive",
        hostile("../bot.toml"),
        hostile("/bot.toml"),
        hostile("bot.py"),
        bot_archive("Greedy"),
        bot_archive("greedy", rulesets='"chess"'),
    ],
    ids=["bytes", "climbs", "absolute", "no bot.toml", "name", "ruleset"],
)
async def test_an_archive_that_holds_no_bot_is_refused(arena: Arena, archive: bytes) -> None:
    """A clear answer, without the arena's own paths, and nothing stored."""
    calls = await arena.login("ada")
    code, error = await refused(submit(calls, archive))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert str(error)
    assert "/tmp/" not in str(error)  # noqa: S108 -- what must not be told
    assert await is_empty(arena)


async def test_another_owners_bot_cannot_be_submitted(arena: Arena) -> None:
    """The name is taken, and the sentence says what to do."""
    ada, bob = await arena.login("ada"), await arena.login("bob")
    await submit(ada, ARCHIVE)
    code, error = await refused(submit(bob, bot_archive("greedy", content="bob's")))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "choose another name" in str(error)
    assert (await arena.backend.registry.bot("greedy")).versions == 1


async def test_no_token_no_upload(arena: Arena) -> None:
    """A stranger's, and an operator's, are refused before a byte is read."""
    code, _ = await refused(submit(arena.stranger(), ARCHIVE))
    assert code is grpc.StatusCode.UNAUTHENTICATED
    assert await is_empty(arena)


async def test_uploads_within_an_hour_have_a_bound(redis: Redis, tmp_path: Path) -> None:
    """The answer says when to retry, and another owner is not concerned."""
    arena = await start(make_backend(redis, tmp_path, owner_uploads=2))
    ada, bob = await arena.login("ada"), await arena.login("bob")
    for number in range(2):
        await submit(ada, bot_archive("greedy", content=f"{number}"))
    code, error = await refused(submit(ada, ARCHIVE))
    assert (code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_UPLOADS")
    assert isinstance(error, LimitError)
    assert error.retry_after is not None
    assert timedelta(minutes=59) < error.retry_after <= timedelta(hours=1)
    quota = (await ada.GetIdentity(accounts_pb2.GetIdentityRequest())).quotas.uploads
    assert (quota.limit, quota.used) == (2, 2)
    assert (await submit(bob, bot_archive("other"))).is_new
    await arena.close()
    await arena.server.stop(grace=timedelta(0))


async def test_an_owners_bots_have_a_bound(redis: Redis, tmp_path: Path) -> None:
    """Also when all are submitted at once; a version of a bot that is there needs no place."""
    arena = await start(make_backend(redis, tmp_path, owner_bots=3))
    ada = await arena.login("ada")
    answers = await asyncio.gather(
        *(submit(ada, bot_archive(f"bot{number}")) for number in range(8)), return_exceptions=True
    )
    names = [bot_of(each.version.id) for each in answers if not isinstance(each, BaseException)]
    assert len(names) == 3
    assert len(await arena.backend.registry.bots()) == 3
    assert (await submit(ada, bot_archive(names[0], content="next"))).is_new
    await arena.accept(f"{names[1]}@1")
    await ada.RetireBot(bots_pb2.RetireBotRequest(bot=names[1]))
    quota = (await ada.GetIdentity(accounts_pb2.GetIdentityRequest())).quotas.bots
    assert (quota.limit, quota.used) == (3, 2)
    await arena.close()
    await arena.server.stop(grace=timedelta(0))


async def test_two_hundred_uploads_at_once_are_all_answered(redis: Redis, tmp_path: Path) -> None:
    """Of twenty owners, ten versions each, and every one of them is in line to be tried."""
    arena = await start(make_backend(redis, tmp_path))
    owners = [await arena.login(f"owner{number}") for number in range(20)]
    answers = await asyncio.gather(
        *(
            submit(owners[number % 20], bot_archive(f"bot{number % 20}", content=f"{number}"))
            for number in range(200)
        )
    )
    assert all(answer.is_new for answer in answers)
    assert len({answer.version.id for answer in answers}) == 200
    versions = Counter(bot.versions for bot in await arena.backend.registry.bots())
    assert versions == {10: 20}
    assert await redis.zcard("{arena}:trials") == 200
    assert (
        arena.metrics.registry.get_sample_value(
            "arena_api_calls_total", {"method": "SubmitVersion", "code": "OK"}
        )
        == 200
    )
    await arena.close()
    await arena.server.stop(grace=timedelta(0))


async def test_what_was_received_whole_is_stored_without_its_caller(arena: Arena) -> None:
    """Who goes away after the last byte finds the version there."""
    calls = await arena.login("ada")
    sent = asyncio.Event()

    async def stream() -> AsyncIterator[bots_pb2.SubmitVersionRequest]:
        for piece in pieces(ARCHIVE):
            yield piece
        sent.set()

    call = calls.SubmitVersion(stream())
    await sent.wait()

    async def is_received() -> bool:
        return bool(arena.server._uploads._storing) or call.done()

    await until(is_received)
    call.cancel()

    async def is_stored() -> bool:
        return [bot.name for bot in await arena.backend.registry.bots()] == ["greedy"]

    await until(is_stored)


async def note_steps(arena: Arena, version: str, *steps: VersionStep) -> None:
    """Note what a version went through, as its trial would."""
    await arena.backend.redis.hset("{arena}:steps", version, encode_steps(steps))


async def test_a_version_is_watched_until_it_is_settled(arena: Arena) -> None:
    """The stream tells every change and ends with the verdict."""
    calls = await arena.login("ada")
    version = (await submit(calls, ARCHIVE)).version.id
    stream = aiter(calls.WatchVersion(bots_pb2.WatchVersionRequest(version=version)))
    assert (await anext(stream)).version.state == bots_pb2.VERSION_STATE_UPLOADED
    seconds = timedelta(seconds=1.5)
    await note_steps(
        arena, version, VersionStep(name="check", ok=True, detail="all good", elapsed=seconds)
    )
    (step,) = (await anext(stream)).version.steps
    assert (step.name, step.ok, step.detail) == ("check", True, "all good")
    assert step.elapsed.ToTimedelta() == seconds
    await arena.accept(version)
    (last,) = [each.version async for each in stream]
    assert last.state == bots_pb2.VERSION_STATE_ACCEPTED


async def test_what_a_bot_printed_fits_into_a_message(arena: Arena) -> None:
    """Long outputs are cut in the middle, and of very many only the last ones are told."""
    calls = await arena.login("ada")
    version = (await submit(calls, ARCHIVE)).version.id
    steps = [
        VersionStep(name=f"{number}", ok=True, detail="", output="ä" * 9000) for number in range(80)
    ]
    await note_steps(arena, version, *steps)
    told = (await calls.GetVersion(bots_pb2.GetVersionRequest(version=version))).version.steps
    assert [step.name for step in told] == [step.name for step in steps]
    assert told[0].output == "[...]"
    assert 4000 < len(told[-1].output) < 4100


async def test_a_settled_version_ends_the_stream_at_once(arena: Arena) -> None:
    """Whoever comes late gets the verdict alone."""
    calls = await arena.login("ada")
    version = (await submit(calls, ARCHIVE)).version
    await arena.accept(version.id)
    request = bots_pb2.WatchVersionRequest(version=version.id)
    told = [each.version for each in await all_of(calls.WatchVersion(request))]
    got = await calls.GetVersion(bots_pb2.GetVersionRequest(version=version.id))
    assert told == [got.version]
