"""Provide fixtures of the referee's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from tests.referee.scripted import ScriptedBot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest_asyncio.fixture
async def bot() -> AsyncIterator[ScriptedBot]:
    """Return a scripted bot that has said nothing."""
    scripted = ScriptedBot()
    yield scripted
    await scripted.leave()
    assert scripted.pool.free == 1


@pytest_asyncio.fixture
async def playing(bot: ScriptedBot) -> ScriptedBot:
    """Return a scripted bot that has said Hello and Ready."""
    await bot.introduces_itself()
    return bot
