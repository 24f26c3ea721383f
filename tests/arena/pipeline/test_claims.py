"""Processes that try versions may die, hang or run twice."""

import asyncio
import io
import time
from datetime import timedelta

import pytest

from arena.bots.registry import RejectionCause, VersionState
from arena.bots.steps import VersionStep
from arena.bots.trials import TrialVerdict
from arena.db.claim_queue import Claim
from arena.scheduler.housekeeping import sweep_bots
from arena.uploads import pack_folder
from arena.webhooks.events import verdict_event
from tests.arena.check.making import HONEST
from tests.arena.pipeline.line import Line
from tests.redis_server import EMBEDDED

pytestmark = pytest.mark.redis

LONG = timedelta(seconds=30)
BRIEF = timedelta(milliseconds=30)
STEP = VersionStep(name="start", ok=True, detail="fine", elapsed=timedelta(seconds=1.5))


async def claim(line: Line, token: str = "a" * 32, *, duration: timedelta = LONG) -> Claim:
    """Claim the version that is due, of which there must be one."""
    found = await line.trials.claim(token=token, duration=duration)
    assert found is not None
    return found


async def finish(line: Line, claimed: Claim, reason: str = "") -> TrialVerdict:
    """End a trial."""
    event = verdict_event(version=claimed.id, owner="ada", reason=reason)
    cause = RejectionCause.BOT if reason else None
    return await line.trials.finish(claimed, cause=cause, reason=reason, steps=[STEP], event=event)


async def test_a_version_is_claimed_once(line: Line) -> None:
    """And noted by whoever holds the claim."""
    assert await line.trials.claim(token="b" * 32, duration=LONG) is None
    await line.submit(line.bot())
    first = await claim(line)
    assert (first.id, first.attempt) == ("it@1", 1)
    assert await line.trials.claim(token="b" * 32, duration=LONG) is None
    assert await line.trials.note(first, duration=LONG, state=VersionState.CHECKING, steps=[STEP])
    assert (await line.registry.version("it@1")).state is VersionState.CHECKING
    assert await line.submissions.steps("it@1") == (STEP,)


async def test_an_expired_claim_has_no_effect(line: Line) -> None:
    """The next process has the version; what the one before still says is refused."""
    await line.submit(line.bot())
    first = await claim(line, duration=BRIEF)
    await asyncio.sleep(0.05)
    second = await claim(line, "b" * 32)
    assert second.attempt == 2
    assert not await line.trials.note(first, duration=LONG, state=VersionState.CHECKING)
    assert not await line.trials.give_back(first, wait=LONG, counts=True)
    assert await finish(line, first, "no") is TrialVerdict.LOST
    assert (await line.registry.version("it@1")).state is VersionState.UPLOADED
    assert await finish(line, second) is TrialVerdict.ACTIVE
    assert await finish(line, second) is TrialVerdict.LOST


async def test_a_version_that_is_given_back_waits_again(line: Line) -> None:
    """With one attempt less when it was none."""
    await line.submit(line.bot())
    first = await claim(line)
    assert await line.trials.give_back(first, wait=timedelta(0), counts=False)
    second = await claim(line, "b" * 32)
    assert second.attempt == 1
    assert await line.trials.give_back(second, wait=timedelta(seconds=1), counts=True)
    assert await line.trials.claim(token="c" * 32, duration=LONG) is None
    await asyncio.sleep(1.05)
    assert (await claim(line, "c" * 32)).attempt == 2


@EMBEDDED
async def test_a_stopped_pipeline_gives_back_what_it_tries(line: Line) -> None:
    """Another one tries it at once, and it counts as the first time."""
    await line.submit(line.bot("import time; time.sleep(60)"))
    async with line.running():
        async with asyncio.timeout(20):
            while not await line.submissions.steps("it@1"):  # noqa: ASYNC110 -- no event in Redis
                await asyncio.sleep(0.05)
    assert (await line.registry.version("it@1")).state is VersionState.UPLOADED
    assert (await claim(line)).attempt == 1


@EMBEDDED
async def test_a_dead_pipeline_loses_nothing(line: Line) -> None:
    """Its claim expires, and another one accepts the version."""
    await line.submit(line.bot())
    await claim(line, duration=timedelta(seconds=1))
    async with line.running():
        assert (await line.settled("it@1")).state is VersionState.ACCEPTED
    assert await line.is_active("it@1")


@EMBEDDED
async def test_a_version_that_every_process_dies_of_is_given_up(line: Line) -> None:
    """As our own fault, so that it may be sent again."""
    await line.submit(line.bot())
    for number in range(5):
        await claim(line, f"{number}" * 32, duration=timedelta(0))
    async with line.running():
        version = await line.settled("it@1")
    assert version.state is VersionState.REJECTED
    assert version.reason == "the arena failed: every process that tried it ended"


@EMBEDDED
async def test_a_fault_of_ours_is_tried_again(line: Line) -> None:
    """Until there is no hope; the reason says whose fault it was."""
    await line.submit(line.bot())
    for file in (line.top.parent / "archive").rglob("*.tar.zst"):
        file.unlink()
    async with line.running():
        version = await line.settled("it@1")
    assert version.state is VersionState.REJECTED
    assert version.reason.startswith("the arena failed: the archive")
    again = await line.submit(line.bot())
    assert (again.is_new, again.version.state) == (False, VersionState.UPLOADED)
    async with line.running():
        assert (await line.settled("it@1")).state is VersionState.ACCEPTED


@EMBEDDED
async def test_a_verdict_is_carried_out_by_a_process_that_stops(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a rejected version goes with it, however soon after the verdict the end is."""
    remove = line.archive.remove_bot

    def remove_slowly(digest: str) -> None:
        time.sleep(0.5)
        remove(digest)

    monkeypatch.setattr(line.archive, "remove_bot", remove_slowly)
    async with line.running():
        version = await line.tried(line.bot("raise SystemExit('no model')"))
    assert version.state is VersionState.REJECTED
    assert line.archive.usage()["bots"].files == 0


@EMBEDDED
async def test_folders_of_no_version_are_swept(line: Line) -> None:
    """What a killed process left in the archive goes; what a version needs, or is new, stays."""
    async with line.running():
        accepted = await line.tried(line.bot())
        waiting = await line.submit(line.bot(name="waiting"))
    orphan = await asyncio.to_thread(line.archive.put_bot, line.bot(name="orphan"))
    assert await sweep_bots(line.arena) == 0
    assert await sweep_bots(line.arena, age=timedelta(seconds=-60)) == 1
    assert not line.archive.has_bot(orphan)
    assert line.archive.has_bot(accepted.digest)
    assert line.archive.has_bot(waiting.version.digest)


@EMBEDDED
async def test_two_pipelines_share_the_line(line: Line) -> None:
    """Every version has one verdict."""
    names = [f"bot{number}" for number in range(4)]
    for name in names:
        await line.submit(line.bot(name=name))
    async with line.running(), line.running():
        for name in names:
            assert (await line.settled(f"{name}@1")).state is VersionState.ACCEPTED


async def test_the_same_upload_at_the_same_time_is_one_version(line: Line) -> None:
    """One of the answers says that it is new."""
    await line.registry.add_owner("ada")
    data = pack_folder(line.bot())
    answers = await asyncio.gather(
        *(line.submissions.store_upload(io.BytesIO(data), owner="ada") for _ in range(5))
    )
    assert [each.is_new for each in answers].count(True) == 1
    assert await line.trials.waiting() == 1


async def test_old_steps_are_forgotten(line: Line) -> None:
    """Those of the latest five versions are kept."""
    for number in range(1, 8):
        await line.submit(line.bot(f"{HONEST}\n# {number}"))
        await finish(line, await claim(line, f"{number}" * 32))
    found = [bool(await line.submissions.steps(f"it@{number}")) for number in range(1, 8)]
    assert found == [False] * 2 + [True] * 5
