"""Calls about matches: asking for them, watching them, results, replays and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.api.messages import match_message, message, page_request, paged, value_of
from arena.backend.challenges import Challenge
from arena.v1 import matches_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.api.messages import Fields
    from arena.backend.access import Caller
    from arena.backend.challenges import Challenges
    from arena.backend.matches import Matches
    from arena.backend.watching import Watching

CHUNK: Final = 64 << 10
"""Bytes of a piece of a replay, or of a log."""


class MatchCalls:
    """Translates calls about matches."""

    def __init__(self, matches: Matches, challenges: Challenges, watching: Watching) -> None:
        self._matches = matches
        self._challenges = challenges
        self._watching = watching

    async def request_match(self, request: pb.RequestMatchRequest, caller: Caller) -> Fields:
        match, is_new = await self._challenges.request_match(
            caller,
            value_of(Challenge, request),
        )
        return {"match": match_message(match), "is_new": is_new}

    async def cancel_match(self, request: pb.CancelMatchRequest, caller: Caller) -> Fields:
        return {"cancelled": await self._challenges.cancel_match(caller, request.match)}

    async def get_match(self, request: pb.GetMatchRequest, caller: Caller) -> Fields:
        return {"match": match_message(await self._matches.get_match(caller, request.match))}

    async def list_matches(self, request: pb.ListMatchesRequest, caller: Caller) -> Fields:
        page = await self._matches.list_matches(
            caller, page_request(request), ruleset=request.ruleset, bot=request.bot
        )
        return paged("matches", page, match_message)

    async def watch_match(
        self, request: pb.WatchMatchRequest, caller: Caller
    ) -> AsyncIterator[Fields]:
        async for match in self._watching.watch_match(caller, request.match):
            yield {"match": match_message(match)}

    async def watch_matches(
        self, request: pb.WatchMatchesRequest, caller: Caller
    ) -> AsyncIterator[Fields]:
        after = request.after_sequence if request.HasField("after_sequence") else None
        async for match in self._watching.watch_matches(
            caller, request.ruleset, bot=request.bot, after=after
        ):
            yield {"match": match_message(match)}

    async def get_replay(
        self, request: pb.GetReplayRequest, caller: Caller
    ) -> AsyncIterator[Fields]:
        data = await self._matches.get_replay(caller, request.match, ruleset=request.ruleset)
        for start in range(0, len(data), CHUNK):
            yield {"chunk": data[start : start + CHUNK]}

    async def get_match_log(
        self, request: pb.GetMatchLogRequest, caller: Caller
    ) -> AsyncIterator[Fields]:
        # A character has at most four bytes.
        size = CHUNK // 4
        async for process, text in self._matches.get_match_log(caller, request.match):
            name = message(pb.ProcessName, process)
            for start in range(0, len(text), size):
                yield {"process": name, "text": text[start : start + size]}
