"""Calls that ask for matches, and cancel them."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from arena.api.finding import Found, find, look
from arena.api.gate import call, has_scope, owner
from arena.bots.registry import BotState, VersionState
from arena.errors import (
    ArenaError,
    DeniedError,
    InputError,
    LimitError,
    NotFoundError,
    PreconditionError,
)
from arena.owners.tokens import Scope
from arena.queue.models import Enqueued, MatchSpec, Phase
from arena.v1 import matches_pb2
from arena.version_id import bot_of
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from arena.api.backend import Backend
    from arena.bots.registry import Bot

FLOW: Final = "challenge"
BOARDS: Final = 64
"""The most boards of a challenge."""

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_BY: Final = "requested_by"
_FULL: Final = timedelta(seconds=10)


class ChallengeCalls:
    """Answers calls about challenges.

    Args:
        backend: the arena.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @call(scope=Scope.AUTHOR)
    async def request_match(
        self, request: matches_pb2.RequestMatchRequest
    ) -> matches_pb2.RequestMatchResponse:
        """Queue an unrated match; the same request again is the same match."""
        ruleset = await self._backend.ruleset(request.ruleset)
        match_id = _match_id(ruleset, request)
        known = await look(self._backend, ruleset, match_id)
        if known is not None:
            return matches_pb2.RequestMatchResponse(match=known.message)
        spec = self._spec(
            match_id, ruleset, await self._versions(ruleset, request), boards=request.boards
        )
        place = f"{ruleset} {match_id}"
        limits = self._backend.limits
        await limits.hold_challenge(owner(), place, is_open=self._backend.is_open)
        answer = await self._backend.queues.queue(ruleset).enqueue(
            spec, flow_weight=1, cap=self._backend.settings.queue_cap, epoch=None
        )
        if answer is Enqueued.FULL:
            await limits.drop_challenge(owner(), place)
            raise LimitError(
                f"as many matches of {ruleset} wait as are allowed; try again later",
                retry_after=_FULL,
                reason="QUEUE_FULL",
            )
        found = await look(self._backend, ruleset, match_id)
        if found is None:
            raise ArenaError(f"{match_id} was queued and cannot be found")
        return matches_pb2.RequestMatchResponse(
            match=found.message, is_new=answer is Enqueued.QUEUED
        )

    @call(scope=Scope.AUTHOR)
    async def cancel_match(
        self, request: matches_pb2.CancelMatchRequest
    ) -> matches_pb2.CancelMatchResponse:
        """Cancel a match that the caller asked for."""
        found = await find(self._backend, request.match)
        if found.result is not None:
            raise PreconditionError(f"the match {request.match} has ended", reason="ENDED")
        self._require_own(found)
        cancelled = await self._backend.queues.queue(found.ruleset).cancel(request.match)
        if found.phase is not Phase.LEASED:
            await self._backend.limits.drop_challenge(owner(), f"{found.ruleset} {request.match}")
        return matches_pb2.CancelMatchResponse(cancelled=cancelled)

    def _require_own(self, found: Found) -> None:
        asked_by = found.spec.metadata.get(_BY, "") if found.spec is not None else ""
        if asked_by != owner() and not has_scope(Scope.OPERATOR):
            raise DeniedError("only who asked for a match may cancel it", reason="NOT_YOUR_MATCH")

    def _spec(
        self, match_id: str, ruleset: str, versions: tuple[str, ...], *, boards: int
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
            metadata={_BY: owner()},
        )

    async def _versions(
        self, ruleset: str, request: matches_pb2.RequestMatchRequest
    ) -> tuple[str, ...]:
        """Return the versions that are to play, one of them the caller's."""
        entrants = parse_ruleset(ruleset).entrants
        if len(request.entrants) != entrants:
            raise InputError(
                f"{ruleset} is played by {entrants} entrants, not {len(request.entrants)}"
            )
        names = [bot_of(text) for text in request.entrants]
        bots = await self._backend.bots(names)
        missing = [name for name in names if name not in bots]
        if missing:
            raise NotFoundError(f"there is no bot {missing[0]}; `arena bots` lists them")
        if all(bot.owner != owner() for bot in bots.values()):
            raise DeniedError("one of the entrants must be yours", reason="NOT_YOUR_BOT")
        versions = []
        for text, name in zip(request.entrants, names, strict=True):
            versions.append(await self._version(ruleset, text, bots[name]))
        return tuple(versions)

    async def _version(self, ruleset: str, text: str, bot: Bot) -> str:
        """Return the version that a text names: a bot's active one, or an own one by its id."""
        own = bot.owner == owner()
        if bot.state is BotState.SUSPENDED or (bot.state is not BotState.ACTIVE and not own):
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
        if not own:
            raise DeniedError(
                f"of another owner's bot only the active version plays, {bot.active_version}",
                reason="NOT_YOUR_BOT",
            )
        if text == bot.name:
            raise PreconditionError(
                f"no version of {bot.name} has been accepted yet", reason="NOT_ACCEPTED"
            )
        return await self._accepted(text)

    async def _accepted(self, version_id: str) -> str:
        version = await self._backend.registry.version(version_id)
        if version.state is not VersionState.ACCEPTED:
            raise PreconditionError(
                f"the version {version_id} is {version.state}; only accepted ones play",
                reason="NOT_ACCEPTED",
            )
        return version.id


def _match_id(ruleset: str, request: matches_pb2.RequestMatchRequest) -> str:
    """Return the id that this request has every time it is made."""
    if not _REQUEST_ID.fullmatch(request.request_id):
        raise InputError(
            f"request_id must be chosen by the caller, {_REQUEST_ID.pattern}", reason="REQUEST_ID"
        )
    facts = [owner(), request.request_id, ruleset, list(request.entrants), request.boards]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return f"{FLOW}-{digest[:20]}"
