"""Every command can be built and explains itself."""

from __future__ import annotations

import pytest
import typer

from arena.cli import PANELS, build
from arena.formats.model import Format
from referee.version import VERSION

WORDS = [word for words in PANELS.values() for word in words]


@pytest.mark.parametrize("word", ["", *WORDS])
def test_a_command_is_built_from_its_own_module(word: str) -> None:
    """Only the named command's module is imported, and Typer can read all of its options."""
    command = typer.main.get_command(build(word))
    names = set(command.commands)  # type: ignore[attr-defined]
    assert set(WORDS) <= names if not word else word in names


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_a_command_has_help(word: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what the command does, by its short name, too."""
    with pytest.raises(SystemExit) as stop:
        build(word)([word, option])
    assert stop.value.code == 0
    assert "Usage:" in capsys.readouterr().out


def test_the_help_shows_whole_sentences_in_groups(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 columns, and likewise within each group of commands."""
    monkeypatch.setenv("COLUMNS", "80")
    groups = (
        "bot",
        "match",
        "webhook",
        "queue",
        "token",
        "tournament",
        "league",
        "replay",
        "stats",
    )
    for words in (["--help"], *([word, "-h"] for word in groups)):
        with pytest.raises(SystemExit):
            build("" if len(words) == 1 else words[0])(words)
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= 80
        assert "…" not in shown
        assert "... " not in shown.partition("[ARGS]...")[2]
        listed = shown.partition("─ Commands ─")[2].splitlines()[1:-2]
        assert all(line.rstrip("│ ").endswith(".") for line in listed if line)
        if len(words) == 1:
            panels = [line for line in shown.splitlines() if line.startswith("╭─ ")]
            assert [panel.strip("╭─╮ ") for panel in panels] == ["Options", *PANELS]


def test_the_help_names_each_format_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No value of ``--format`` is broken over two lines at 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        build("tournament")(["tournament", "create", "--help"])
    shown = capsys.readouterr().out
    assert all(str(each) in shown for each in Format)


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """As the package's metadata have it."""
    with pytest.raises(SystemExit) as stop:
        build("")(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"bot-arena {VERSION}\n"
