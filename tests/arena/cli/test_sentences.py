"""What the command line says of bad input is written for people."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from arena.cli import build
from arena.errors import InputError as ArenaInputError
from arena.matches import replay_file as replay_files
from referee.errors import InputError as RefereeInputError
from referee.games.replay import dump
from tests.sample_bots.playing import play

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from referee.games.replay import Replay

EXPECTED = (
    "; a replay is a file that `arena play` or `arena match replay` wrote, or what `arena replay "
    "export` made of one"
)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("play", "quasenbo", "a", "b", "--rotations", "none"), "--rotations"),
        (("new", "it", "--game", "quasenbo", "--language", "none"), "--language"),
        (("tournament", "plan", "quasenbo", "--format", "none"), "--format"),
    ],
)
def test_a_choice_that_is_none_is_told_with_those_there_are(
    words: tuple[str, ...], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a word of the library that looked, also for a command within a command."""
    with pytest.raises(SystemExit) as stop:
        build(words[0])(list(words))
    assert stop.value.code == 2
    assert f"Invalid value for '{option}': 'none' is not one of '" in capsys.readouterr().err


@pytest.fixture(scope="module")
def replay() -> Replay:
    """A replay of two games."""
    return asyncio.run(play("quasenbo", "first_legal", "random", boards=1)).replay


def told(file: Path, data: bytes) -> str:
    """Return what the reader of a file says of its content."""
    file.write_bytes(data)
    with pytest.raises((ArenaInputError, RefereeInputError)) as caught:
        replay_files.read(file)
    return str(caught.value)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file"),
        (b"hello\nworld", r"text that begins with 'hello\nworld'"),
        (b"\xff\xfe", "neither compressed JSON nor text"),
        (b"[1]", "JSON of another kind"),
        (b'{"format": "other"}', "JSON of another kind"),
        (b"[" * 100_000, f"text that begins with '{'[' * 40}'"),
    ],
    ids=["empty", "text", "bytes", "list", "format", "nested"],
)
def test_what_is_no_replay_is_named_with_what_would_be(
    data: bytes, found: str, tmp_path: Path
) -> None:
    """What was read, and what is expected."""
    assert told(tmp_path / "file", data) == f"this is not a replay but {found}{EXPECTED}"


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (
            lambda replay: dump(replay)[:-4],
            "the replay was cut off or changed: its JSON goes wrong in line 3, column ",
        ),
        (
            lambda replay: dump(replay).replace(b'"time_control"', b'"tempo"'),
            "the replay was cut off or changed: 'time_control' is missing; ",
        ),
        (
            lambda replay: dump(replay).replace(b'"board":0', b'"board":true', 1),
            "the replay was cut off or changed: True is not a whole number; ",
        ),
        (
            lambda replay: replay_files.pack(replay)[:-40],
            "the replay file is damaged: it was cut off; ",
        ),
    ],
    ids=["cut", "missing", "kind", "cut file"],
)
def test_a_replay_that_was_harmed_is_named_as_one(
    harm: Callable[[Replay], bytes], sentence: str, replay: Replay, tmp_path: Path
) -> None:
    """With the place or the part, without the name of an exception, and what to do."""
    said = told(tmp_path / "file", harm(replay))
    assert said.startswith(sentence)
    assert said.endswith("; fetch or play it again")
