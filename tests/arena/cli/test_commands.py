"""Every command can be built and explains itself."""

from __future__ import annotations

import pytest
import typer

from arena.cli import MODULES, build

WORDS = [word for words in MODULES.values() for word in words]


@pytest.mark.parametrize("word", ["", *WORDS])
def test_a_command_is_built_from_its_own_module(word: str) -> None:
    """Only the named command's module is imported, and Typer can read all of its options."""
    command = typer.main.get_command(build(word))
    names = set(command.commands)  # type: ignore[attr-defined]
    assert set(WORDS) <= names if not word else word in names


@pytest.mark.parametrize("word", WORDS)
def test_a_command_has_help(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``--help`` says what the command does."""
    with pytest.raises(SystemExit) as stop:
        build(word)([word, "--help"])
    assert stop.value.code == 0
    assert "Usage:" in capsys.readouterr().out
