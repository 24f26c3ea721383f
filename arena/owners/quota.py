"""Limits the disk space of an owner's versions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from arena.bots.registry import BotState, VersionState
from arena.competitions.records import CompetitionState
from arena.competitions.store import CompetitionStore
from arena.db.scripts import Scripts
from arena.errors import LimitError

if TYPE_CHECKING:
    from arena.bots.registry import Bot, Version
    from arena.context import Arena

KEPT: Final = 5
"""The latest accepted versions of a bot, which stay so that it can be rolled back."""

_REASON: Final = "its files made room for others: submit the same folder again to bring it back"
_OVER: Final = {CompetitionState.ENDED, CompetitionState.CANCELLED}
_SETTLED: Final = {VersionState.ACCEPTED, VersionState.SUSPENDED}


class OwnerQuota:
    """Keeps each owner's versions within the setting `owner_bytes`, compressed; 0 for no bound.

    Concurrent uploads may exceed it together.
    """

    def __init__(self, arena: Arena) -> None:
        self._scripts = Scripts(arena.redis, "bots")
        self._registry = arena.registry
        self._archive = arena.archive
        self._queues = arena.queues
        self._competitions = CompetitionStore(arena.redis)
        self._bound = arena.settings.owner_bytes

    async def fit_upload(self, owner: str, name: str, digest: str) -> None:
        """Delete the oldest unneeded versions until the upload fits the owner's quota.

        An upload that cannot fit is removed again. Unneeded is what is neither active, being
        tried, in a match or a competition, nor among the latest `KEPT` of a bot that is not
        retired.

        Raises:
            LimitError: the needed versions leave too little.
        """
        bots = await self._registry.bots(owner=owner)
        known = await self._registry.bots_named([name])
        if not self._bound or (known and known[name].owner != owner):
            return  # another owner's bot is refused when it is registered
        versions = {bot.name: await self._registry.versions_of(bot.name) for bot in bots}
        sizes = await asyncio.to_thread(self._archive.bot_sizes)
        held = {each for found in versions.values() for one in found for each in _digests(one)}
        excess = sum(sizes.get(each, 0) for each in held | {digest}) - self._bound
        if excess <= 0:
            return
        needed = await self._needed()
        loose = [
            each
            for bot in bots
            for each in _loose(bot, versions[bot.name])
            if each.id not in needed and digest not in _digests(each)
        ]
        gone, freed = _choose(loose, versions, sizes, excess)
        if not gone:
            await self._refuse(digest, versions.get(name, []))
        for each in gone:
            await self._remove(each, freed)

    async def _refuse(self, digest: str, versions: list[Version]) -> None:
        """Remove the uploaded folder, unless a version has it, and raise `LimitError`."""
        alive = (each for each in versions if each.state is not VersionState.REJECTED)
        if not any(digest in _digests(each) for each in alive):
            await asyncio.to_thread(self._archive.remove_bot, digest)
        raise LimitError(
            f"your versions may take {self._bound} bytes, and those that play, wait, or are among "
            f"the latest {KEPT} of a bot leave too little for this one: retire a bot with `arena "
            "bot retire`, or leave out of the archive what the bot does not need",
            reason="TOO_MANY_BYTES",
            facts={"limit_bytes": str(self._bound)},
        )

    async def _remove(self, version: Version, freed: set[str]) -> None:
        # From here on nobody can activate it; then its folder is no longer missed.
        answer = await self._scripts.run("remove", version.id, _REASON)
        if answer == b"removed":
            for digest in freed & _digests(version):
                await asyncio.to_thread(self._archive.remove_bot, digest)

    async def _needed(self) -> set[str]:
        """Return the versions that unfinished matches and competitions refer to."""
        needed: set[str] = set()
        for ruleset in await self._queues.rulesets():
            needed |= await self._queues.queue(ruleset).entrants()
        for record in await self._competitions.all():
            if record.state not in _OVER:
                needed |= {*record.entrants, *await self._competitions.entries(record.id)}
        return needed


def _digests(version: Version) -> set[str]:
    """Return the digests of a version's folders in the archive."""
    return {version.digest, version.source} - {""}


def _loose(bot: Bot, versions: list[Version]) -> list[Version]:
    """Return the versions that a bot itself does not need."""
    if bot.state is BotState.RETIRED:
        kept = set()
    else:
        accepted = [each.id for each in versions if each.state is VersionState.ACCEPTED]
        kept = {bot.active_version, *accepted[-KEPT:]}
    return [each for each in versions if each.state in _SETTLED and each.id not in kept]


def _choose(
    loose: list[Version], versions: dict[str, list[Version]], sizes: dict[str, int], excess: int
) -> tuple[list[Version], set[str]]:
    """Return the oldest loose versions that free ``excess`` bytes, and their folders; else none."""
    gone: list[Version] = []
    freed: set[str] = set()
    for each in sorted(loose, key=lambda version: version.created_time):
        gone.append(each)
        stay = {
            digest
            for other in versions[each.bot]
            if other not in gone and other.state is not VersionState.REJECTED
            for digest in _digests(other)
        }
        freed |= _digests(each) - stay
        if sum(sizes.get(digest, 0) for digest in freed) >= excess:
            return gone, freed
    return [], set()
