"""Terminals of a width, for tests of tables."""

import io

import pytest
from rich.console import Console, RenderableType

from arena.cli.console import out


def narrow(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Let commands find a terminal of so many cells, whatever this process was started on."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(out, "_width", width)


def printed(made: RenderableType, width: int) -> list[str]:
    """Print a table on a terminal of a width; return its lines without the blanks at their ends."""
    console = Console(file=io.StringIO(), width=width)
    console.print(made)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]
