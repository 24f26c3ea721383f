"""A version that fails in three rated matches in a row is suspended."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from arena.bots.registry import BotState, VersionState
from arena.errors import PreconditionError
from arena.matches import replay_file as replay_files
from arena.pipeline import suspension
from arena.pipeline.suspension import Follower, ended
from arena.queue.log_entries import LogEntry, LoggedResult
from arena.queue.models import Forfeits, LadderResult
from referee.outcome import ForfeitReason, Termination
from tests.arena.check.making import HONEST
from tests.arena.pipeline.line import Line
from tests.arena.queue.making import enqueue, make_result, make_spec, take
from tests.redis_server import EMBEDDED
from tests.sample_bots.playing import play

pytestmark = pytest.mark.redis

CRASH = (Forfeits(0, ForfeitReason.CRASH, 4),)
MOST = (Forfeits(0, ForfeitReason.TIMEOUT, 9),)
HALF = (Forfeits(0, ForfeitReason.TIMEOUT, 8),)
GOOD: tuple[Forfeits, ...] = ()


@dataclass
class Scene:
    """Two active bots, ``it`` and ``other``, on a ladder."""

    line: Line
    number: int = 0
    names: list[str] = field(default_factory=list)

    async def match(
        self,
        forfeits: tuple[Forfeits, ...],
        *,
        rated: bool = True,
        version: str = "it@1",
        ruleset: str = "quasenbo",
        replay: bytes = b"",
    ) -> str:
        """Commit a result of 16 games; return the match's id."""
        self.number += 1
        spec = make_spec(
            f"ladder-{self.number:06}", version, "other@1", rated=rated, ruleset=ruleset
        )
        queue = self.line.queues.queue(ruleset)
        await enqueue(queue, spec)
        result: LadderResult = make_result(
            forfeits=forfeits, terminations={Termination.FINISHED: 16}
        )
        if replay:
            digest = self.line.archive.put_replay(ruleset, spec.id, replay)
            result = replace(result, digest=digest)
        await queue.commit(await take(queue), result)
        return spec.id

    def follower(self) -> Follower:
        """Return what a process follows the logs with."""
        line = self.line
        return Follower(
            line.redis, registry=line.registry, queues=line.queues, archive=line.archive
        )

    async def follow(self) -> list[str]:
        """Follow the logs."""
        return await self.follower().follow()


@pytest.fixture
async def scene(line: Line) -> Scene:
    """The two bots, whose owner has a webhook."""
    await line.registry.add_owner("ada")
    await line.webhooks.set("ada", "https://example.org/")
    for name in ("it", "other"):
        await line.registry.add_folder(line.bot(name=name), owner="ada")
    for ruleset in ("quasenbo", "pese-katesh"):
        await line.queues.open_ladder(ruleset)
    await line.queues.ladder("quasenbo").enter("it")
    return Scene(line)


@EMBEDDED
@pytest.mark.parametrize("bad", [CRASH, MOST], ids=["crash", "most games"])
async def test_three_bad_matches_in_a_row_suspend(bad: tuple[Forfeits, ...], scene: Scene) -> None:
    """The version, and its bot, with the reason; it leaves its ladder, and its owner is told."""
    for _ in range(2):
        await scene.match(bad)
    assert await scene.follow() == []
    last = await scene.match(bad)
    async with scene.line.running():
        await scene.line.placed("it", there=False)
    version, bot = await scene.line.registry.version("it@1"), await scene.line.registry.bot("it")
    assert (version.state, bot.state) == (VersionState.SUSPENDED, BotState.SUSPENDED)
    assert version.reason == bot.reason
    assert last in version.reason
    assert await scene.line.told() == ["match.forfeited"] * 3 + ["version.suspended"]
    assert (await scene.line.registry.bot("other")).state is BotState.ACTIVE


@pytest.mark.parametrize(
    "matches",
    [
        [CRASH, CRASH, GOOD, CRASH, CRASH],
        [HALF, HALF, HALF, HALF],
        [(Forfeits(0, ForfeitReason.RESIGN, 1),)] * 4,
        [(Forfeits(1, ForfeitReason.RESIGN, 1),)] * 4,
    ],
    ids=["a good one between", "half of the games", "few games", "the opponent's"],
)
async def test_less_does_not_suspend(matches: list[tuple[Forfeits, ...]], scene: Scene) -> None:
    """Three in a row, more than half, or an ended process."""
    for forfeits in matches:
        await scene.match(forfeits)
    assert await scene.follow() == []
    assert await scene.line.is_active("it@1")


async def test_unrated_matches_do_not_count(scene: Scene) -> None:
    """Neither for nor against; their forfeits are told all the same."""
    await scene.match(CRASH)
    await scene.match(CRASH)
    await scene.match(CRASH, rated=False)
    assert await scene.follow() == []
    await scene.match(GOOD, rated=False)
    await scene.match(CRASH)
    assert await scene.follow() == ["it@1"]


async def test_matches_of_all_ladders_count_together(scene: Scene) -> None:
    """A version that fails wherever it plays is found, and the reason names the last match."""
    await scene.match(CRASH)
    await scene.match(CRASH, ruleset="pese-katesh")
    assert await scene.follow() == []
    last = await scene.match(CRASH)
    assert await scene.follow() == ["it@1"]
    reason = (await scene.line.registry.version("it@1")).reason
    assert reason.endswith(f"the last time in {last} on quasenbo")


@pytest.mark.parametrize("page", [1, 2, 1000])
async def test_the_order_is_that_of_the_commits(
    page: int, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A good match on one ladder stands between bad ones on another, though all are read at once.

    They are committed within a second, and however few entries are read at once.
    """
    monkeypatch.setattr(suspension, "PAGE", page)
    for ruleset, forfeits in (
        ("quasenbo", CRASH),
        ("quasenbo", CRASH),
        ("pese-katesh", GOOD),
        ("quasenbo", CRASH),
        ("pese-katesh", CRASH),
        ("quasenbo", GOOD),
        ("pese-katesh", CRASH),
        ("pese-katesh", CRASH),
    ):
        await scene.match(forfeits, ruleset=ruleset)
    assert await scene.follow() == []
    await scene.match(CRASH)
    assert await scene.follow() == ["it@1"]


async def test_what_is_committed_meanwhile_waits_for_its_turn(scene: Scene) -> None:
    """A result that came after the logs were opened is noted the next time, in its place."""
    await scene.match(CRASH, ruleset="pese-katesh")
    follower, opened = scene.follower(), asyncio.Event()
    note = follower._note

    async def note_late(ruleset: str, result: LogEntry) -> list[str]:
        if isinstance(result, LoggedResult) and not opened.is_set():
            opened.set()
            # The one of the ladder that is read already comes first.
            await scene.match(GOOD, ruleset="pese-katesh")
            await scene.match(CRASH, ruleset="quasenbo")
            await scene.match(CRASH, ruleset="quasenbo")
        return await note(ruleset, result)

    follower._note = note_late  # type: ignore[method-assign]
    assert await follower.follow() == []
    assert opened.is_set()
    assert await scene.line.told() == ["match.forfeited"], "the others wait"
    assert await scene.follow() == []
    await scene.match(CRASH)
    assert await scene.follow() == ["it@1"]


async def test_several_processes_note_each_result_once(scene: Scene) -> None:
    """However their looks at the logs interleave, a streak counts matches and not looks."""
    for _ in range(2):
        await scene.match(CRASH)
        await asyncio.gather(*(scene.follow() for _ in range(4)))
    assert await scene.line.is_active("it@1")
    for ruleset in ("pese-katesh", "quasenbo"):
        await scene.match(GOOD, ruleset=ruleset)
    for ruleset in ("quasenbo", "pese-katesh", "quasenbo"):
        await scene.match(CRASH, ruleset=ruleset)
    found = await asyncio.gather(*(scene.follow() for _ in range(4)))
    assert [version for each in found for version in each] == ["it@1"]


async def test_a_clock_that_was_set_back_holds_nothing_up(scene: Scene) -> None:
    """Results that seem to come from the future are noted."""
    for _ in range(2):
        await scene.match(CRASH)
    follower = scene.follower()
    early = datetime(2020, 1, 1, tzinfo=UTC)

    async def early_now() -> datetime:
        return early

    follower._now = early_now  # type: ignore[method-assign]
    assert await follower.follow() == []
    await scene.match(CRASH)
    assert await follower.follow() == ["it@1"]


async def test_a_result_is_noted_once(scene: Scene) -> None:
    """By whichever process, and however often the log is followed."""
    await scene.match(CRASH)
    await scene.match(CRASH)
    for _ in range(3):
        assert await scene.follow() == []
    assert await scene.line.told() == ["match.forfeited"] * 2
    await scene.match(CRASH)
    assert await scene.follow() == ["it@1"]
    assert await scene.follow() == []


@EMBEDDED
async def test_a_suspended_version_makes_way(scene: Scene) -> None:
    """It cannot be activated again by its owner, but another one can."""
    for _ in range(3):
        await scene.match(CRASH)
    await scene.follow()
    with pytest.raises(PreconditionError, match="it@1 is suspended"):
        await scene.line.registry.activate("it@1")
    async with scene.line.running():
        await scene.line.tried(scene.line.bot(f"{HONEST}\n# better"))
        await scene.line.placed("it")
    bot = await scene.line.registry.bot("it")
    assert (bot.state, bot.reason, bot.active_version) == (BotState.ACTIVE, "", "it@2")


async def test_an_operator_may_forgive(scene: Scene) -> None:
    """Then it takes three more matches."""
    for _ in range(3):
        await scene.match(CRASH)
    await scene.follow()
    await scene.line.registry.set_state("it", BotState.ACTIVE)
    assert await scene.line.is_active("it@1")
    assert (await scene.line.registry.version("it@1")).state is VersionState.ACCEPTED
    await scene.match(CRASH)
    await scene.match(CRASH)
    assert await scene.follow() == []
    await scene.match(CRASH)
    assert await scene.follow() == ["it@1"]


async def test_an_old_version_does_not_suspend_its_bot(scene: Scene) -> None:
    """Matches that were queued before the new one was active."""
    folder = scene.line.bot(f"{HONEST}\n# two")
    await scene.line.registry.add_folder(folder, owner="ada")
    for _ in range(3):
        await scene.match(CRASH)
    assert await scene.follow() == ["it@1"]
    assert (await scene.line.registry.version("it@1")).state is VersionState.SUSPENDED
    assert await scene.line.is_active("it@2")


@EMBEDDED
@pytest.mark.parametrize(("tables", "suspended"), [(2, []), (1, ["it@1"])])
async def test_illegal_actions_count_when_they_ended_a_process(
    tables: int, suspended: list[str], scene: Scene
) -> None:
    """Three at one table do; the replay tells."""
    result = await play(
        "quasenbo", "faulty", "random", boards=4 if tables == 1 else 2, rotations=tables
    )
    assert ended(result.replay, 0) is bool(suspended)
    illegal = (Forfeits(0, ForfeitReason.ILLEGAL_ACTION, 4),)
    for _ in range(3):
        await scene.match(illegal, replay=replay_files.pack(result.replay))
    assert await scene.follow() == suspended
