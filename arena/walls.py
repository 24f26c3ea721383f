"""Which sandbox a process of the service runs bots in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from referee.match.bubblewrap import SandboxSettings
from referee.match.sandbox import PlainSandbox
from referee.match.selftest import detect_sandbox

if TYPE_CHECKING:
    from arena.config import Settings
    from referee.match.sandbox import Sandbox


async def sandbox_of(settings: Settings) -> Sandbox:
    """Return the strongest sandbox that works here, or none when the settings want none.

    Raises:
        referee.errors.InputError: an interpreter that the settings name does not serve.
    """
    if not settings.sandbox:
        return PlainSandbox(why="the setting `sandbox` is false")
    return await detect_sandbox(
        SandboxSettings(
            python=settings.python, node=settings.node, node_modules=settings.node_modules
        )
    )
