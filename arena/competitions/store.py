"""Stores competitions in Redis: every change is atomic and idempotent.

Its keys carry its tag, ``{c:t-cup}:...``, see `arena.db.keys`; a set names them all.
"""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from arena.competitions.records import (
    NAME,
    CompetitionRecord,
    CompetitionRules,
    CompetitionState,
    RetiredMatchId,
    Round,
    competition_of,
    name_of,
    planned_id,
    record_of,
    title,
)
from arena.competitions.results import CompetitionResult
from arena.db.keys import arena_key, competition_key, milliseconds
from arena.db.scripts import Scripts
from arena.errors import ArenaError, InputError, NotFoundError, PreconditionError
from arena.version_id import bot_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redis.asyncio import Redis

_OPEN: Final = (CompetitionState.DRAFT, CompetitionState.OPEN)
UNDER_WAY: Final = (CompetitionState.RUNNING, CompetitionState.PAUSED)


_R = TypeVar("_R")


class StaleEpochError(ArenaError):
    """Another scheduler has become active."""


def checked_name(name: str) -> str:
    """Return a name that a competition may have, or raise `InputError`."""
    if not NAME.fullmatch(name):
        raise InputError(f"{name!r} is no competition's name; possible: {NAME.pattern}")
    return name


class RecordStore(ABC, Generic[_R]):
    """What the stores of competitions and of leagues share: an index, a state, entries."""

    _index: str

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def run(self, record: str, name: str, *arguments: str | bytes | int) -> str | None:
        """Run a script of a competition or a league; None when there is none of this id."""
        scripts = Scripts(self._redis, "competitions", partial(competition_key, record))
        answer = await scripts.run(name, *arguments)
        return None if answer is None else answer.decode()

    async def _create(
        self,
        record: str,
        fields: Mapping[str, str | int],
        *,
        seed: bytes | None,
        entries: Sequence[str],
    ) -> bool:
        values = {
            "seed": (secrets.token_bytes(32) if seed is None else seed).hex(),
            "created": now_text(),
            **fields,
        }
        # The index may name what does not exist yet, never the other way round.
        await self._redis.sadd(self._index, record)
        pairs = [each for pair in values.items() for each in pair]
        return await self.run(record, "create", len(entries), *entries, *pairs) == "created"

    @abstractmethod
    async def find(self, record: str) -> _R | None:
        """Return a record, None when there is none of this id."""

    async def get(self, record: str) -> _R:
        """Return a record, or raise `NotFoundError`."""
        found = await self.find(record)
        if found is None:
            raise NotFoundError(f"there is no {title(record)}")
        return found

    async def ids(self) -> list[str]:
        """Return all ids, sorted."""
        members: Any = await self._redis.smembers(self._index)
        return sorted(member.decode() for member in members)

    async def all(self) -> list[_R]:
        """Return all records by id."""
        found = [await self.find(each) for each in await self.ids()]
        return [each for each in found if each is not None]

    async def entries(self, record: str) -> list[str]:
        """Return who has entered, bots or versions, in the order of entry."""
        return (await self.entries_and_revision(record))[0]

    async def entries_and_revision(self, record: str) -> tuple[list[str], int]:
        """Return who has entered, and a number that changes whenever that does."""
        pipe = self._redis.pipeline(transaction=True)
        pipe.hgetall(competition_key(record, "entries"))
        pipe.hget(competition_key(record, "meta"), "revision")
        entries, revision = await pipe.execute()
        order = sorted((int(number), entry.decode()) for entry, number in entries.items())
        return [entry for _, entry in order], int(revision or 0)

    async def _enter(
        self, record: str, entry: str, *, capacity: int, states: Sequence[CompetitionState]
    ) -> bool:
        answer = await self.run(record, "enter", entry, capacity, *states)
        if answer == "full":
            raise PreconditionError(
                f"{name_of(record)} has all of its {capacity} entrants", reason="FULL"
            )
        if answer not in {"entered", "already"}:
            raise PreconditionError(
                f"{name_of(record)} is {answer} and takes no entries", reason="NOT_OPEN"
            )
        return answer == "entered"

    async def pause(self, record: str) -> None:
        """Pause a record: no match or season begins until it is resumed."""
        await self._move(record, CompetitionState.PAUSED, UNDER_WAY)

    async def resume(self, record: str) -> None:
        """Resume a record after a pause."""
        await self._move(record, CompetitionState.RUNNING, UNDER_WAY)

    async def _move(  # noqa: PLR0913 -- a transition, its conditions and its fields
        self,
        record: str,
        to: CompetitionState,
        states: Sequence[CompetitionState],
        *,
        epoch: int | None = None,
        revision: int | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> bool:
        """Change the state and set fields; False when the entries have another revision.

        Raises:
            NotFoundError: there is no such record.
            PreconditionError: it is in none of the states.
            StaleEpochError: another scheduler has become active.
        """
        conditions = ["" if each is None else each for each in (epoch, revision)]
        pairs = [each for pair in (fields or {}).items() for each in pair]
        answer = await self.run(record, "move", *conditions, to, len(states), *states, *pairs)
        if answer is None:
            raise NotFoundError(f"there is no {title(record)}")
        if answer == "stale_epoch":
            raise StaleEpochError(f"epoch {epoch} is over")
        if answer not in {"moved", "revised"}:
            raise PreconditionError(
                f"{name_of(record)} is {answer}, not {' or '.join(states)}", reason="STATE"
            )
        return answer == "moved"


class CompetitionStore(RecordStore[CompetitionRecord]):
    """All tournaments and seasons.

    What names a competition that is not there raises `NotFoundError`; what its state forbids,
    `PreconditionError`.
    """

    _index = arena_key("competitions")

    async def create(  # noqa: PLR0913 -- what a competition begins with
        self,
        competition: str,
        rules: CompetitionRules,
        *,
        state: CompetitionState = CompetitionState.DRAFT,
        seed: bytes | None = None,
        entries: Sequence[str] = (),
        divisions: Sequence[Sequence[str]] = (),
        cursor: int = 0,
        note: str = "",
    ) -> bool:
        """Create a competition; False when there is one of this id, which stays as it is.

        Args:
            competition: ``t-NAME`` or ``l-NAME.s3``.
            rules: what is played.
            state: draft, open, or running with its divisions.
            seed: 32 bytes that the rounds' seeds follow from; None for random ones.
            entries: bots or versions, each once; no more than the rules allow.
            divisions: version ids, for one that is running at once.
            cursor: of a running one: the ladder's sequence before any of its matches.
            note: of a running one: what was decided about its entrants, in a sentence.
        """
        fields = {"rules": rules.to_json(), "state": state}
        if divisions:
            fields |= {**_beginning(divisions, cursor), "note": note}
        return await self._create(competition, fields, seed=seed, entries=entries)

    async def unsettled(self) -> list[str]:
        """Return the ids of those whose matches may be in a queue."""
        ids = await self.ids()
        pipe = self._redis.pipeline(transaction=False)
        for each in ids:
            pipe.hmget(competition_key(each, "meta"), ["state", "settled"])
        found = zip(ids, await pipe.execute(), strict=True)
        idle = {None, *(each.encode() for each in _OPEN)}
        return [each for each, (state, settled) in found if state not in idle and not settled]

    async def find(self, competition: str) -> CompetitionRecord | None:
        """Return a competition, None when there is none of this id."""
        pipe = self._redis.pipeline(transaction=False)
        pipe.hgetall(competition_key(competition, "meta"))
        pipe.hgetall(competition_key(competition, "gone"))
        pipe.hgetall(competition_key(competition, "spent"))
        meta, gone, retired = map(_texts, await pipe.execute())
        return record_of(competition, meta, gone, retired) if meta else None

    async def results(self, competition: str) -> dict[str, CompetitionResult]:
        """Return all results by match."""
        rows: Any = await self._redis.hgetall(competition_key(competition, "results"))
        return {
            match.decode(): CompetitionResult.from_json(match.decode(), text)
            for match, text in rows.items()
        }

    async def played(self, competition: str) -> int:
        """Return how many matches have a result."""
        return int(await self._redis.hlen(competition_key(competition, "results")))

    async def rounds(self, competition: str) -> dict[str, Round]:
        """Return the rounds that have begun, by key."""
        rows = _texts(await self._redis.hgetall(competition_key(competition, "rounds")))
        rounds = {}
        for key, line in rows.items():
            commitment, seed, time = line.split(" ", 2)
            shown = "" if seed == "-" else seed
            rounds[key] = Round(key, commitment, shown, datetime.fromisoformat(time))
        return rounds

    async def is_sealed(self, match_id: str) -> bool:
        """Return whether a match's boards are still to be played by others of its round.

        Replays and logs of such a match must not be shown. False for a match of no competition.
        """
        competition = competition_of(match_id)
        if competition is None:
            return False
        pipe = self._redis.pipeline(transaction=True)
        pipe.hget(competition_key(competition, "results"), planned_id(match_id))
        pipe.hget(competition_key(competition, "spent"), match_id)
        pipe.exists(competition_key(competition, "meta"))
        text, retired, exists = await pipe.execute()
        if retired is not None:
            key = RetiredMatchId.from_text(retired.decode()).round
        elif text is not None:
            key = CompetitionResult.from_json(match_id, text).round
        else:
            return bool(exists)
        found = (await self.rounds(competition)).get(key)
        return found is not None and not found.seed

    # What operators and owners do.

    async def enter(self, competition: str, entry: str, *, as_operator: bool) -> bool:
        """Enter a bot, or a version of one, before the start; False when it was entered before."""
        record = await self.get(competition)
        states = _OPEN if as_operator else (CompetitionState.OPEN,)
        return await self._enter(competition, entry, capacity=record.rules.capacity, states=states)

    async def leave(self, competition: str, bot: str, *, reason: str = "withdrawn") -> str:
        """Withdraw a bot; after the start its matches that are not played count as lost.

        Args:
            competition: what it leaves.
            bot: as it was entered, a bot or a version.
            reason: in a word.

        Returns:
            ``left`` before the start, ``withdrawn`` after it.
        """
        record = await self.get(competition)
        version = next((v for v in record.entrants if bot in {v, bot_of(v)}), "")
        if not version and record.state in UNDER_WAY:
            raise NotFoundError(f"{bot} is not in {record.name}")
        answer = await self.run(competition, "leave", bot, version or bot, reason)
        if answer == "absent":
            raise NotFoundError(f"{bot} is not in {record.name}")
        if answer not in {"left", "withdrawn"}:
            raise PreconditionError(f"{record.name} is {answer}", reason="ENDED")
        return answer

    async def open(self, competition: str) -> None:
        """Open a competition to owners' entries; idempotent."""
        await self._move(competition, CompetitionState.OPEN, _OPEN)

    async def start(
        self, competition: str, divisions: Sequence[Sequence[str]], *, cursor: int, revision: int
    ) -> bool:
        """Start with these entrants, fixed from now on; False when the entries changed meanwhile.

        Args:
            competition: a draft, or an open one.
            divisions: version ids in order of seeding.
            cursor: the ladder's sequence, as it was before the start.
            revision: of the entries that the divisions were made of.
        """
        fields = _beginning(divisions, cursor)
        running = CompetitionState.RUNNING
        return await self._move(competition, running, _OPEN, revision=revision, fields=fields)

    async def cancel(self, competition: str) -> None:
        """Cancel a competition: it ends without a winner."""
        states, fields = (*_OPEN, *UNDER_WAY), {"ended": now_text()}
        await self._move(competition, CompetitionState.CANCELLED, states, fields=fields)

    async def hold(self, competition: str, match_id: str, *, duration: timedelta) -> None:
        """Keep a competition from ending while a match of it is being annulled.

        Until the scheduler has followed the annulment, and for ``duration`` at most.
        """
        await self.run(competition, "hold", match_id, milliseconds(duration))

    async def release(self, competition: str, match_id: str) -> None:
        """Take back a `hold`: the match is not annulled."""
        await self._redis.hdel(competition_key(competition, "holds"), match_id)

    async def settle(self, competition: str) -> None:
        """Mark a competition as cleaned up: nothing of it is in any queue."""
        await self._redis.hset(competition_key(competition, "meta"), "settled", "1")


def _beginning(divisions: Sequence[Sequence[str]], cursor: int) -> dict[str, str]:
    return {"divisions": json.dumps(divisions), "cursor": str(cursor), "started": now_text()}


def now_text() -> str:
    """Return the time in UTC, as records hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _texts(rows: Mapping[Any, Any]) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in rows.items()}
