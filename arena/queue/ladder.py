"""Stores the results and the ratings of one ruleset."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from redis.asyncio import Redis

from arena.db.keys import ladder_key
from arena.db.scripts import Scripts
from arena.queue import log_binary
from arena.queue.log_entries import Annulled, LogEntry, LoggedResult
from arena.queue.models import Standing

PAGE = 1000
"""Log entries read at a time."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The live state of a ladder at one moment, or the part of it that an annulment changes.

    Attributes:
        sequence: of the last entry of the log.
        bank: in micro-Elo; the sum of all ratings and the bank is 0.
        ratings: by bot, in micro-Elo.
        games: by version, its rated matches.
    """

    sequence: int
    bank: int
    ratings: Mapping[str, int]
    games: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Ends:
    """The sequences of the last entry of a log, and of the last one moved to the archive."""

    sequence: int
    archived: int


class Ladder:
    """The ratings, the standings and the log of one ladder.

    The log numbers its entries from 1 without gaps. Ratings belong to bots, counts of rated matches
    to versions, so that a new version inherits the rating and is provisional again by itself.
    """

    def __init__(self, redis: Redis, ruleset: str) -> None:
        self.ruleset = ruleset
        self._redis = redis
        self._scripts = Scripts(redis, "queue", partial(ladder_key, ruleset))

    def _key(self, part: str) -> str:
        return ladder_key(self.ruleset, part)

    async def enter(self, bot: str) -> bool:
        """Enter a bot into the ladder; False when it was there.

        A new bot starts at 1500, debited to the bank; one that was withdrawn keeps its rating.
        """
        return bool(await self._scripts.run("enter", bot))

    async def withdraw(self, bot: str) -> bool:
        """Remove a bot from the standings; its rating stays. False when it was not there."""
        return bool(await self._redis.zrem(self._key("ladder"), bot))

    async def rating(self, bot: str) -> Standing | None:
        """Return a bot's rating and place; None when it never entered."""
        pipe = self._redis.pipeline(transaction=False)
        pipe.hget(self._key("rating"), bot)
        pipe.zrevrank(self._key("ladder"), bot)
        rating, rank = await pipe.execute()
        if rating is None:
            return None
        return Standing(bot, int(rating), None if rank is None else rank + 1)

    async def ratings(self, bots: Sequence[str]) -> dict[str, int]:
        """Return the ratings of those bots that have entered, in micro-Elo."""
        values = await self._redis.hmget(self._key("rating"), list(bots)) if bots else []
        pairs = zip(bots, values, strict=True)
        return {bot: int(value) for bot, value in pairs if value is not None}

    async def standings(self, start: int = 0, count: int = 100) -> list[Standing]:
        """Return ``count`` bots from the ``start``-th (from 0) best one on, best first."""
        rows: Any = await self._redis.zrevrange(
            self._key("ladder"), start, start + count - 1, withscores=True
        )
        return [
            Standing(bot.decode(), int(rating), place)
            for place, (bot, rating) in enumerate(rows, start=start + 1)
        ]

    async def size(self) -> int:
        """Return how many bots are on the ladder."""
        return int(await self._redis.zcard(self._key("ladder")))

    async def rated_matches(self, versions: Sequence[str]) -> dict[str, int]:
        """Return the number of rated matches of each version, 0 for unknown ones."""
        values = await self._redis.hmget(self._key("games"), list(versions)) if versions else []
        pairs = zip(versions, values, strict=True)
        return {version: int(value or 0) for version, value in pairs}

    async def result(self, match_id: str) -> LoggedResult | None:
        """Return the result of a match; None when it is not done or only in the archive."""
        return (await self.results_of([match_id])).get(match_id)

    async def results_of(self, match_ids: Iterable[str]) -> dict[str, LoggedResult]:
        """Return the results of those matches that are done and still in the log."""
        ids = list(match_ids)
        marks: Any = await self._redis.hmget(self._key("done"), ids) if ids else []
        found = await self._entries_at(
            log_binary.decode_done(mark) for mark in marks if mark is not None
        )
        return {result.match_id: result for result in await self._with_annulments(found)}

    async def entries(self, *, after: int = 0, count: int = PAGE) -> list[LogEntry]:
        """Return at most ``count`` entries of the log whose sequence is above ``after``, in order.

        Raw entries: `LoggedResult.annulled` is not filled in, as annulments are entries themselves.
        """
        rows: Any = await self._redis.xrange(self._key("log"), f"{after + 1}-0", "+", count=count)
        return _decode_rows(rows)

    async def latest(self, count: int = 50, *, before: int | None = None) -> list[LoggedResult]:
        """Return the latest results, newest first, those below sequence ``before`` if it is given.

        Fewer than ``count`` come back when other entries stand between them.
        """
        highest = "+" if before is None else f"{before - 1}-0"
        rows: Any = await self._redis.xrevrange(self._key("log"), highest, "-", count=count)
        return await self._with_annulments(_decode_rows(rows))

    async def snapshot(self) -> Snapshot:
        """Return the live state in one step."""
        sequence, bank, ratings, games = await self._scripts.run("snapshot")
        return Snapshot(int(sequence), int(bank), _numbers(ratings), _numbers(games))

    async def ends(self) -> Ends:
        """Return the sequences of the last entry and of the last archived one."""
        meta: Any = await self._redis.hmget(self._key("meta"), ["sequence", "archived"])
        return Ends(*(int(value or 0) for value in meta))

    async def trim(self, last: int, match_ids: Sequence[str]) -> bool:
        """Drop archived entries up to sequence ``last``; False when that was done before."""
        return bool(await self._scripts.run("trim", last, *match_ids))

    async def annul(self, match_id: str, annulment: bytes, changes: Snapshot) -> str:
        """Log an annulment and update the ratings; see `arena.queue.rebuild.annul`.

        ``annulled``, ``moved`` (the log has grown, nothing changed) or ``already``.
        """
        pairs = (*changes.ratings.items(), *changes.games.items())
        answer = await self._scripts.run(
            "annul",
            *(changes.sequence, match_id, annulment, changes.bank, len(changes.ratings)),
            *(each for pair in pairs for each in pair),
        )
        return str(answer.decode())

    async def _entries_at(self, sequences: Iterable[int]) -> list[LogEntry]:
        pipe = self._redis.pipeline(transaction=False)
        for sequence in sequences:
            pipe.xrange(self._key("log"), f"{sequence}-0", f"{sequence}-0")
        return [entry for rows in await pipe.execute() for entry in _decode_rows(rows)]

    async def _with_annulments(self, entries: list[LogEntry]) -> list[LoggedResult]:
        """Return the results among some entries, with the reasons of those that are annulled."""
        results = [entry for entry in entries if isinstance(entry, LoggedResult)]
        if not results:
            return []
        marks: Any = await self._redis.hmget(self._key("done"), [each.match_id for each in results])
        annulments = [log_binary.annulled_by(mark) if mark else None for mark in marks]
        found = await self._entries_at(each for each in annulments if each is not None)
        reasons = {entry.sequence: entry.reason for entry in found if isinstance(entry, Annulled)}
        return [
            result if by is None else replace(result, annulled=reasons.get(by, ""))
            for result, by in zip(results, annulments, strict=True)
        ]


def _decode_rows(rows: list[tuple[bytes, dict[bytes, bytes]]]) -> list[LogEntry]:
    return [
        log_binary.decode(int(entry_id.split(b"-", 1)[0]), fields[log_binary.FIELD])
        for entry_id, fields in rows
    ]


def _numbers(flat: list[bytes]) -> dict[str, int]:
    names, values = flat[::2], flat[1::2]
    return {name.decode(): int(value) for name, value in zip(names, values, strict=True)}
