"""Stores owners, bots and their versions in Redis.

A bot never changes its owner. Its versions are numbered from 1 and immutable; one of them is
active. Ratings are on the ladders (`arena.queue.ladder`), files in the archive.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, InstanceOf, Json, TypeAdapter
from redis.asyncio import Redis

from arena.archive.archive import Archive
from arena.db.keys import arena_key
from arena.db.scripts import Scripts
from arena.errors import InputError, NotFoundError, PreconditionError
from arena.version_id import VersionId, bot_of
from referee.bot_folder import BotFolder, load_bot_folder

OWNER_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")
_BOTS, _VERSIONS, _OWNERS = map(arena_key, ("bots", "versions", "owners"))
_RUNTIMES: Final = {"python": "python", "python3": "python", "node": "node"}


class BotState(StrEnum):
    """Whether a bot is given matches."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    """By an operator, who alone can end it; or for the faults of its active version, until another
    one becomes active."""
    RETIRED = "retired"
    """By its owner; the next version, or an activation, brings it back."""
    PENDING = "pending"
    """None of its versions has been accepted yet."""


class VersionState(StrEnum):
    """How far a version has come."""

    UPLOADED = "uploaded"
    BUILDING = "building"
    CHECKING = "checking"
    """It goes through the steps of ``arena check``."""
    VALIDATING = "validating"
    """It plays against house bots."""
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    """It failed a step and never plays."""
    SUSPENDED = "suspended"
    """It was ended or forfeited too often, and plays no more."""


class RejectionCause(StrEnum):
    """Whose fault a rejection is, and so what becomes of the same folder when it comes again."""

    BOT = "bot"
    """It failed a step; it stays rejected, unless an operator lets it be tried again."""
    ARENA = "arena"
    """The arena could not try it; it is tried anew. Its files are kept."""
    QUOTA = "quota"
    """It was accepted, and deleted for its owner's quota; it is tried anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """A registered program; its aliases are the names of the stored JSON.

    Attributes:
        rulesets: canonical texts of the ladders that it plays on; () before a version is accepted.
        house: whether it is the arena's own, and so may meet any other in rated matches.
        active_version: the id of the version that plays, ``NAME@3``; empty before one is accepted.
    """

    name: str
    owner: str
    rulesets: Json[tuple[str, ...]]
    house: bool
    state: BotState
    reason: str = ""
    active_version: Annotated[str, Field(alias="active")]
    versions: int
    created_time: Annotated[datetime, Field(alias="created")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One immutable upload of a bot.

    Attributes:
        digest: SHA-256 of the folder that plays, after its build, 64 hex digits; the archive's key.
        parallel_games: the most games it plays at once; 0 leaves it to the referee.
        runtime: ``python``, ``node`` or ``other``.
        rulesets: canonical texts.
        cause: of a rejection; None without one.
        source: digest of the folder before its build; empty when it has had none.
        is_built: whether its build command has been run.
        trusted: whether it was added without a trial; any other needs the sandbox to play.
    """

    id: InstanceOf[VersionId]
    digest: str
    command: tuple[str, ...]
    parallel_games: int
    runtime: str
    rulesets: tuple[str, ...]
    state: VersionState = VersionState.ACCEPTED
    reason: str = ""
    cause: RejectionCause | None = None
    source: str = ""
    is_built: Annotated[bool, Field(alias="built")] = False
    trusted: bool = True
    created_time: Annotated[datetime, Field(alias="created")]

    @property
    def bot(self) -> str:
        """The name of the bot."""
        return self.id.bot


@dataclass(frozen=True, slots=True)
class AddedVersion:
    """The bot and the version that a folder became; ``is_new`` is False for a known folder."""

    bot: Bot
    version: Version
    is_new: bool


class Registry:
    """Registers owners, bots and versions."""

    def __init__(self, redis: Redis, archive: Archive) -> None:
        self._redis = redis
        self._archive = archive
        self._scripts = Scripts(redis, "bots")

    async def add_owner(self, name: str) -> bool:
        """Register an owner; False when the name was known."""
        if not OWNER_NAME.fullmatch(name):
            raise InputError(f"{name!r} is no owner's name; possible: {OWNER_NAME.pattern}")
        now = datetime.now(UTC).isoformat()
        return bool(await self._redis.hsetnx(_OWNERS, name, now))

    async def require_owner(self, name: str) -> None:
        """Raise `NotFoundError` unless the owner is registered."""
        if not await self._redis.hexists(_OWNERS, name):
            raise NotFoundError(f"there is no owner {name}; an operator adds one with a token")

    async def owners(self) -> list[str]:
        """Return the names of all owners, sorted."""
        return sorted(_texts(await self._redis.hkeys(_OWNERS)))

    async def add_folder(self, folder: Path, *, owner: str, house: bool = False) -> AddedVersion:
        """Add a folder as the active version of its bot, which inherits the bot's rating.

        The same content again is the same version, made active again.

        Raises:
            referee.errors.InvalidBotError: the folder holds no bot that can be run.
            InputError: the folder is too large, or the owner is unknown.
            PreconditionError: the bot is another owner's, or suspended.
        """
        facts = await asyncio.to_thread(load_bot_folder, folder)
        await self.require_owner(owner)
        digest = await asyncio.to_thread(self._archive.put_bot, folder)
        now = datetime.now(UTC).isoformat()
        version = version_record(facts, digest=digest, created=now)
        arguments = (facts.name, owner, digest, json.dumps(facts.rulesets), int(house))
        reply: Any = await self._scripts.run("add_version", *arguments, version, now)
        return await self.added(facts.name, reply)

    async def added(self, name: str, reply: Iterable[bytes]) -> AddedVersion:
        """Read the reply of a script that adds a version; raises as `add_folder`."""
        answer, *rest = _texts(reply)
        if answer == "taken":
            raise PreconditionError(
                f"the bot {name} belongs to {rest[0]}; choose another name in bot.toml"
            )
        if answer == "suspended":
            raise PreconditionError(f"the bot {name} is suspended; ask an operator")
        return AddedVersion(
            await self.bot(name), await self.version(rest[0]), is_new=answer == "added"
        )

    async def bot(self, name: str) -> Bot:
        """Return a bot, or raise `NotFoundError`."""
        text = await self._redis.hget(_BOTS, name)
        if text is None:
            raise NotFoundError(f"there is no bot {name}; `arena bots` lists them")
        return _bot(text)

    async def bots_named(self, names: Iterable[str]) -> dict[str, Bot]:
        """Return those of the bots that exist, by name."""
        wanted = list(names)
        texts: Any = await self._redis.hmget(_BOTS, wanted) if wanted else []
        return {bot.name: bot for bot in (_bot(text) for text in texts if text is not None)}

    async def bots(self, *, owner: str | None = None, ruleset: str | None = None) -> list[Bot]:
        """Return all bots by name, or those of an owner or of a ladder."""
        found = [_bot(text) for text in await self._redis.hvals(_BOTS)]
        return sorted(
            (
                bot
                for bot in found
                if owner in {None, bot.owner} and (ruleset is None or ruleset in bot.rulesets)
            ),
            key=lambda bot: bot.name,
        )

    async def version(self, version_id: str) -> Version:
        """Return a version, or raise `NotFoundError`."""
        found = await self.versions([version_id])
        if not found:
            raise NotFoundError(f"there is no version {version_id}; `arena bot show` lists them")
        return found[0]

    async def versions(self, version_ids: Iterable[str]) -> list[Version]:
        """Return those of the versions that exist, in their order."""
        ids = list(version_ids)
        texts: Any = await self._redis.hmget(_VERSIONS, ids) if ids else []
        pairs = zip(ids, texts, strict=True)
        return [_version(each, text) for each, text in pairs if text is not None]

    async def all_versions(self) -> AsyncIterator[Version]:
        """Yield the versions of all bots, in no order."""
        async for version_id, text in self._redis.hscan_iter(_VERSIONS, count=1_000):
            yield _version(version_id.decode(), text)

    async def versions_of(self, name: str) -> list[Version]:
        """Return the versions of a bot, oldest first."""
        bot = await self.bot(name)
        return await self.versions(
            VersionId.of(name, number) for number in range(1, bot.versions + 1)
        )

    async def set_state(self, name: str, state: BotState, *, reason: str = "") -> Bot:
        """Suspend, retire or bring back a bot; the caller checks permissions.

        A bot without an accepted version is pending instead of active. One that was suspended for
        its faults comes back with the version that had them. A suspended one cannot be retired.
        """
        return await self._changed(name, state=state, reason=reason)

    async def activate(self, version_id: str) -> Bot:
        """Make an accepted version its bot's active one, and its bot active on its rulesets.

        Raises `PreconditionError` where an operator suspended the bot.
        """
        return await self._changed(bot_of(version_id), state=BotState.ACTIVE, version=version_id)

    async def _changed(
        self, name: str, *, state: BotState, version: str = "", reason: str = ""
    ) -> Bot:
        answer: Any = await self._scripts.run("change_bot", name, state, version, reason)
        if answer == b"no_bot":
            raise NotFoundError(f"there is no bot {name}; `arena bots` lists them")
        if answer == b"suspended":
            raise PreconditionError(f"the bot {name} is suspended; ask an operator")
        if answer == b"no_version":
            raise NotFoundError(f"there is no version {version}; `arena bot show` lists them")
        if answer == b"not_accepted":
            found = await self.version(version)
            said = f"{found.state} ({found.reason})" if found.reason else found.state
            raise PreconditionError(
                f"the version {version} is {said}; only an accepted one can be active"
            )
        return await self.bot(name)


def version_record(
    facts: BotFolder, *, digest: str, created: str, state: VersionState = VersionState.ACCEPTED
) -> str:
    """Return a new version as JSON, as Redis keeps it; ``created`` is ISO 8601."""
    return json.dumps(
        {
            "digest": digest,
            "command": facts.command,
            "parallel_games": facts.parallel_games,
            "runtime": _RUNTIMES.get(Path(facts.command[0]).name, "other"),
            "rulesets": facts.rulesets,
            "state": state,
            # What comes from outside is tried before it is accepted.
            "trusted": state is VersionState.ACCEPTED,
            "created": created,
        }
    )


def _texts(values: Iterable[Any]) -> list[str]:
    return [value.decode() for value in values]


_bot: Final = TypeAdapter(Bot).validate_json
_STORED_VERSION: Final = TypeAdapter(Version)


def _version(version_id: str, text: str | bytes) -> Version:
    return _STORED_VERSION.validate_python({"id": VersionId(version_id), **json.loads(text)})
