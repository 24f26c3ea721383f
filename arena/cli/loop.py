"""Runs coroutines."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

_T = TypeVar("_T")


def run_async(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine on uvloop where it is installed, else on asyncio's own loop."""
    factory = asyncio.new_event_loop
    with suppress(ModuleNotFoundError):
        from uvloop import new_event_loop as factory  # noqa: PLC0415 -- not in the light install
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)
