"""Queues challenges, which are matches that authors ask for, and cancels matches."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from arena.backend.access import Service, authorized
from arena.backend.matches import find, look
from arena.bots.registry import BotState, VersionState
from arena.errors import (
    DeniedError,
    InputError,
    LimitError,
    NotFoundError,
    PreconditionError,
)
from arena.owners.tokens import Scope
from arena.queue.models import Enqueued, MatchPhase, MatchSpec
from arena.version_id import bot_of
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.backend.access import Caller
    from arena.backend.matches import Match
    from arena.bots.registry import Bot

FLOW: Final = "challenge"
BOARDS: Final = 64
"""The maximum of boards of a challenge."""

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_BY: Final = "requested_by"
_FULL: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """A match that is asked for.

    Attributes:
        entrants: bots, or versions by their ids; one of them the caller's.
        boards: how many; 0 for as many as a ladder match has.
        request_id: chosen by the caller; the same request with the same id is the same match.
    """

    ruleset: str
    entrants: Sequence[str]
    boards: int = 0
    request_id: str


class Challenges(Service):
    """Requests and cancels challenges."""

    @authorized(Scope.AUTHOR)
    async def request_match(self, caller: Caller, challenge: Challenge) -> tuple[Match, bool]:
        """Queue an unrated match; the same request again is the same match.

        Returns:
            The match, and whether it is asked for the first time.

        Raises:
            LimitError: the caller has too many challenges, or too many matches wait.
        """
        ruleset = await self._backend.ruleset(challenge.ruleset)
        match_id = _match_id(caller, ruleset, challenge)
        known = await look(self._backend, ruleset, match_id)
        if known is not None:
            return known, False
        versions = await self._versions(caller, ruleset, challenge.entrants)
        spec = self._spec(match_id, ruleset, versions, boards=challenge.boards, by=caller.owner)
        place = f"{ruleset} {match_id}"
        limits = self._backend.limits
        await limits.hold_challenge(caller.owner, place, is_open=self._backend.is_open)
        answer = await self._backend.queues.queue(ruleset).enqueue(
            spec, flow_weight=1, cap=self._backend.settings.queue_cap, epoch=None
        )
        if answer is Enqueued.FULL:
            await limits.drop_challenge(caller.owner, place)
            raise LimitError(
                f"as many matches of {ruleset} wait as are allowed; try again later",
                retry_after=_FULL,
                reason="QUEUE_FULL",
            )
        found = await look(self._backend, ruleset, match_id)
        assert found is not None
        return found, answer is Enqueued.QUEUED

    @authorized(Scope.AUTHOR, Scope.OPERATOR)
    async def cancel_match(self, caller: Caller, match_id: str) -> bool:
        """Cancel a match that the caller asked for, or an operator any; False if it was already."""
        found = await find(self._backend, match_id)
        if found.spec is None:
            raise PreconditionError(f"the match {match_id} has ended", reason="ENDED")
        asked_by = found.spec.metadata.get(_BY, "")
        if asked_by != caller.owner and not caller.has(Scope.OPERATOR):
            raise DeniedError("only who asked for a match may cancel it", reason="NOT_YOUR_MATCH")
        cancelled = await self._backend.queues.queue(found.ruleset).cancel(match_id)
        if found.phase is not MatchPhase.LEASED and asked_by:
            await self._backend.limits.drop_challenge(asked_by, f"{found.ruleset} {match_id}")
        return cancelled

    def _spec(
        self, match_id: str, ruleset: str, versions: tuple[str, ...], *, boards: int, by: str
    ) -> MatchSpec:
        plan = self._backend.settings.ladder(ruleset)
        assert plan.boards is not None
        assert plan.time_control is not None
        count = boards or min(plan.boards, BOARDS)
        if not 1 <= count <= BOARDS:
            raise InputError(f"a challenge has 1 to {BOARDS} boards, not {count}")
        return MatchSpec(
            id=match_id,
            ruleset=ruleset,
            flow=FLOW,
            entrants=versions,
            boards=count,
            seed=secrets.token_bytes(32),
            time_control=plan.time_control,
            rated=False,
            cost=count * parse_ruleset(ruleset).rotations,
            metadata={_BY: by},
        )

    async def _versions(
        self, caller: Caller, ruleset: str, entrants: Sequence[str]
    ) -> tuple[str, ...]:
        """Return the versions that are to play, one of them the caller's."""
        wanted = parse_ruleset(ruleset).entrants
        if len(entrants) != wanted:
            raise InputError(f"{ruleset} is played by {wanted} entrants, not {len(entrants)}")
        names = [bot_of(text) for text in entrants]
        bots = await self._backend.registry.bots_named(dict.fromkeys(names))
        missing = [name for name in names if name not in bots]
        if missing:
            raise NotFoundError(f"there is no bot {missing[0]}; `arena bots` lists them")
        if all(bot.owner != caller.owner for bot in bots.values()):
            raise DeniedError("one of the entrants must be yours", reason="NOT_YOUR_BOT")
        versions = []
        for text, name in zip(entrants, names, strict=True):
            is_own = bots[name].owner == caller.owner
            versions.append(await self._version(ruleset, text, bots[name], is_own=is_own))
        return tuple(versions)

    async def _version(self, ruleset: str, text: str, bot: Bot, *, is_own: bool) -> str:
        """Return the version that a text names: a bot's active one, or an own one by its id."""
        if bot.state is BotState.SUSPENDED or (bot.state is not BotState.ACTIVE and not is_own):
            raise PreconditionError(
                f"the bot {bot.name} is {bot.state} and plays no matches", reason="BOT_NOT_ACTIVE"
            )
        if ruleset not in bot.rulesets:
            raise PreconditionError(
                f"the bot {bot.name} does not play {ruleset}; it plays {', '.join(bot.rulesets)}",
                reason="RULESET_NOT_PLAYED",
            )
        if text in {bot.name, bot.active_version} and bot.active_version:
            return bot.active_version
        if not is_own:
            raise DeniedError(
                f"of another owner's bot only the active version plays, {bot.active_version}",
                reason="NOT_YOUR_BOT",
            )
        if text == bot.name:
            raise PreconditionError(
                f"no version of {bot.name} has been accepted yet", reason="NOT_ACCEPTED"
            )
        version = await self._backend.registry.version(text)
        if version.state is not VersionState.ACCEPTED:
            raise PreconditionError(
                f"the version {text} is {version.state}; only accepted ones play",
                reason="NOT_ACCEPTED",
            )
        return version.id


def _match_id(caller: Caller, ruleset: str, challenge: Challenge) -> str:
    """Return the deterministic id of a request, which makes repeating it harmless."""
    if not _REQUEST_ID.fullmatch(challenge.request_id):
        raise InputError(
            f"request_id must be chosen by the caller, {_REQUEST_ID.pattern}", reason="REQUEST_ID"
        )
    request, entrants = challenge.request_id, list(challenge.entrants)
    facts = [caller.owner, request, ruleset, entrants, challenge.boards]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return f"{FLOW}-{digest[:20]}"
