"""What `pack_folder` makes, `unpack_archive` takes."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import InputError
from arena.uploads import UploadRefusedError, pack_folder
from tests.arena.uploads.making import contents, unpack

SEGMENT = st.text(
    st.characters(codec="utf-8", categories=["Ll", "Lo", "Nd", "Zs"]), min_size=1, max_size=8
).filter(lambda text: text.strip() == text and "con" not in text.lower())
FILE = st.tuples(st.binary(max_size=200), st.sampled_from([0o644, 0o755]))
TREE = st.dictionaries(
    st.lists(SEGMENT, min_size=1, max_size=4).map("/".join), FILE, min_size=1, max_size=8
)


def write(folder: Path, files: dict[str, tuple[bytes, int]]) -> None:
    """Write files; one whose path is taken is left out."""
    for path, (data, mode) in files.items():
        target = folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        except OSError:
            continue
        target.chmod(mode)


@settings(max_examples=40)
@given(TREE)
def test_packing_and_unpacking_gives_the_same_folder(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, tuple[bytes, int]]
) -> None:
    """Names, contents and the right to execute survive, or the sentence says why they would not."""
    top = tmp_path_factory.mktemp("trip")
    source = top / "source"
    write(source, files)
    try:
        data = pack_folder(source)
    except UploadRefusedError as error:
        assert "the same name" in str(error)  # noqa: PT017 -- only some trees are refused
        return
    before = {path: what for path, what in contents(source).items() if what[0] is not None}
    after = {
        path: what for path, what in contents(unpack(data, top)).items() if what[0] is not None
    }
    assert after == before


def test_equal_folders_give_equal_bytes(tmp_path: Path) -> None:
    """Whenever and by whomever they were written."""
    for name in ("one", "two"):
        write(tmp_path / name, {"bot.toml": (b"x", 0o644), "lib/a.py": (b"y", 0o600)})
    os.utime(tmp_path / "two" / "bot.toml", (1, 1))
    assert pack_folder(tmp_path / "one") == pack_folder(tmp_path / "two")


def test_what_the_arena_does_not_need_is_left_out(tmp_path: Path) -> None:
    """Version control, caches, packages of node, and what .arenaignore names."""
    kept = {"bot.toml": (b"", 0o644), "lib/data.txt": (b"", 0o644), "lib": (b"", 0o644)}
    source = tmp_path / "source"
    out = [
        ".git/config", "lib/__pycache__/a.pyc", "node_modules/grpc/index.js", ".DS_Store",
        "notes.md", "models/big.bin", "lib/secret.key", "data/raw/x",
    ]  # fmt: skip
    write(source, dict.fromkeys([*kept, *out], (b"", 0o644)))
    (source / "lib").is_dir()
    (source / ".arenaignore").write_text("# mine\n*.md\nmodels/\n/lib/*.key\ndata/raw\n")
    found = contents(unpack(pack_folder(source), tmp_path))
    assert set(found) == {"bot.toml", "lib", "lib/data.txt", "data"}


@pytest.mark.parametrize("target", ["bot.toml", "/etc/passwd"])
def test_a_link_is_refused(tmp_path: Path, target: str) -> None:
    """The author is told before anything is sent."""
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(UploadRefusedError, match="'link' is a link"):
        pack_folder(tmp_path)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """It is never opened, which would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UploadRefusedError, match="neither a regular file"):
        pack_folder(tmp_path)


def test_a_name_that_the_arena_refuses_is_refused_here(tmp_path: Path) -> None:
    """By the same rules."""
    (tmp_path / "aux.py").touch()
    with pytest.raises(UploadRefusedError, match="device"):
        pack_folder(tmp_path)


def test_too_much_is_refused(tmp_path: Path) -> None:
    """One file, or what does not compress enough."""
    with (tmp_path / "big").open("wb") as file:
        file.truncate((32 << 20) + 1)
    with pytest.raises(UploadRefusedError, match="'big' is larger than 32 MiB"):
        pack_folder(tmp_path)
    (tmp_path / "big").write_bytes(os.urandom(11 << 20))
    with pytest.raises(UploadRefusedError, match=r"10 MiB at most; .*\.arenaignore"):
        pack_folder(tmp_path)


def test_what_is_no_folder_is_the_callers_error(tmp_path: Path) -> None:
    """With a sentence."""
    with pytest.raises(InputError, match="is not a folder"):
        pack_folder(tmp_path / "nowhere")
