"""How the parts of the service, and commands beside its data, reach the arena."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from arena.cli.loop import run_async
from arena.config import Settings, load
from arena.context import Arena, connected
from arena.errors import NotFoundError
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_T = TypeVar("_T")


async def ruleset_of(arena: Arena, text: str) -> str:
    """Return a ladder's canonical ruleset.

    Raises:
        InputError: no such game, or no bot was ever added to its ladder.
    """
    ruleset = parse_ruleset(text).ruleset
    known = await arena.queues.rulesets()
    if ruleset not in known:
        there = ", ".join(known) or "none yet; `arena bot add` opens them"
        raise NotFoundError(f"there is no ladder of {ruleset}; the ladders are: {there}")
    return ruleset


def ask(
    question: Callable[[Arena], Awaitable[_T]], *, data_dir: Path | None, redis_url: str | None
) -> _T:
    """Put one question to the running arena and return the answer."""
    settings = settings_of(data_dir=data_dir, redis_url=redis_url)

    async def main() -> _T:
        async with connected(settings) as arena:
            return await question(arena)

    return run_async(main())


def settings_of(file: Path | None = None, **options: Any) -> Settings:
    """Return the settings; options that were not given are None."""
    return load(file, **options)
