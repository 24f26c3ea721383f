"""Consoles, exit codes and options that commands share."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_INPUT = 2

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="The arena's data folder; ARENA_DATA_DIR, ./arena-data."),
]
KeepDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Keep everything there; a temporary folder.")
]
BotFolders = Annotated[
    list[Path] | None, typer.Option("--bot", help="A bot's folder; the sample bots.")
]
RedisUrl = Annotated[
    str | None,
    typer.Option("--redis-url", help="A Redis of your own instead; ARENA_REDIS_URL."),
]

out = Console(markup=False, highlight=False, soft_wrap=True)
"""Results, on stdout."""

progress_console = Console(stderr=True, markup=False, highlight=False)
"""Progress and complaints, on stderr."""


def complain(sentence: str) -> None:
    """Print one sentence about what went wrong, on stderr."""
    print(f"arena: {sentence}", file=sys.stderr)  # noqa: T201 -- plain text, never markup


def print_json(document: Any) -> None:
    """Print a document as JSON on stdout."""
    print(json.dumps(document, ensure_ascii=False, indent=2))  # noqa: T201 -- a program reads it
