"""Applies retention: archives old results, deletes old replays and logs, evicts unused bots."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import structlog

from arena.bots.registry import RejectionCause
from arena.db.keys import arena_key
from arena.db.retry import UNREACHABLE
from arena.errors import ArenaError
from arena.queue.retention import archive_old

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from arena.archive.archive import Archive
    from arena.config import Settings
    from arena.context import Arena

PERIOD: Final = timedelta(minutes=5)
FORGOTTEN_AFTER: Final = timedelta(days=1)
"""Age of a bot's folder from which it must belong to a version; uploads take less."""

_TURN: Final = arena_key("housekeeping")
_SWEEP_TURN: Final = arena_key("housekeeping-bots")


async def run_housekeeping(arena: Arena, *, period: timedelta = PERIOD) -> None:
    """Apply retention until cancelled; of several processes one does it in each period."""
    log: Any = structlog.get_logger()
    while True:
        try:
            if await arena.redis.set(_TURN, "1", nx=True, px=period):
                await tidy(arena)
            if await arena.redis.set(_SWEEP_TURN, "1", nx=True, px=FORGOTTEN_AFTER):
                await sweep_bots(arena)
        except (*UNREACHABLE, ArenaError) as error:
            log.warning("housekeeping failed", error=str(error))
        await asyncio.sleep(period.total_seconds() / 2)


async def keep_cache(arena: Arena, *, in_use: Callable[[], Collection[str]] = tuple) -> None:
    """Evict unused bots from this machine's cache until cancelled; each of its processes does.

    ``in_use`` returns the digests of the bots that this process is playing.
    """
    log: Any = structlog.get_logger()
    while True:
        try:
            removed = await asyncio.to_thread(trim_cache, arena.archive, arena.settings, in_use())
            if removed:
                log.info("unpacked bots removed", folders=removed)
        except OSError as error:
            log.warning("housekeeping failed", error=str(error))
        await asyncio.sleep(PERIOD.total_seconds())  # much less than `bot_cache.SPARED`


def trim_cache(archive: Archive, settings: Settings, in_use: Collection[str]) -> int:
    """Evict unused bots from the cache; blocking; returns the count."""
    archive.cache.use(in_use)
    bound = settings.cache_bytes
    return archive.cache.prune(keep_bytes=bound) if bound else 0


async def tidy(arena: Arena) -> None:
    """Archive results beyond what Redis keeps, and delete the oldest files beyond the bounds."""
    log: Any = structlog.get_logger()
    queues, archive, settings = arena.queues, arena.archive, arena.settings
    for ruleset in await queues.rulesets():
        moved = await archive_old(queues.ladder(ruleset), archive, keep=settings.log_keep)
        if moved:
            log.info("results archived", ruleset=ruleset, entries=moved)
    for kind, bound in (("replays", settings.replay_bytes), ("logs", settings.log_bytes)):
        if bound:
            removed = await asyncio.to_thread(archive.prune, kind, keep_bytes=bound)
            if removed:
                log.info("files removed", kind=kind, files=removed)


async def sweep_bots(arena: Arena, *, age: timedelta = FORGOTTEN_AFTER) -> int:
    """Delete bots' folders that no version needs and that are so old; return how many.

    A process leaves one behind that is killed between a verdict and the removal of a rejected
    version's folder, or between storing and registering.
    """
    archive = arena.archive
    old = await asyncio.to_thread(archive.old_bots, age=age)
    async for version in arena.registry.all_versions():
        if version.cause in {None, RejectionCause.ARENA}:
            old -= {version.digest, version.source}
    # Once more: what was stored again meanwhile is about to be registered.
    forgotten = old & await asyncio.to_thread(archive.old_bots, age=age) if old else old
    for digest in forgotten:
        await asyncio.to_thread(archive.remove_bot, digest)
    if forgotten:
        structlog.get_logger().info("folders of no version removed", folders=len(forgotten))
    return len(forgotten)
