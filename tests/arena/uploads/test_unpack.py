"""What an archive may hold, row by row."""

import io
import os
import random
import stat
import tarfile
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.uploads import UploadRefusedError, archive_limits, unpack_archive
from tests.arena.uploads.making import (
    TOML,
    archives_of,
    contents,
    raw_tar,
    tar_entry,
    tar_of,
    unpack,
    zip_entry,
    zip_of,
)

NAMES = {
    "absolute": (["/etc/passwd"], "absolute path"),
    "parent": (["../out"], "has a .. in its path"),
    "parent inside": (["a/../../out"], "has a .. in its path"),
    "backslash": (["a\\b"], "backslash"),
    "drive": (["C:/x"], "device"),
    "device": (["nul"], "device"),
    "device with an ending": (["lib/COM1.txt"], "device"),
    "device in wide letters": (["ＮＵＬ"], "device"),  # noqa: RUF001 -- the attack itself
    "control character": (["a\x07b"], "cannot be shown"),
    "invisible character": (["a\u202eb"], "cannot be shown"),
    "slash in disguise": (["a\uff0fb"], "looks like one of a path"),
    "dots in disguise": (["\u2025/b"], "looks like one of a path"),
    "empty part": (["a//b"], "empty part"),
    "dot part": (["a/./b"], "empty part"),
    "twice": (["a", "a"], "is there twice"),
    "letter case": (["Bot.py", "bot.py"], "the same name on some systems"),
    "letter case of a folder": (["Lib/a", "lib/b"], "the same name on some systems"),
    "composed and not": (["caf\u00e9", "cafe\u0301"], "the same name on some systems"),
    "ligature": (["\ufb01le", "file"], "the same name on some systems"),
    "sharp s": (["stra\u00dfe", "STRASSE"], "the same name on some systems"),
    "dot at the end": (["a", "a."], "the same name on some systems"),
    "file and folder": (["a", "a/b"], "a file and a folder at once"),
    "too deep": (["/".join("abcdefghijklm")], "12 folders deep"),
    "long part": (["x" * 101], "more than 100 characters"),
    "long path": (["/".join(["y" * 60] * 4)], "longer than 240"),
    "too many": ([f"f{n}" for n in range(1001)], "1000"),
    "too many folders": ([f"{n}/a" for n in range(501)], "1000"),
}


def refused(data: bytes, parent: Path, sentence: str) -> None:
    """Hold that an archive is refused with a sentence, and that it leaves nothing behind."""
    before = sorted(parent.rglob("*"))
    with pytest.raises(UploadRefusedError, match=sentence):
        unpack(data, parent)
    assert sorted(parent.rglob("*")) == before


@pytest.mark.parametrize("row", NAMES)
@pytest.mark.parametrize("kind", [0, 1], ids=["tar", "zip"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_could_mean_another_file_is_refused(
    row: str, kind: int, tmp_path: Path
) -> None:
    """The sentence names the rule, and nothing is left on the disk."""
    names, sentence = NAMES[row]
    refused(archives_of(["bot.toml", *names])[kind], tmp_path, sentence)


@pytest.mark.parametrize("data", archives_of(["./bot.toml", "lib/a.py", "lib/b.py"]))
def test_what_an_archive_holds_is_written(data: bytes, tmp_path: Path) -> None:
    """Folders that only a path names are made; a leading dot is nothing."""
    folder = unpack(data, tmp_path)
    assert contents(folder) == {
        "bot.toml": (b"x", 0o644),
        "lib": (None, 0o755),
        "lib/a.py": (b"x", 0o644),
        "lib/b.py": (b"x", 0o644),
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


@pytest.mark.parametrize(
    "entry",
    [
        tar_entry("link", tarfile.SYMTYPE, target="/etc/passwd"),
        tar_entry("link", tarfile.SYMTYPE, target="bot.toml"),
        tar_entry("link", tarfile.LNKTYPE, target="bot.toml"),
        tar_entry("pipe", tarfile.FIFOTYPE),
        tar_entry("tape", tarfile.CHRTYPE),
        tar_entry("disk", tarfile.BLKTYPE),
    ],
    ids=["absolute link", "inner link", "hard link", "pipe", "character device", "block device"],
)
def test_a_tar_holds_files_and_folders_only(entry: tarfile.TarInfo, tmp_path: Path) -> None:
    """Links and devices are refused, wherever they lead."""
    refused(tar_of(("bot.toml", TOML), entry), tmp_path, "is a link|neither a regular file")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_a_zip_holds_files_and_folders_only(kind: int, tmp_path: Path) -> None:
    """The mode of a zip's entry may be a link's or a device's."""
    data = zip_of(("bot.toml", TOML), (zip_entry("x", kind | 0o777), b"/etc/passwd"))
    refused(data, tmp_path, "'x' is a link|'x' is neither a regular file")


def test_a_link_is_never_written_through(tmp_path: Path) -> None:
    """A link, and then a file below it: the link is refused, the outside untouched."""
    outside = tmp_path / "outside"
    outside.mkdir()
    data = tar_of(tar_entry("a", tarfile.SYMTYPE, target=str(outside)), ("a/b", b"x"))
    refused(data, tmp_path, "is a link")
    assert list(outside.iterdir()) == []


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    """A sparse file's size costs its sender nothing."""
    header = tarfile.TarInfo("holes")
    header.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(1 << 40)}
    refused(tar_of(header), tmp_path, "neither a regular file")


def test_modes_are_two(tmp_path: Path) -> None:
    """What its owner may execute may everybody; set-uid and secrets are gone."""
    data = tar_of(
        tar_entry("run", tarfile.REGTYPE, mode=0o4700),
        tar_entry("secret", tarfile.REGTYPE, mode=0o600),
        tar_entry("open", tarfile.REGTYPE, mode=0o666),
        tar_entry("dir", tarfile.DIRTYPE, mode=0o1777),
    )
    modes = {path: mode for path, (_, mode) in contents(unpack(data, tmp_path)).items()}
    assert modes == {"run": 0o755, "secret": 0o644, "open": 0o644, "dir": 0o755}


def test_modes_of_a_zip_are_two(tmp_path: Path) -> None:
    """A zip that was made without Unix modes gives plain files."""
    data = zip_of(
        (zip_entry("run", stat.S_IFREG | 0o4755), b""),
        (zip_entry("plain", 0o755, system=0), b""),
        (zip_entry("dir/", stat.S_IFDIR | 0o777), b""),
    )
    modes = {path: mode for path, (_, mode) in contents(unpack(data, tmp_path)).items()}
    assert modes == {"run": 0o755, "plain": 0o644, "dir": 0o755}


def test_the_umask_changes_nothing(tmp_path: Path) -> None:
    """A bot runs as another user, who must be able to read it."""
    before = os.umask(0o077)
    try:
        folder = unpack(tar_of(("lib/a", b"")), tmp_path)
    finally:
        os.umask(before)
    assert contents(folder) == {"lib": (None, 0o755), "lib/a": (b"", 0o644)}


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_a_bomb_is_refused(pack: object, tmp_path: Path) -> None:
    """A megabyte of zeros in every kilobyte is no bot."""
    assert callable(pack)
    refused(pack(("zeros", bytes(3 << 20))), tmp_path, "more than 200 times")


def test_small_archives_may_be_dense(tmp_path: Path) -> None:
    """Below a megabyte the ratio is not asked."""
    assert unpack(tar_of(("zeros", bytes(900_000))), tmp_path).is_dir()


def incompressible(size: int) -> bytes:
    """Return bytes that deflate to about a third of their size, quickly."""
    noise = random.Random(1).randbytes(1 << 16)
    block = b"".join(noise[i : i + 64] + bytes(2 << 10) for i in range(0, len(noise), 64))
    return (block * (size // len(block) + 1))[:size]


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_one_file_has_a_bound(pack: object, tmp_path: Path) -> None:
    """32 MiB."""
    assert callable(pack)
    data = pack(("big", incompressible((32 << 20) + 1)))
    assert len(data) < archive_limits.ARCHIVE_BYTES
    refused(data, tmp_path, "'big' is larger than 32 MiB")


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_all_files_have_a_bound(pack: object, tmp_path: Path) -> None:
    """64 MiB together."""
    assert callable(pack)
    data = pack(*((f"f{n}", incompressible(22 << 20)) for n in range(3)))
    assert len(data) < archive_limits.ARCHIVE_BYTES
    refused(data, tmp_path, "holds more than 64 MiB")


def test_the_archive_has_a_bound(tmp_path: Path) -> None:
    """10 MiB, looked at before anything is read."""
    refused(b"\x1f\x8b" + bytes(10 << 20), tmp_path, "the limit is 10 MiB")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
def test_a_zip_is_stored_or_deflated(method: int, tmp_path: Path) -> None:
    """Other ways to compress are refused."""
    refused(zip_of(("a", b"x"), method=method), tmp_path, "another way than deflate")


def test_a_stored_zip_is_taken(tmp_path: Path) -> None:
    """Without any compression."""
    folder = unpack(zip_of(("a", b"x"), method=zipfile.ZIP_STORED), tmp_path)
    assert (folder / "a").read_bytes() == b"x"


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    """The flag alone is enough."""
    data = bytearray(zip_of(("a", b"x")))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    refused(bytes(data), tmp_path, "'a' is encrypted")


def test_a_zip_that_lies_about_a_size_is_refused(tmp_path: Path) -> None:
    """What comes out is counted, whatever the directory says."""
    data = bytearray(zip_of(("a", bytes(5000))))
    directory = data.index(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (10).to_bytes(4, "little")
    refused(bytes(data), tmp_path, "damaged")


def test_a_huge_directory_is_not_read(tmp_path: Path) -> None:
    """A zip of a hundred thousand empty files is refused by its last bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = zip_of(*((str(n), b"") for n in range(20_000)), method=zipfile.ZIP_STORED)
    refused(data, tmp_path, "more than 1000 entries")


def test_a_zip64_is_refused(tmp_path: Path) -> None:
    """Its true directory would be read in place of the one that was judged."""
    data = zip_of(("a", b"x"))
    end = data.rindex(b"PK\x05\x06")
    locator = b"PK\x06\x07" + bytes(16)
    refused(data[:end] + locator + data[end:], tmp_path, "zip64")


def test_a_huge_tar_header_is_not_read(tmp_path: Path) -> None:
    """Extended headers are read into memory, so they are bounded before."""
    header = tar_entry("x", tarfile.XHDTYPE)
    header.size = 1 << 30
    refused(raw_tar(header.tobuf(format=tarfile.USTAR_FORMAT)), tmp_path, "header of more than")


def test_a_chain_of_tar_headers_is_refused(tmp_path: Path) -> None:
    """Every extended header is read within the one before."""
    record = b"11 path=abc\n"
    header = tar_entry("x", tarfile.XHDTYPE)
    header.size = len(record)
    block = header.tobuf(format=tarfile.USTAR_FORMAT) + record.ljust(512, b"\0")
    refused(raw_tar(block * 3000), tmp_path, "damaged")


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 mean something else elsewhere."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo("a\udcffb"))
    refused(out.getvalue(), tmp_path, "cannot be shown")


@pytest.mark.parametrize("data", archives_of(["bot.toml", "bot.py"]))
def test_an_archive_that_was_cut_off_is_refused(data: bytes, tmp_path: Path) -> None:
    """At any byte."""
    for length in (3, 20, len(data) // 2, len(data) - 30, len(data) - 9, len(data) - 1):
        refused(data[:length], tmp_path, "cut off|neither")


@pytest.mark.parametrize("data", [b"", b"hello", b"BZh91AY&SY", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    """Other kinds, nothing at all, and an archive of nothing."""
    refused(data, tmp_path, "neither a zip nor a tar.gz|holds no file")


def test_a_folder_that_is_there_stays(tmp_path: Path) -> None:
    """Archives are unpacked into new folders only."""
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "precious").touch()
    with pytest.raises(FileExistsError):
        unpack(tar_of(("a", b"")), tmp_path)
    assert (tmp_path / "bot" / "precious").exists()


@given(st.binary(max_size=2000), st.sampled_from([b"\x1f\x8b\x08\x00", b"PK\x03\x04", b""]))
def test_no_bytes_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, start: bytes
) -> None:
    """Noise is refused with a sentence."""
    parent = tmp_path_factory.mktemp("noise")
    with pytest.raises(UploadRefusedError):
        unpack_archive(io.BytesIO(start + data), parent / "bot")
    assert list(parent.iterdir()) == []


@given(st.data(), st.sampled_from([0, 1]))
def test_no_changed_byte_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, kind: int
) -> None:
    """An archive with a few bytes changed is unpacked or refused with a sentence."""
    archive = bytearray(archives_of(["bot.toml", "lib/a"])[kind])
    if kind == 0:
        archive = bytearray(tarless(archive))
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    parent = tmp_path_factory.mktemp("changed")
    packed = raw_tar(bytes(archive)) if kind == 0 else bytes(archive)
    try:
        unpack_archive(io.BytesIO(packed), parent / "bot")
    except UploadRefusedError:
        assert list(parent.iterdir()) == []


def tarless(archive: bytearray) -> bytes:
    """Return a tar.gz's tar."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert tar.fileobj is not None
        tar.fileobj.seek(0)
        return tar.fileobj.read(1 << 20)
