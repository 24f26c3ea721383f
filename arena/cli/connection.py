"""How commands reach a running arena: its settings, its server, its archive."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from arena.archive.archive import Archive
from arena.bots.registry import Store
from arena.cli.loop import run_async
from arena.config import Settings, load
from arena.db.connection import connect
from arena.db.embedded import EmbeddedServer
from arena.errors import InputError, NotFoundError
from arena.queue.models import RetryPolicy
from arena.queue.queues import Queues
from referee.bot_folder import load_bot_folder
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from redis.asyncio import Redis

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Arena:
    """A running arena as commands see it.

    Attributes:
        settings: of this machine.
        redis: a client that has been answered.
        queues: its queues and ladders.
        store: its bots.
        archive: its replays, logs and bot folders.
    """

    settings: Settings
    redis: Redis
    queues: Queues
    store: Store
    archive: Archive

    @property
    def policy(self) -> RetryPolicy:
        """When a match is given up."""
        return policy_of(self.settings)

    async def ruleset(self, text: str) -> str:
        """Return a ladder's canonical ruleset.

        Raises:
            InputError: no such game, or no bot was ever added to its ladder.
        """
        ruleset = parse_ruleset(text).ruleset
        known = await self.queues.rulesets()
        if ruleset not in known:
            there = ", ".join(known) or "none yet; `arena bot add` opens them"
            raise NotFoundError(f"there is no ladder of {ruleset}; the ladders are: {there}")
        return ruleset


def archive_of(settings: Settings) -> Archive:
    """Return the archive of the settings."""
    return Archive(
        settings.archive,
        cache=settings.data_dir / "cache",
        upload_bytes=settings.upload_bytes,
    )


def policy_of(settings: Settings) -> RetryPolicy:
    """Return when a match is given up."""
    return RetryPolicy(attempts=settings.attempts, voids=settings.voids, backoff=settings.backoff)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Arena]:
    """Connect to the running arena.

    Raises:
        InputError: none runs there; the sentence says what to start.
    """
    redis = await connect(redis_url(settings))
    try:
        archive = archive_of(settings)
        store = Store(redis, archive, load=load_bot_folder)
        yield Arena(settings, redis, Queues(redis, policy=policy_of(settings)), store, archive)
    finally:
        await redis.aclose()


def redis_url(settings: Settings) -> str:
    """Return where the arena's Redis is: its own address, or the embedded server's socket.

    Raises:
        InputError: the embedded server does not run.
    """
    if settings.redis_url:
        return settings.redis_url
    server = EmbeddedServer(settings.data_dir)
    if not Path(server.url.removeprefix("unix://")).exists():
        raise InputError(
            f"no arena runs in {settings.data_dir}: start one with `arena up`, name another data "
            "folder with --data-dir, or a Redis server with --redis-url"
        )
    return server.url


def ask(
    question: Callable[[Arena], Awaitable[_T]], *, data_dir: Path | None, redis_url: str | None
) -> _T:
    """Put one question to the running arena and return the answer."""
    settings = settings_of(data_dir=data_dir, redis_url=redis_url)

    async def main() -> _T:
        async with opened(settings) as arena:
            return await question(arena)

    return run_async(main())


def settings_of(file: Path | None = None, **options: Any) -> Settings:
    """Return the settings; options that were not given are None."""
    return load(file, **options)
