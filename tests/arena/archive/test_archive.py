"""The archive, in a folder and in another file system that fsspec reaches."""

import asyncio
import hashlib
import os
import uuid
from pathlib import Path

import pytest
from redis.asyncio import Redis

from arena.archive.archive import Archive, Usage, slug
from arena.errors import ArenaError, InputError, NotFoundError
from arena.queue.ladder import Ladder
from arena.queue.retention import archive_old, whole_log


@pytest.fixture(params=["folder", "memory"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Archive:
    """An empty archive of each kind."""
    urls = {"folder": str(tmp_path / "archive"), "memory": f"memory://{uuid.uuid4().hex}"}
    return Archive(urls[request.param], cache=tmp_path / "cache")


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    """A bot's folder with a program, a folder and a link."""
    folder = tmp_path / "bot"
    (folder / "lib" / "__pycache__").mkdir(parents=True)
    (folder / "bot.py").write_text("print('hello')\n")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o700)
    (folder / "lib" / "a.txt").write_text("ä")
    (folder / "lib" / "__pycache__" / "a.pyc").write_bytes(b"x")
    (folder / "link").symlink_to("lib/a.txt")
    return folder


def test_a_bot_comes_back_as_it_was(archive: Archive, bot: Path) -> None:
    """Contents, executable bits and inner links survive; caches do not."""
    digest = archive.put_bot(bot)
    assert archive.has_bot(digest)
    unpacked = archive.unpack_bot(digest)
    assert (unpacked / "bot.py").read_text() == "print('hello')\n"
    assert (unpacked / "link").read_text() == "ä"
    assert os.access(unpacked / "run", os.X_OK)
    assert not os.access(unpacked / "bot.py", os.X_OK)
    assert not (unpacked / "lib" / "__pycache__").exists()
    assert archive.unpack_bot(digest) == unpacked
    assert [path.name for path in unpacked.parent.iterdir()] == [digest]


def test_the_digest_is_of_the_content_alone(archive: Archive, bot: Path) -> None:
    """Times do not change it, a byte does, an executable bit does."""
    digest = archive.put_bot(bot)
    os.utime(bot / "bot.py", (1, 1))
    assert archive.put_bot(bot) == digest
    (bot / "bot.py").write_text("print('hallo')\n")
    changed = archive.put_bot(bot)
    (bot / "bot.py").chmod(0o755)
    assert len({digest, changed, archive.put_bot(bot)}) == 3


def test_a_link_out_of_the_folder_is_refused(archive: Archive, bot: Path) -> None:
    """Neither an absolute nor a climbing link gets into the archive."""
    for target in ("/etc/passwd", "../../secret"):
        (bot / "out").symlink_to(target)
        with pytest.raises(InputError, match="leads out"):
            archive.put_bot(bot)
        (bot / "out").unlink()


def test_a_pipe_is_refused(archive: Archive, bot: Path) -> None:
    """Only files, folders and links belong to a bot."""
    os.mkfifo(bot / "pipe")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        archive.put_bot(bot)


def test_a_folder_that_is_too_large_is_refused(tmp_path: Path, bot: Path) -> None:
    """The bound is told in bytes."""
    archive = Archive(str(tmp_path / "archive"), cache=tmp_path / "cache", upload_bytes=10)
    with pytest.raises(InputError, match="10 bytes"):
        archive.put_bot(bot)


def test_a_damaged_bot_is_not_unpacked(tmp_path: Path, bot: Path) -> None:
    """A stored folder whose bytes changed is an error of ours."""
    archive = Archive(str(tmp_path / "archive"), cache=tmp_path / "cache")
    digest = archive.put_bot(bot)
    (stored,) = (tmp_path / "archive" / "bots").rglob("*.zst")
    stored.write_bytes(b"rubbish")
    with pytest.raises(ArenaError, match="damaged"):
        archive.unpack_bot(digest)
    assert not (tmp_path / "cache" / digest).exists()


def test_two_processes_may_unpack_at_once(tmp_path: Path, bot: Path) -> None:
    """Whoever is second finds the first one's folder and leaves nothing behind."""
    archive = Archive(str(tmp_path / "archive"), cache=tmp_path / "cache")
    digest = archive.put_bot(bot)

    async def many() -> set[Path]:
        racers = (asyncio.to_thread(archive.unpack_bot, digest) for _ in range(8))
        return set(await asyncio.gather(*racers))

    assert asyncio.run(many()) == {tmp_path / "cache" / digest}
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [digest]


def test_replays_and_logs_come_back(archive: Archive) -> None:
    """The log's 8 bytes of the digest are enough to find them."""
    ruleset = "quasenbo:players=3"
    with pytest.raises(NotFoundError):
        archive.get_replay(ruleset, "m1", digest=hashlib.sha256(b"data").digest())
    digest = archive.put_replay(ruleset, "m1", b"data")
    assert digest == hashlib.sha256(b"data").digest()
    archive.put_log(ruleset, "m1", "t0-e1", b"hello\n" * 1000, digest=digest)
    assert archive.get_replay(ruleset, "m1", digest=digest[:8]) == b"data"
    assert archive.get_log(ruleset, "m1", "t0-e1", digest=digest[:8]) == b"hello\n" * 1000
    with pytest.raises(InputError, match="a digest of 7 bytes"):
        archive.get_replay(ruleset, "m1", digest=digest[:7])


def test_two_plays_of_a_match_stand_side_by_side(archive: Archive) -> None:
    """Neither overwrites the other's replay and logs, and one can be removed alone."""
    digests = [archive.put_replay("quasenbo", "m1", data) for data in (b"first", b"second")]
    for digest in digests:
        archive.put_log("quasenbo", "m1", "t0-e1", digest, digest=digest)
    first, second = digests
    assert archive.get_replay("quasenbo", "m1", digest=first) == b"first"
    archive.remove_match("quasenbo", "m1", digest=second, logs=["t0-e0", "t0-e1"])
    with pytest.raises(NotFoundError):
        archive.get_replay("quasenbo", "m1", digest=second)
    with pytest.raises(NotFoundError):
        archive.get_log("quasenbo", "m1", "t0-e1", digest=second)
    assert archive.get_replay("quasenbo", "m1", digest=first) == b"first"
    assert archive.get_log("quasenbo", "m1", "t0-e1", digest=first) == first


def test_what_is_missing_is_named(archive: Archive) -> None:
    """The error says what is not there."""
    with pytest.raises(NotFoundError, match="no replay of m7"):
        archive.get_replay("quasenbo", "m7", digest=bytes(8))
    with pytest.raises(NotFoundError, match="no log t0-e0 of m7"):
        archive.get_log("quasenbo", "m7", "t0-e0", digest=bytes(8))
    with pytest.raises(NotFoundError, match="no bot folder"):
        archive.unpack_bot("0" * 64)
    assert archive.results_segments("quasenbo") == []


@pytest.mark.parametrize("name", ["../m1", "a/b", "", ".hidden", "x" * 200, "a\0b"])
def test_a_name_cannot_leave_the_archive(archive: Archive, name: str) -> None:
    """Paths in names are refused, for every kind of thing."""
    with pytest.raises(InputError, match="no name in the archive"):
        archive.put_log("quasenbo", "m1", name, b"", digest=bytes(8))
    with pytest.raises(InputError, match="no canonical ruleset"):
        archive.put_replay(f"../{name}", "m1", b"")
    with pytest.raises(InputError, match="no digest"):
        archive.unpack_bot(name)
    if name:
        with pytest.raises(InputError, match="no name in the archive"):
            archive.put_replay("quasenbo", f"../{name}", b"")


def test_rulesets_have_folders_of_their_own() -> None:
    """Slugs are readable and different."""
    rulesets = ["quasenbo", "quasenbo:double=yes", "quasenbo-magnus", "pese-katesh:teams=yes"]
    assert len({slug(ruleset) for ruleset in rulesets}) == 4
    assert slug("pese-katesh:floors=1,teams=yes") == "pese-katesh.floors-1.teams-yes"


def test_room_is_made_from_the_oldest(tmp_path: Path) -> None:
    """Pruning keeps the newest files within the bound, and bots and results always."""
    archive = Archive(str(tmp_path), cache=tmp_path / "cache")
    for number in range(5):
        archive.put_replay("quasenbo", f"m{number}", bytes(100))
        (path,) = tmp_path.glob(f"replays/quasenbo/m{number}@*.replay")
        os.utime(path, (number, number))
    assert archive.usage()["replays"] == Usage(5, 500)
    assert archive.prune("replays", keep_bytes=250) == 3
    left = sorted(path.name[:2] for path in tmp_path.glob("replays/quasenbo/*.replay"))
    assert left == ["m3", "m4"]
    with pytest.raises(InputError, match="only replays and logs"):
        archive.prune("bots", keep_bytes=0)


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    """A write that fails is told, and neither a part nor a temporary file stays."""
    archive = Archive(str(tmp_path), cache=tmp_path / "cache")
    folder = tmp_path / "replays"
    folder.write_text("a file in the folder's place")
    with pytest.raises(ArenaError, match="cannot be written"):
        archive.put_replay("quasenbo", "m1", b"data")
    assert list(tmp_path.iterdir()) == [folder]


def test_an_unknown_kind_of_address_is_told(tmp_path: Path) -> None:
    """The error names the setting and the address."""
    with pytest.raises(InputError, match="archive_url 'nowhere://x'"):
        Archive("nowhere://x", cache=tmp_path)


async def test_a_ladders_log_moves_into_the_archive(archive: Archive, redis: Redis) -> None:
    """The archive keeps what leaves the log, entry for entry."""
    ladder = Ladder(redis, "quasenbo:players=3")
    for number in range(40):
        await ladder.enter(f"bot{number}")
    before = [entry async for entry in whole_log(ladder, None)]
    assert await archive_old(ladder, archive, keep=5, segment=10) == 30
    assert archive.results_segments("quasenbo:players=3") == [(1, 10), (11, 20), (21, 30)]
    assert [entry async for entry in whole_log(ladder, archive)] == before
