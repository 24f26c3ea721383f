"""Versions on their way to the ladder: stored, tried by one process at a time, accepted or not.

A trial is claimed with a random token and an expiring deadline, so that a process that dies loses
nothing: another one tries the version again, and what the first still says has no effect.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from redis.asyncio import Redis

from arena.bots.registry import (
    BOT_NAME,
    Added,
    BotArchive,
    BotFacts,
    BotState,
    Store,
    VersionState,
    version_record,
)
from arena.db.keys import arena_key
from arena.db.transitions import Transitions
from arena.errors import InputError, NotFoundError, PreconditionError
from arena.queue.queues import Queues
from arena.uploads import UploadRefusedError, unpack_archive
from arena.uploads.reasons import OURS, REMOVED
from arena.webhooks.events import MOST_EVENTS, Event
from referee.sandbox.scratch import Scratch

MOST_RULESETS: Final = 16
"""Rulesets that a submitted bot may declare: it is tried in each."""

STEPS_KEPT: Final = 5
"""The latest versions of a bot whose steps are kept."""

_OWNERS, _PLACEMENTS, _STEPS, _TRIALS = map(arena_key, ("owners", "placements", "steps", "trials"))


class Verdict(StrEnum):
    """What `Trials.finish` answers."""

    ACTIVE = "active"
    """Accepted, and from now on the version that plays."""
    ACCEPTED = "accepted"
    """Accepted, but a newer one is active, or its bot is suspended or retired."""
    REJECTED = "rejected"
    LOST = "lost"
    """The claim expired, and another process tries the version; nothing changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStep:
    """One step that a version went through.

    Attributes:
        name: for people, ``build``.
        ok: whether the version passed it.
        detail: one sentence about what was found.
        output: what the bot printed meanwhile, shortened in the middle.
        elapsed: how long it took.
    """

    name: str
    ok: bool
    detail: str
    output: str = ""
    elapsed: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Claim:
    """The exclusive, expiring right to try one version.

    Attributes:
        version_id: the version, ``NAME@3``.
        token: the random fence.
        attempt: 1 for the first.
    """

    version_id: str
    token: str
    attempt: int


class UploadArchive(BotArchive, Protocol):
    """Where the folders of uploads go; `arena.archive.archive.Archive` is one."""

    def has_bot(self, digest: str) -> bool:
        """Return whether a folder is stored; may block."""


class Submissions:
    """Takes archives in.

    Args:
        redis: a client made by `arena.db.connection.connect`.
        store: the registry.
        archive: keeps the folders.
        load: reads and judges a folder, `referee.bot_folder.load_bot_folder`.
    """

    def __init__(
        self,
        redis: Redis,
        store: Store,
        archive: UploadArchive,
        *,
        load: Callable[[Path], BotFacts],
    ) -> None:
        self._redis = redis
        self._store = store
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
        scratch = await asyncio.to_thread(Scratch, "upload")
        try:
            folder = scratch.path / "bot"
            await asyncio.to_thread(unpack_archive, upload, folder)
            facts = await asyncio.to_thread(self._load_upload, folder)
            if admit is not None:
                await admit(facts.name)
            digest = await asyncio.to_thread(self._archive.put_bot, folder)
            if fit is not None:
                await fit(facts.name, digest)
        finally:
            await asyncio.to_thread(scratch.remove)
        return await self._register(facts, digest, owner=owner, house=house)

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
        bot, stored = await self._store.bot(facts.name), await self._store.version(rest[0])
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
        version = await self._store.version(version_id)
        is_kept = await asyncio.to_thread(self._archive.has_bot, version.digest)
        answer: Any = await self._transitions.run("version_recheck", version_id, int(is_kept))
        if answer in {b"none", b"settled"}:
            now = await self._store.version(version_id)
            raise PreconditionError(
                f"the version {version_id} is {now.state}; only a rejected one is checked again"
            )
        return bool(answer == b"waits")

    async def steps(self, version_id: str) -> tuple[VersionStep, ...]:
        """Return what a version went through so far; () when it is unknown or long ago."""
        text: Any = await self._redis.hget(_STEPS, version_id)
        return decode_steps(text) if text else ()


class Trials:
    """The line of versions that wait to be tried.

    Args:
        redis: a client made by `arena.db.connection.connect`.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._transitions = Transitions(redis)

    async def waiting(self) -> int:
        """Return how many versions wait or are being tried."""
        return int(await self._redis.zcard(_TRIALS))

    async def claim(self, *, token: str, duration: timedelta) -> Claim | None:
        """Take the version that has waited longest, or whose claim expired; None when none waits.

        Args:
            token: 128 random bits as hex digits, new for each claim.
            duration: how long the claim lives unless renewed.
        """
        reply: Any = await self._transitions.run("trial_claim", token, _ms(duration))
        return None if reply is None else Claim(reply[0].decode(), token, int(reply[1]))

    async def renew(
        self,
        claim: Claim,
        *,
        duration: timedelta,
        state: VersionState | None = None,
        digest: str = "",
        steps: Sequence[VersionStep] = (),
    ) -> bool:
        """Extend a claim, and note how far its version has come; False when it was lost.

        Args:
            claim: the claim.
            duration: how long it lives from now on.
            state: the version's; None leaves it.
            digest: of the folder that its build made; empty leaves it.
            steps: all so far; () leaves them.
        """
        reply: Any = await self._transitions.run(
            "trial_renew",
            *(claim.version_id, claim.token, _ms(duration), state or "", digest),
            encode_steps(steps) if steps else "",
        )
        return bool(reply == b"ok")

    async def give_back(self, claim: Claim, *, wait: timedelta, counts: bool) -> bool:
        """Put the version in line again; False when the claim was lost.

        Args:
            claim: the claim.
            wait: when it may be claimed again.
            counts: whether this was an attempt.
        """
        reply: Any = await self._transitions.run(
            "trial_return", claim.version_id, claim.token, _ms(wait), int(counts)
        )
        return bool(reply == b"ok")

    async def finish(
        self, claim: Claim, *, reason: str = "", steps: Sequence[VersionStep], event: Event
    ) -> Verdict:
        """Accept the version, or reject it.

        Args:
            claim: the claim.
            reason: why it is rejected; empty to accept it.
            steps: all that it went through.
            event: told to its owner.
        """
        name, _, number = claim.version_id.partition("@")
        reply: Any = await self._transitions.run(
            "trial_finish",
            *(claim.version_id, claim.token, "rejected" if reason else "accepted", reason),
            *(encode_steps(steps), event.id, event.body(), MOST_EVENTS),
            f"{name}@{int(number) - STEPS_KEPT}",
        )
        return Verdict(reply.decode())

    async def placements(self) -> list[str]:
        """Return the bots whose places on the ladders have to be brought up to date."""
        names: Any = await self._redis.smembers(_PLACEMENTS)
        return sorted(name.decode() for name in names)

    async def placed(self, name: str) -> None:
        """Note that a bot's places are up to date."""
        await self._redis.srem(_PLACEMENTS, name)


async def place(store: Store, queues: Queues, name: str) -> int:
    """Bring a bot's places on the ladders up to date with its state and rulesets; idempotent.

    An active bot enters the ladders of its rulesets and leaves all others; any other bot leaves all
    and its matches are cancelled.

    Returns:
        How many matches were cancelled.
    """
    bot = await store.bot(name)
    plays = bot.rulesets if bot.state is BotState.ACTIVE else ()
    cancelled = 0
    for ruleset in plays:
        await queues.open(ruleset)
        await queues.ladder(ruleset).enter(name)
    for ruleset in await queues.rulesets():
        if ruleset not in plays and await queues.ladder(ruleset).withdraw(name):
            cancelled += await queues.queue(ruleset).cancel_bot(name)
    return cancelled


def encode_steps(steps: Sequence[VersionStep]) -> str:
    """Return steps as JSON."""
    rows = [{**asdict(step), "elapsed": step.elapsed.total_seconds()} for step in steps]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def decode_steps(text: str | bytes) -> tuple[VersionStep, ...]:
    """Return what `encode_steps` wrote."""
    return tuple(
        VersionStep(**{**row, "elapsed": timedelta(seconds=row["elapsed"])})
        for row in json.loads(text)
    )


def _ms(duration: timedelta) -> int:
    return round(duration / timedelta(milliseconds=1))
