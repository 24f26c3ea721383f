"""Unpacks uploaded archives, and stores each as a version to be tried."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from redis.asyncio import Redis

from arena.archive.archive import Archive
from arena.bots.registry import (
    AddedVersion,
    Registry,
    VersionState,
    version_record,
)
from arena.bots.steps import VersionStep, decode_steps
from arena.db.keys import arena_key
from arena.db.scripts import Scripts
from arena.errors import InputError, PreconditionError
from arena.uploads import UploadRefusedError, unpack_archive
from referee.bot_folder import BotFolder, load_bot_folder
from referee.sandbox.scratch import Scratch

MOST_RULESETS: Final = 16
"""Rulesets that a submitted bot may declare: it is tried in each."""

_STEPS: Final = arena_key("steps")


class Submissions:
    """Stores uploaded archives as versions."""

    def __init__(self, redis: Redis, registry: Registry, archive: Archive) -> None:
        self._redis = redis
        self._registry = registry
        self._archive = archive
        self._scripts = Scripts(redis, "bots")

    async def store_upload(
        self,
        upload: BinaryIO,
        *,
        owner: str,
        house: bool = False,
        admit: Callable[[str], Awaitable[None]] | None = None,
        fit: Callable[[str, str], Awaitable[None]] | None = None,
    ) -> AddedVersion:
        """Store the bot in an archive file as a new version, and queue it to be tried.

        The same content again is the same version, and nothing changes; only when the arena itself
        failed to try it, or an operator wants another check, it is queued once more.

        Args:
            upload: a whole zip or tar.gz, seekable.
            owner: of the bot.
            house: whether a new bot is the arena's own.
            admit: called with the bot's name before anything is stored; refuses by an exception.
            fit: called with its name and its folder's digest once that is stored; frees space for
                it, or removes it again and refuses by an exception.

        Raises:
            UploadRefusedError: the archive cannot be unpacked, or holds no bot; one sentence.
            InputError: it names too many rulesets.
            NotFoundError: the owner is unknown.
            PreconditionError: the bot is another owner's, or suspended by an operator.
        """
        await self._registry.require_owner(owner)
        async with self._unpacked(upload) as (folder, facts):
            if admit is not None:
                await admit(facts.name)
            digest = await asyncio.to_thread(self._archive.put_bot, folder)
            if fit is not None:
                await fit(facts.name, digest)
        now = datetime.now(UTC).isoformat()
        version = version_record(facts, digest=digest, created=now, state=VersionState.UPLOADED)
        reply: Any = await self._scripts.run(
            "submit", facts.name, owner, digest, int(house), version, now
        )
        added = await self._registry.added(facts.name, reply)
        if added.version.state is VersionState.REJECTED:
            # It was known, and its folder removed when it was rejected.
            await asyncio.to_thread(self._archive.remove_bot, digest)
        return added

    async def add_upload(self, upload: BinaryIO, *, owner: str, house: bool) -> AddedVersion:
        """Add the bot in an archive file untried; raises as `store_upload`."""
        async with self._unpacked(upload) as (folder, _):
            return await self._registry.add_folder(folder, owner=owner, house=house)

    @asynccontextmanager
    async def _unpacked(self, upload: BinaryIO) -> AsyncIterator[tuple[Path, BotFolder]]:
        """Unpack an archive into a scratch folder, and load its bot."""
        scratch = await asyncio.to_thread(Scratch, "upload")
        try:
            folder = scratch.path / "bot"
            await asyncio.to_thread(unpack_archive, upload, folder)
            yield folder, await asyncio.to_thread(self._load_upload, folder)
        finally:
            await asyncio.to_thread(scratch.remove)

    def _load_upload(self, folder: Path) -> BotFolder:
        try:
            facts = load_bot_folder(folder)
        except ValueError as error:
            # The author knows nothing of the folder that it was unpacked into.
            said = str(error).replace(f"{folder}/", "").replace(f"{folder}", "the archive")
            raise UploadRefusedError(said) from error
        if len(facts.rulesets) > MOST_RULESETS:
            raise InputError(
                f"bot.toml names {len(facts.rulesets)} rulesets; {MOST_RULESETS} is the most"
            )
        return facts

    async def recheck(self, version_id: str) -> bool:
        """Queue a rejected version to be tried again, or raise `PreconditionError`.

        False when its files are gone, so that it is queued once they are submitted again.
        """
        version = await self._registry.version(version_id)
        is_kept = await asyncio.to_thread(self._archive.has_bot, version.digest)
        answer: Any = await self._scripts.run("recheck", version_id, int(is_kept))
        if answer in {b"none", b"settled"}:
            now = await self._registry.version(version_id)
            raise PreconditionError(
                f"the version {version_id} is {now.state}; only a rejected one is checked again"
            )
        return bool(answer == b"waits")

    async def steps(self, version_id: str) -> tuple[VersionStep, ...]:
        """Return the steps of a version's trial; () when it is unknown or long ago."""
        text: Any = await self._redis.hget(_STEPS, version_id)
        return decode_steps(text) if text else ()
