"""Chooses the sandbox in which a process of the service runs bots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.sample_bots import shipped_bot
from referee.sandbox.bubblewrap import SandboxSettings
from referee.sandbox.sandbox import PlainSandbox
from referee.sandbox.selftest import detect_sandbox

if TYPE_CHECKING:
    from pathlib import Path

    from arena.config import Settings
    from referee.sandbox.sandbox import Sandbox


async def sandbox_of(settings: Settings) -> Sandbox:
    """Return the strongest sandbox that works here, or none when the settings want none.

    Raises:
        referee.errors.InputError: an interpreter that the settings name does not serve.
    """
    if not settings.sandbox:
        return PlainSandbox(why="the setting `sandbox` is false")
    modules = settings.node_modules or _sample_modules()
    return await detect_sandbox(
        SandboxSettings(python=settings.python, node=settings.node, node_modules=modules)
    )


def _sample_modules() -> Path | None:
    """Return the packages of the sample bot in JavaScript, where somebody ran ``npm ci``."""
    folder = shipped_bot("node_random") / "node_modules"
    return folder if folder.is_dir() else None
