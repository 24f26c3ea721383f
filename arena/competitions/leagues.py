"""Leagues in Redis: who plays in them, when their seasons begin; each season is a competition.

A league ``l-main`` has seasons ``l-main.s1``, ``l-main.s2`` and so on. Its keys carry its own tag,
``{c:l-main}:...``: ``meta`` and ``entries``. Bots enter and leave between seasons.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from arena.competitions.records import CompetitionRules, CompetitionState
from arena.competitions.store import StaleEpochError
from arena.db.keys import arena_key, competition_key
from arena.db.scripts import Scripts
from arena.errors import InputError, NotFoundError, PreconditionError
from arena.formats.model import Format
from arena.version_id import bot_of, is_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from redis.asyncio import Redis

AT_ONCE: Final = "at once"
"""The schedule of a league whose next season begins when the last one has ended.

The first begins as soon as as many have entered as a division shall have, if that was said.
"""

BY_HAND: Final = ""
"""The schedule of a league whose seasons an operator begins."""

_INDEX: Final = arena_key("leagues")
_LIVE: Final = (CompetitionState.RUNNING, CompetitionState.PAUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueRules:
    """What is decided when a league is created.

    Attributes:
        matches: the rules of every season's matches; a round robin.
        division: entrants of a division in the first season; 0 for as few divisions of up to 16
            as there can be.
        moves: how many go up, and how many down, between neighbouring divisions.
        schedule: when seasons begin: five fields of cron in UTC, `AT_ONCE` or `BY_HAND`.
        seasons: how many there are; 0 for no end.

    Raises:
        InputError: rules that cannot be played.
    """

    matches: CompetitionRules
    division: int = 0
    moves: int = 2
    schedule: str = BY_HAND
    seasons: int = 0

    def __post_init__(self) -> None:
        if self.matches.format is not Format.ROUND_ROBIN:
            raise InputError(f"a league plays round robins, not {self.matches.format}")
        size = self.matches.options.table_size
        if self.division and self.division < size:
            raise InputError(f"a division has {size} entrants or more")
        if self.moves < 0 or self.seasons < 0:
            raise InputError("moves and seasons are 0 or more")
        if self.schedule not in {AT_ONCE, BY_HAND}:
            next_start(self.schedule, after=datetime.now(UTC))


def checked_bot(entry: str) -> str:
    """Return an entry that a league may have.

    Raises:
        InputError: it is a version.
    """
    if is_version(entry):
        raise InputError(
            f"{entry} is a version; bots enter a league, {bot_of(entry)}, each season "
            "with the version that is active then"
        )
    return entry


def next_start(schedule: str, *, after: datetime) -> datetime:
    """Return when a cron expression fires next.

    Args:
        schedule: minute, hour, day, month and day of the week, in UTC.
        after: a moment.

    Raises:
        InputError: no such expression.
    """
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 -- part of the server's extra

    try:
        return next(CronSim(schedule, after.astimezone(UTC)))
    except (CronSimError, StopIteration) as error:
        raise InputError(
            f"{schedule!r} is no time for seasons to begin ({error}); possible: five fields of "
            f"cron such as '0 18 * * FRI', or {AT_ONCE!r}"
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueRecord:
    """A league as it stands in Redis.

    Attributes:
        id: ``l-NAME``.
        state: running, paused, ended or cancelled.
        rules: what was decided at its creation.
        seed: 32 bytes that all seasons' seeds follow from; never told.
        season: the number of the last one that has begun; 0 before the first.
        next_time: when the next one is due, UTC; None when nobody has said so, or none will come.
        called: whether an operator has called for it.
        note: in a sentence, why a season that was due did not begin.
        created_time: UTC.
    """

    id: str
    state: CompetitionState
    rules: LeagueRules
    seed: bytes = field(repr=False)
    season: int
    next_time: datetime | None
    called: bool
    note: str
    created_time: datetime

    @property
    def name(self) -> str:
        """What people call it."""
        return self.id.partition("-")[2]

    @property
    def wanted(self) -> int:
        """How many bots the next season takes; the first of its own accord a whole division."""
        least = self.rules.matches.options.table_size
        if self.rules.schedule == AT_ONCE and not self.season and not self.called:
            return max(least, self.rules.division)
        return least

    def season_id(self, number: int | None = None) -> str:
        """Return the competition that a season is, the latest by default."""
        return f"{self.id}.s{self.season if number is None else number}"


class LeagueStore:
    """All leagues.

    Args:
        redis: a client made by `arena.db.connection.connect`.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def _run(self, league: str, name: str, *arguments: str | bytes | int) -> str | None:
        scripts = Scripts(self._redis, "competitions", partial(competition_key, league))
        answer = await scripts.run(name, *arguments)
        return None if answer is None else answer.decode()

    async def create(
        self,
        league: str,
        rules: LeagueRules,
        *,
        seed: bytes | None = None,
        entries: Sequence[str] = (),
    ) -> bool:
        """Create a league; False when there is one of this id, which stays as it is.

        Args:
            league: ``l-NAME``.
            rules: what is played.
            seed: 32 bytes that the seasons' seeds follow from; None for random ones.
            entries: the bots that enter, each once; no more than the rules allow.
        """
        now = datetime.now(UTC)
        values = {
            "rules": rules.matches.to_json(),
            "division": rules.division,
            "moves": rules.moves,
            "schedule": rules.schedule,
            "seasons": rules.seasons,
            "state": CompetitionState.RUNNING,
            "seed": (secrets.token_bytes(32) if seed is None else seed).hex(),
            "created": now.isoformat(timespec="seconds"),
        }
        if rules.schedule != BY_HAND:
            due = now if rules.schedule == AT_ONCE else next_start(rules.schedule, after=now)
            values["next"] = due.isoformat()
        await self._redis.sadd(_INDEX, league)
        pairs = [str(each) for pair in values.items() for each in pair]
        return await self._run(league, "create", len(entries), *entries, *pairs) == "created"

    async def find(self, league: str) -> LeagueRecord | None:
        """Return a league, None when there is none of this id."""
        rows: Any = await self._redis.hgetall(competition_key(league, "meta"))
        meta = {key.decode(): value.decode() for key, value in rows.items()}
        return _record(league, meta) if meta else None

    async def get(self, league: str) -> LeagueRecord:
        """Return a league.

        Raises:
            NotFoundError: there is none of this id.
        """
        found = await self.find(league)
        if found is None:
            raise NotFoundError(f"there is no league {league.partition('-')[2]}")
        return found

    async def all(self) -> list[LeagueRecord]:
        """Return all leagues by id."""
        members: Any = await self._redis.smembers(_INDEX)
        found = [await self.find(each) for each in sorted(m.decode() for m in members)]
        return [each for each in found if each is not None]

    async def entries(self, league: str) -> list[str]:
        """Return the bots that play from the next season on, in the order of entry."""
        rows: Any = await self._redis.hgetall(competition_key(league, "entries"))
        return [bot for _, bot in sorted((int(n), bot.decode()) for bot, n in rows.items())]

    async def enter(self, league: str, bot: str) -> bool:
        """Let a bot play from the next season on; False when it was in before.

        Raises:
            InputError: a version instead of a bot.
            NotFoundError: there is no such league.
            PreconditionError: it has ended, or is full.
        """
        checked_bot(bot)
        record = await self.get(league)
        answer = await self._run(league, "enter", bot, record.rules.matches.capacity, *_LIVE)
        if answer not in {"entered", "already"}:
            raise PreconditionError(f"{record.name} is {answer}", reason="NOT_OPEN")
        return answer == "entered"

    async def leave(self, league: str, bot: str) -> None:
        """Let a bot play no more seasons; it plays the present one to its end.

        Raises:
            NotFoundError: there is no such league, or the bot is not in it.
        """
        record = await self.get(league)
        if not await self._redis.hdel(competition_key(league, "entries"), bot):
            raise NotFoundError(f"{bot} is not in {record.name}")

    async def call_season(self, league: str) -> None:
        """Make the next season due now; it begins when the present one has ended.

        Raises:
            NotFoundError: there is no such league.
            PreconditionError: it is paused or has ended.
        """
        fields = {"next": datetime.now(UTC).isoformat(), "called": "1", "note": ""}
        await self._move(league, "running", ("running",), fields=fields)

    async def pause(self, league: str) -> None:
        """Begin no season until it is resumed; raises as `call_season`."""
        await self._move(league, "paused", _LIVE)

    async def resume(self, league: str) -> None:
        """Go on; raises as `call_season`."""
        await self._move(league, "running", _LIVE)

    async def cancel(self, league: str) -> None:
        """Begin no more seasons; raises as `call_season`."""
        await self._move(league, "cancelled", _LIVE)

    async def end(self, league: str, *, epoch: int) -> None:
        """Note that the last season has ended; raises as `advance`."""
        await self._move(league, "ended", ("running",), epoch=str(epoch))

    async def require_running(self, league: str, *, epoch: int) -> None:
        """Hold that a league goes on and that no newer scheduler is active; raises as `advance`."""
        await self._move(league, "running", ("running",), epoch=str(epoch))

    async def advance(
        self, league: str, *, season: int, next_time: datetime | None, note: str, epoch: int
    ) -> None:
        """Note that a season has begun, or that it could not, and when the next one is due.

        Raises:
            PreconditionError: the league is not running.
            StaleEpochError: another scheduler has become active.
        """
        fields = {
            "season": str(season),
            "next": "" if next_time is None else next_time.isoformat(),
            "called": "",
            "note": note,
        }
        await self._move(league, "running", ("running",), epoch=str(epoch), fields=fields)

    async def _move(
        self,
        league: str,
        to: str,
        states: Iterable[str],
        *,
        epoch: str = "",
        fields: Mapping[str, str] | None = None,
    ) -> None:
        pairs = [each for pair in (fields or {}).items() for each in pair]
        old = list(states)
        answer = await self._run(league, "move", epoch, "", to, len(old), *old, *pairs)
        if answer is None:
            raise NotFoundError(f"there is no league {league.partition('-')[2]}")
        if answer == "stale_epoch":
            raise StaleEpochError(f"epoch {epoch} is over")
        if answer != "moved":
            name = league.partition("-")[2]
            raise PreconditionError(f"{name} is {answer}", reason="STATE")


def _record(league: str, meta: Mapping[str, str]) -> LeagueRecord:
    due = meta.get("next") if meta["state"] in _LIVE else None
    return LeagueRecord(
        id=league,
        state=CompetitionState(meta["state"]),
        rules=LeagueRules(
            matches=CompetitionRules.from_json(meta["rules"]),
            division=int(meta["division"]),
            moves=int(meta["moves"]),
            schedule=meta["schedule"],
            seasons=int(meta["seasons"]),
        ),
        seed=bytes.fromhex(meta["seed"]),
        season=int(meta.get("season", 0)),
        next_time=datetime.fromisoformat(due) if due else None,
        called=bool(meta.get("called")),
        note=meta.get("note", ""),
        created_time=datetime.fromisoformat(meta["created"]),
    )
