"""What every command shares: where it prints, how it fails, JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from arena.context import Arena

_T = TypeVar("_T")

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_INPUT = 2

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="The arena's data folder; ARENA_DATA_DIR, ./arena-data."),
]
RedisUrl = Annotated[
    str | None,
    typer.Option("--redis-url", help="A Redis of your own instead; ARENA_REDIS_URL."),
]

out = Console(highlight=False, soft_wrap=True)
"""Results, on stdout."""

progress_console = Console(stderr=True, highlight=False)
"""Progress and complaints, on stderr."""


def complain(sentence: str) -> None:
    """Print one sentence about what went wrong, on stderr."""
    print(f"arena: {sentence}", file=sys.stderr)  # noqa: T201 -- plain text, never markup


def print_json(document: Any) -> None:
    """Print a document as JSON on stdout."""
    print(json.dumps(document, ensure_ascii=False, indent=2))  # noqa: T201 -- a program reads it


def ask(
    question: Callable[[Arena], Awaitable[_T]], *, data_dir: Path | None, redis_url: str | None
) -> _T:
    """Put one question to the arena at hand; only now the libraries of the service are loaded."""
    from arena.cli import connection  # noqa: PLC0415 -- needs the `server` extra

    return connection.ask(question, data_dir=data_dir, redis_url=redis_url)


async def ruleset_of(arena: Arena, text: str) -> str:
    """Return a ladder's canonical ruleset; see `arena.cli.connection.ruleset_of`."""
    from arena.cli import connection  # noqa: PLC0415 -- needs the `server` extra

    return await connection.ruleset_of(arena, text)
