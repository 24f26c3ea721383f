"""Takes uploaded archives in: unpacks and judges them, stores each as a version to be tried."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from redis.asyncio import Redis

from arena.bots.registry import (
    BOT_NAME,
    Added,
    BotArchive,
    BotFacts,
    Registry,
    VersionState,
    version_record,
)
from arena.bots.steps import VersionStep, decode_steps
from arena.db.keys import arena_key
from arena.db.transitions import Transitions
from arena.errors import InputError, NotFoundError, PreconditionError
from arena.uploads import UploadRefusedError, unpack_archive
from arena.uploads.reasons import OURS, REMOVED
from referee.sandbox.scratch import Scratch

MOST_RULESETS: Final = 16
"""Rulesets that a submitted bot may declare: it is tried in each."""

_OWNERS, _STEPS = map(arena_key, ("owners", "steps"))


class UploadArchive(BotArchive, Protocol):
    """Where the folders of uploads go; `arena.archive.archive.Archive` is one."""

    def has_bot(self, digest: str) -> bool:
        """Return whether a folder is stored; may block."""


class Submissions:
    """Takes archives in.

    Args:
        redis: a client made by `arena.db.connection.connect`.
        registry: the registry.
        archive: keeps the folders.
        load: reads and judges a folder, `referee.bot_folder.load_bot_folder`.
    """

    def __init__(
        self,
        redis: Redis,
        registry: Registry,
        archive: UploadArchive,
        *,
        load: Callable[[Path], BotFacts],
    ) -> None:
        self._redis = redis
        self._registry = registry
        self._archive = archive
        self._load = load
        self._transitions = Transitions(redis)

    async def store_upload(
        self,
        upload: BinaryIO,
        *,
        owner: str,
        house: bool = False,
        admit: Callable[[str], Awaitable[None]] | None = None,
        fit: Callable[[str, str], Awaitable[None]] | None = None,
    ) -> Added:
        """Store the bot in an archive file as a new version, and put it in line to be tried.

        The same content again is the same version, and nothing changes; only when the arena itself
        failed to try it, or an operator wants another check, it is put in line once more.

        Args:
            upload: a whole zip or tar.gz that can be sought.
            owner: whose it is.
            house: whether a new bot is the arena's own.
            admit: told the bot's name before anything is stored; refuses by an exception.
            fit: told its name and its folder's digest once that is stored, and makes room for it;
                removes it again and refuses by an exception.

        Raises:
            UploadRefusedError: the archive cannot be unpacked, or holds no bot; one sentence.
            InputError: its name or rulesets are not possible.
            NotFoundError: the owner is unknown.
            PreconditionError: the bot is another owner's, or suspended by an operator.
        """
        if not await self._redis.hexists(_OWNERS, owner):
            raise NotFoundError(f"there is no owner {owner}; an operator adds one with a token")
        async with self._unpacked(upload) as (folder, facts):
            if admit is not None:
                await admit(facts.name)
            digest = await asyncio.to_thread(self._archive.put_bot, folder)
            if fit is not None:
                await fit(facts.name, digest)
        return await self._register(facts, digest, owner=owner, house=house)

    async def add_upload(self, upload: BinaryIO, *, owner: str, house: bool) -> Added:
        """Add the bot in an archive file untried; see `Registry.add_folder`.

        Args:
            upload: a whole zip or tar.gz that can be sought.
            owner: whose it is.
            house: whether it is the arena's own.

        Raises:
            UploadRefusedError, InputError, NotFoundError, PreconditionError: as `store_upload`.
        """
        async with self._unpacked(upload) as (folder, _):
            return await self._registry.add_folder(folder, owner=owner, house=house)

    @asynccontextmanager
    async def _unpacked(self, upload: BinaryIO) -> AsyncIterator[tuple[Path, BotFacts]]:
        """Unpack an archive into a folder that lives as long as the block; judge its bot."""
        scratch = await asyncio.to_thread(Scratch, "upload")
        try:
            folder = scratch.path / "bot"
            await asyncio.to_thread(unpack_archive, upload, folder)
            yield folder, await asyncio.to_thread(self._load_upload, folder)
        finally:
            await asyncio.to_thread(scratch.remove)

    def _load_upload(self, folder: Path) -> BotFacts:
        try:
            facts = self._load(folder)
        except ValueError as error:
            # The author knows nothing of the folder that it was unpacked into.
            said = str(error).replace(f"{folder}/", "").replace(f"{folder}", "the archive")
            raise UploadRefusedError(said) from error
        if not BOT_NAME.fullmatch(facts.name):
            raise InputError(f"{facts.name!r} is no bot's name; possible: {BOT_NAME.pattern}")
        if len(facts.rulesets) > MOST_RULESETS:
            raise InputError(
                f"bot.toml names {len(facts.rulesets)} rulesets; {MOST_RULESETS} is the most"
            )
        return facts

    async def _register(self, facts: BotFacts, digest: str, *, owner: str, house: bool) -> Added:
        now = datetime.now(UTC).isoformat()
        version = version_record(facts, digest=digest, created=now, state=VersionState.UPLOADED)
        reply: Any = await self._transitions.run(
            "version_submit", facts.name, owner, digest, int(house), version, now, OURS, REMOVED
        )
        answer, *rest = [each.decode() for each in reply]
        if answer == "taken":
            raise PreconditionError(
                f"the bot {facts.name} belongs to {rest[0]}; choose another name in bot.toml"
            )
        if answer == "suspended":
            raise PreconditionError(f"the bot {facts.name} is suspended; ask an operator")
        bot, stored = await self._registry.bot(facts.name), await self._registry.version(rest[0])
        if stored.state is VersionState.REJECTED:
            # It was known, and its folder removed when it was rejected.
            await asyncio.to_thread(self._archive.remove_bot, digest)
        return Added(bot, stored, is_new=answer == "added")

    async def recheck(self, version_id: str) -> bool:
        """Let a rejected version be tried again, as what it was tried with may have changed.

        Returns:
            True when it waits to be tried from now on; False when its files are not kept any more,
            and it is tried once they are submitted again.

        Raises:
            NotFoundError: there is no such version.
            PreconditionError: it is not rejected.
        """
        version = await self._registry.version(version_id)
        is_kept = await asyncio.to_thread(self._archive.has_bot, version.digest)
        answer: Any = await self._transitions.run("version_recheck", version_id, int(is_kept))
        if answer in {b"none", b"settled"}:
            now = await self._registry.version(version_id)
            raise PreconditionError(
                f"the version {version_id} is {now.state}; only a rejected one is checked again"
            )
        return bool(answer == b"waits")

    async def steps(self, version_id: str) -> tuple[VersionStep, ...]:
        """Return what a version went through so far; () when it is unknown or long ago."""
        text: Any = await self._redis.hget(_STEPS, version_id)
        return decode_steps(text) if text else ()
