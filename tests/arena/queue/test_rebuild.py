"""Replaying the log, annulling matches, and the archive behind the log."""

import asyncio
import random
from pathlib import Path

import pytest
from redis.asyncio import Redis

from arena.errors import ArenaError, InputError
from arena.queue.ladder import Ladder
from arena.queue.log_entries import Annulled, LoggedResult
from arena.queue.match_queue import MatchQueue
from arena.queue.rebuild import LadderReplay, annul, replay
from arena.queue.retention import archive_old, whole_log
from tests.arena.queue.making import (
    RULESET,
    assert_balanced,
    enqueue,
    make_result,
    make_spec,
    play,
    take,
)

pytestmark = pytest.mark.redis


class FolderOfResults:
    """The smallest archive of old entries: one file a segment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.broken = False

    def put_results(self, ruleset: str, *, first: int, last: int, lines: bytes) -> None:
        """Store a segment, or fail as a full disk does."""
        if self.broken:
            raise OSError("no space left on device")
        (self.folder / f"{ruleset}-{first}-{last}").write_bytes(lines)

    def results_segments(self, ruleset: str) -> list[tuple[int, int]]:
        """Return the stored segments."""
        names = [path.name.removeprefix(f"{ruleset}-") for path in self.folder.iterdir()]
        pairs = [name.split("-") for name in names]
        return sorted((int(first), int(last)) for first, last in pairs)

    def get_results(self, ruleset: str, *, first: int, last: int) -> bytes:
        """Return a segment."""
        return (self.folder / f"{ruleset}-{first}-{last}").read_bytes()


@pytest.fixture
def queue(redis: Redis) -> MatchQueue:
    """The queue that feeds the ladder."""
    return MatchQueue(redis, RULESET)


@pytest.fixture
def ladder(redis: Redis) -> Ladder:
    """The ladder that is replayed."""
    return Ladder(redis, RULESET)


async def _play_some(queue: MatchQueue, count: int, *, prefix: str = "m") -> None:
    chance = random.Random(count)
    for number in range(count):
        entrants = [f"{name}@1" for name in chance.sample(["ada", "bob", "cyd", "dan"], 2)]
        score = chance.choice((0, 250_000, 500_000, 1_000_000))
        await play(queue, f"{prefix}{number}", entrants, score)


async def test_an_empty_ladder_replays(ladder: Ladder) -> None:
    """Nothing follows from nothing."""
    assert (await replay(ladder)).equal


async def test_the_log_gives_the_live_ratings(queue: MatchQueue, ladder: Ladder) -> None:
    """Replaying all entries arrives at ratings, counts and bank."""
    await _play_some(queue, 60)
    await ladder.enter("eve")
    report = await replay(ladder)
    assert report.equal
    assert report.sequence == 65


async def test_a_changed_rating_is_found(queue: MatchQueue, ladder: Ladder, redis: Redis) -> None:
    """A rating that does not follow from the log is named with both values."""
    await _play_some(queue, 5)
    await redis.hincrby(f"{{l:{RULESET}}}:rating", "ada", 7)
    report = await replay(ladder)
    assert not report.equal
    (difference,) = report.differences
    assert difference.name == "ada"
    assert (difference.live or 0) - (difference.replayed or 0) == 7
    assert report.balance == 7


async def test_an_annulled_match_never_was(queue: MatchQueue, ladder: Ladder) -> None:
    """After the annulment all ratings are those without the match, and the log says so."""
    await _play_some(queue, 40)
    assert await annul(ladder, "m7", reason="the bot was tampered with")
    entries = [entry async for entry in whole_log(ladder, None)]
    last = entries[-1]
    assert isinstance(last, Annulled)
    assert (last.match_id, last.reason) == ("m7", "the bot was tampered with")
    assert entries[last.target - 1].sequence == last.target
    without = LadderReplay({last.target})
    for entry in entries:
        without.apply(entry)
    snapshot = await ladder.snapshot()
    assert snapshot.ratings == without.ratings
    assert snapshot.bank == without.bank
    report = await replay(ladder)
    assert report.equal
    assert report.annulled == 1
    standings = await ladder.standings()
    assert {each.bot: each.rating for each in standings} == without.ratings
    await assert_balanced(ladder)


async def test_an_annulled_result_is_marked(queue: MatchQueue, ladder: Ladder) -> None:
    """Reading the result tells the reason; another annulment does nothing."""
    await _play_some(queue, 3)
    assert await annul(ladder, "m1", reason="wrong version")
    assert not await annul(ladder, "m1", reason="again")
    result = await ladder.result("m1")
    assert result is not None
    assert result.annulled == "wrong version"
    assert [each.annulled for each in await ladder.latest(10)] == [None, "wrong version", None]


async def test_nothing_is_logged_between_a_check_and_its_annulment(
    queue: MatchQueue, ladder: Ladder
) -> None:
    """What is committed after a check is checked again; a check that refuses changes nothing."""
    await _play_some(queue, 3)
    seen: list[int] = []

    async def check() -> None:
        seen.append((await ladder.ends()).sequence)
        if len(seen) < 3:
            await play(queue, f"late{len(seen)}", ["ada@1", "bob@1"], 1_000_000)

    assert await annul(ladder, "m1", reason="", check=check)
    assert len(seen) == 3
    (entry,) = await ladder.entries(after=seen[-1])
    assert isinstance(entry, Annulled)
    assert (await replay(ladder)).equal

    async def refuse() -> None:
        raise ArenaError("no")

    before = await ladder.snapshot()
    with pytest.raises(ArenaError, match="no"):
        await annul(ladder, "m2", reason="", check=refuse)
    assert await ladder.snapshot() == before


async def test_an_unknown_match_cannot_be_annulled(queue: MatchQueue, ladder: Ladder) -> None:
    """A match that waits, or never was, is the caller's error."""
    await enqueue(queue, make_spec("m1"))
    with pytest.raises(InputError, match="no match m1"):
        await annul(ladder, "m1", reason="")


async def test_annulments_race_with_commits(queue: MatchQueue, ladder: Ladder) -> None:
    """While matches are committed, several annulments at once leave the ladder consistent."""
    await _play_some(queue, 30)
    answers = await asyncio.gather(
        _play_some(queue, 100, prefix="later"),
        *(annul(ladder, f"m{number}", reason="") for number in (3, 9, 9, 20)),
    )
    assert [answer for answer in answers[1:] if not answer] == [False]
    report = await replay(ladder)
    assert report.equal
    assert report.annulled == 3


async def test_old_entries_move_to_the_archive(
    queue: MatchQueue, ladder: Ladder, tmp_path: Path
) -> None:
    """Whole segments leave the log with their marks; what is read back is what was there."""
    archive = FolderOfResults(tmp_path)
    await _play_some(queue, 50)
    await annul(ladder, "m2", reason="")
    before = [entry async for entry in whole_log(ladder, None)]
    assert len(before) == 55
    assert await archive_old(ladder, archive, keep=20, segment=10) == 30
    assert archive.results_segments(RULESET) == [(1, 10), (11, 20), (21, 30)]
    assert [entry.sequence for entry in await ladder.entries()] == list(range(31, 56))
    assert (await queue.counts()).done == sum(
        isinstance(entry, LoggedResult) for entry in before[30:]
    )
    assert [entry async for entry in whole_log(ladder, archive)] == before
    assert [entry async for entry in whole_log(ladder, archive, after=17)] == before[17:]
    assert await archive_old(ladder, archive, keep=20, segment=10) == 0
    assert (await replay(ladder, archive)).equal


async def test_an_archived_match_can_be_annulled(
    queue: MatchQueue, ladder: Ladder, tmp_path: Path
) -> None:
    """The annulment finds the match behind the log, once."""
    archive = FolderOfResults(tmp_path)
    await _play_some(queue, 50)
    await archive_old(ladder, archive, keep=20, segment=10)
    assert await annul(ladder, "m2", reason="late", archive=archive)
    assert not await annul(ladder, "m2", reason="late", archive=archive)
    assert (await replay(ladder, archive)).equal


async def test_nothing_is_dropped_that_was_not_archived(
    queue: MatchQueue, ladder: Ladder, tmp_path: Path
) -> None:
    """When the archive fails the log stays whole, and the next try goes on."""
    archive = FolderOfResults(tmp_path)
    await _play_some(queue, 30)
    archive.broken = True
    with pytest.raises(OSError, match="no space"):
        await archive_old(ladder, archive, keep=10, segment=10)
    assert len(await ladder.entries()) == 34
    archive.broken = False
    assert await archive_old(ladder, archive, keep=10, segment=10) == 20


async def test_a_missing_archive_is_told(queue: MatchQueue, ladder: Ladder, tmp_path: Path) -> None:
    """Without the archive an old part of the log is an error, not an empty past."""
    await _play_some(queue, 30)
    await archive_old(ladder, FolderOfResults(tmp_path), keep=10, segment=10)
    with pytest.raises(ArenaError, match="neither in Redis nor in the archive"):
        await replay(ladder)


async def test_trimming_twice_changes_nothing(queue: MatchQueue, ladder: Ladder) -> None:
    """A repeated trim is refused, so that marks of newer matches are safe."""
    await _play_some(queue, 10)
    assert await ladder.trim(5, ["m0"])
    assert not await ladder.trim(5, ["m9"])
    assert await ladder.result("m9") is not None


async def test_a_rated_match_counts_after_an_annulment(queue: MatchQueue, ladder: Ladder) -> None:
    """Matches that follow an annulment are rated on the new ratings."""
    await _play_some(queue, 10)
    await annul(ladder, "m0", reason="")
    await enqueue(queue, make_spec("n1"))
    await queue.commit(await take(queue), make_result())
    assert (await replay(ladder)).equal
