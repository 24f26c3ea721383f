"""How much an owner's versions may take together."""

import random
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from redis.asyncio import Redis

from arena.bots.registry import VersionState
from arena.bots.trials import Trials
from arena.queue.models import MatchSpec
from arena.v1 import bots_pb2
from tests.arena.api.calling import Arena, Calls, bot_archive, make_backend, refused, start, submit

VERSION_BYTES = 20_000
"""About what one version of these tests takes."""

BOUND = 7 * VERSION_BYTES + VERSION_BYTES // 2


def archive_of(name: str, number: int) -> bytes:
    """Return a bot of `VERSION_BYTES` that no compression makes smaller."""
    noise = random.Random(f"{name} {number}").randbytes(VERSION_BYTES * 6 // 5)
    # Six and a half bits of eight are left of each byte.
    return bot_archive(name, content="".join(chr(32 + each % 94) for each in noise))


@pytest.fixture
async def arena(redis: Redis, tmp_path: Path) -> AsyncIterator[Arena]:
    """An arena where an owner has room for seven versions."""
    made = await start(make_backend(redis, tmp_path, owner_bytes=BOUND))
    yield made
    await made.close()
    await made.server.stop(grace=timedelta(0))


async def fill(arena: Arena, ada: Calls, name: str, count: int) -> None:
    """Submit versions of a bot; each becomes the active one."""
    for number in range(1, count + 1):
        await submit(ada, archive_of(name, number))
        await arena.accept(f"{name}@{number}")


async def states(arena: Arena, name: str) -> str:
    """Return the first letters of the states of a bot's versions."""
    return "".join(each.state[0] for each in await arena.backend.registry.versions_of(name))


async def test_the_oldest_version_makes_room(arena: Arena) -> None:
    """Its files go, an activation says so, and the same folder brings it back."""
    ada = await arena.login("ada")
    await fill(arena, ada, "one", 8)
    assert await states(arena, "one") == "raaaaaaa"
    first = await arena.backend.registry.version("one@1")
    assert not arena.backend.archive.has_bot(first.digest)
    code, error = await refused(
        ada.ActivateVersion(bots_pb2.ActivateVersionRequest(version="one@1"))
    )
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "submit the same folder again" in str(error)
    assert not (await submit(ada, archive_of("one", 1))).is_new
    assert await states(arena, "one") == "uraaaaaa"
    assert arena.backend.archive.has_bot(first.digest)
    assert sum(arena.backend.archive.bot_sizes().values()) <= BOUND


async def test_what_is_needed_stays_and_the_upload_is_refused(arena: Arena) -> None:
    """The active version, the latest five, and what a match waits for; nothing is left behind."""
    ada = await arena.login("ada")
    await fill(arena, ada, "one", 7)
    await arena.backend.registry.activate("one@1")
    spec = MatchSpec(
        id="m-1", ruleset="quasenbo", flow="ladder", entrants=("one@2", "one@7"), boards=1,
        seed=bytes(32), time_control="5+0.05", rated=False, cost=2,
    )  # fmt: skip
    queue = arena.backend.queues.queue("quasenbo")
    await queue.enqueue(spec, flow_weight=1, cap=10, epoch=None)
    before = arena.backend.archive.bot_sizes()
    code, error = await refused(submit(ada, archive_of("one", 8)))
    assert (code, error.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "TOO_MANY_BYTES")
    assert "arena bot retire" in str(error)
    assert await states(arena, "one") == "aaaaaaa"
    assert arena.backend.archive.bot_sizes() == before
    await queue.cancel("m-1")
    assert (await submit(ada, archive_of("one", 8))).is_new
    assert await states(arena, "one") == "araaaaau"


async def test_a_retired_bot_makes_room_for_others(arena: Arena) -> None:
    """As the refusal says; other owners have room of their own."""
    ada, bob = await arena.login("ada"), await arena.login("bob")
    await fill(arena, ada, "one", 5)
    await fill(arena, ada, "two", 2)
    await fill(arena, bob, "three", 5)
    code, _ = await refused(submit(ada, archive_of("two", 3)))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    await ada.RetireBot(bots_pb2.RetireBotRequest(bot="one"))
    assert (await submit(ada, archive_of("two", 3))).is_new
    assert await states(arena, "one") == "raaaa"
    assert (await arena.backend.registry.version("three@1")).state is VersionState.ACCEPTED


async def test_what_a_build_made_goes_with_its_source(arena: Arena, tmp_path: Path) -> None:
    """Both count, both go, and whoever submits the source again has it built again."""
    ada = await arena.login("ada")
    await submit(ada, archive_of("one", 1))
    source = (await arena.backend.registry.version("one@1")).digest
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "bot").write_bytes(random.Random(1).randbytes(VERSION_BYTES))
    built = arena.backend.archive.put_bot(tmp_path / "built")
    trials, hour = Trials(arena.backend.redis), timedelta(hours=1)
    claim = await trials.claim(token="0" * 32, duration=hour)
    assert claim is not None
    await trials.note(claim, duration=hour, digest=built)
    await arena.accept("one@1")
    for number in range(2, 8):
        await submit(ada, archive_of("one", number))
        await arena.accept(f"one@{number}")
    assert await states(arena, "one") == "raaaaaa"
    assert not {source, built} & arena.backend.archive.bot_sizes().keys()
    await submit(ada, archive_of("one", 1))
    again = await arena.backend.registry.version("one@1")
    assert (again.digest, again.is_built, again.state) == (source, False, VersionState.UPLOADED)
