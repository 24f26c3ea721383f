"""The folder of unpacked bots, and how it is kept within its bound."""

import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from arena.archive.archive import Archive
from arena.archive.bot_cache import BotCache
from arena.config import Settings
from arena.scheduler.housekeeping import trim_cache

LONG_AGO = 2 * 3600
BOT_BYTES = 100_000


@pytest.fixture
def cache(tmp_path: Path) -> BotCache:
    """A cache of three bots, the first of them used the longest ago."""
    made = BotCache(tmp_path / "cache")
    for number, name in enumerate(("a", "b", "c")):
        folder = made.add(name, write_bot)
        age(folder, LONG_AGO - number)
    return made


def write_bot(folder: Path) -> None:
    """Write something of `BOT_BYTES`."""
    (folder / "bot.py").write_bytes(bytes(BOT_BYTES))


def age(folder: Path, seconds: float) -> None:
    """Let a folder have been used so long ago."""
    then = time.time() - seconds
    os.utime(folder, (then, then))


def names(folder: Path) -> list[str]:
    """Return what is there."""
    return sorted(each.name for each in (folder / "cache").iterdir())


def test_what_was_used_the_longest_ago_goes_first(cache: BotCache, tmp_path: Path) -> None:
    """Taking a bot is a use, and only as much goes as has to."""
    assert cache.get("a") == tmp_path / "cache" / "a"
    assert cache.prune(keep_bytes=2 * BOT_BYTES + BOT_BYTES // 2) == 1
    assert names(tmp_path) == ["a", "c"]
    assert cache.get("b") is None


def test_within_the_bound_everything_stays(cache: BotCache, tmp_path: Path) -> None:
    """An old folder costs nothing while there is room."""
    assert cache.prune(keep_bytes=10 * BOT_BYTES) == 0
    assert names(tmp_path) == ["a", "b", "c"]


def test_what_was_used_within_the_hour_stays(cache: BotCache, tmp_path: Path) -> None:
    """Even beyond the bound: a match may be playing it."""
    cache.use(["a", "c", "unknown"])
    assert cache.prune(keep_bytes=0) == 1
    assert names(tmp_path) == ["a", "c"]
    assert cache.prune(keep_bytes=0, spared=timedelta(seconds=-1)) == 2


def test_what_killed_processes_left_goes_too(cache: BotCache, tmp_path: Path) -> None:
    """A folder that was never whole, or half removed, is no bot, and young it is another's work."""
    for name in ("unpacking-x", "removing-y", "unpacking-new"):
        (tmp_path / "cache" / name).mkdir()
    age(tmp_path / "cache" / "unpacking-x", LONG_AGO)
    age(tmp_path / "cache" / "removing-y", LONG_AGO)
    assert cache.prune(keep_bytes=10 * BOT_BYTES) == 0
    assert names(tmp_path) == ["a", "b", "c", "unpacking-new"]


def test_a_bot_that_was_removed_is_unpacked_again(tmp_path: Path) -> None:
    """The cache holds nothing that the archive does not."""
    archive = Archive(str(tmp_path / "archive"), cache=tmp_path / "cache")
    (tmp_path / "bot").mkdir()
    write_bot(tmp_path / "bot")
    digest = archive.put_bot(tmp_path / "bot")
    age(archive.unpack_bot(digest), LONG_AGO)
    assert archive.cache.prune(keep_bytes=0) == 1
    assert (archive.unpack_bot(digest) / "bot.py").stat().st_size == BOT_BYTES


@pytest.mark.parametrize(("bound", "left"), [(1, ["b"]), (0, ["a", "b", "c"])])
def test_housekeeping_spares_what_a_long_match_plays(
    cache: BotCache, tmp_path: Path, bound: int, left: list[str]
) -> None:
    """A match that goes on for longer than an hour keeps its bots; 0 is no bound."""
    del cache
    archive = Archive(str(tmp_path / "archive"), cache=tmp_path / "cache")

    assert trim_cache(archive, Settings(cache_bytes=bound), {"b"}) == 3 - len(left)
    assert names(tmp_path) == left


def test_there_may_be_no_cache_yet(tmp_path: Path) -> None:
    """A machine that never played has nothing to remove."""
    assert BotCache(tmp_path / "none").prune(keep_bytes=0) == 0
    assert BotCache(tmp_path / "none").get("a") is None
