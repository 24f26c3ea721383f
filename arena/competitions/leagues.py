"""Leagues in Redis: who plays in them, when their seasons begin; each season is a competition.

A league ``l-main`` has seasons ``l-main.s1``, ``l-main.s2`` and so on. Its keys carry its own tag,
``{c:l-main}:...``: ``meta`` and ``entries``. Bots enter and leave between seasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from arena.competitions.records import CompetitionRules, CompetitionState, name_of
from arena.competitions.store import UNDER_WAY, RecordStore
from arena.db.keys import arena_key, competition_key
from arena.errors import InputError, NotFoundError
from arena.formats.model import Format
from arena.version_id import bot_of, is_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

AT_ONCE: Final = "at once"
"""The schedule of a league whose next season begins when the last one has ended.

The first begins as soon as as many have entered as a division shall have, if that was said.
"""

BY_HAND: Final = ""
"""The schedule of a league whose seasons an operator begins."""

_RUNNING: Final = (CompetitionState.RUNNING,)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueRules:
    """The rules of a league, fixed at its creation.

    Attributes:
        division: entrants of a division in the first season; 0 for as few divisions of up to 16
            as there can be.
        moves: how many go up, and how many down, between neighbouring divisions.
        schedule: when seasons begin: five fields of cron in UTC, `AT_ONCE` or `BY_HAND`.
        seasons: how many there are; 0 for no end.
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

    def next_start(self, after: datetime) -> datetime | None:
        """Return when the season after a moment begins; None when an operator begins it."""
        if self.schedule == BY_HAND:
            return None
        return after if self.schedule == AT_ONCE else next_start(self.schedule, after=after)


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
        state: running, paused, ended or cancelled.
        seed: 32 bytes that all seasons' seeds follow from; never told.
        season: the number of the last one that has begun; 0 before the first.
        next_time: when the next one is due, UTC; None when nobody has said so, or none will come.
        called: whether an operator has called for it.
        note: in a sentence, why a season that was due did not begin.
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
        """Its id without the kind: ``main``."""
        return name_of(self.id)

    @property
    def wanted(self) -> int:
        """The minimum of bots; of a first season that nobody called for, a whole division."""
        least = self.rules.matches.options.table_size
        if self.rules.schedule == AT_ONCE and not self.season and not self.called:
            return max(least, self.rules.division)
        return least

    def season_id(self, number: int | None = None) -> str:
        """Return the competition that a season is, the latest by default."""
        return f"{self.id}.s{self.season if number is None else number}"


class LeagueStore(RecordStore[LeagueRecord]):
    """All leagues; a missing one raises `NotFoundError`, a wrong state `PreconditionError`."""

    _index = arena_key("leagues")

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
        values: dict[str, str | int] = {
            "rules": rules.matches.to_json(),
            "division": rules.division,
            "moves": rules.moves,
            "schedule": rules.schedule,
            "seasons": rules.seasons,
            "state": CompetitionState.RUNNING,
        }
        due = rules.next_start(datetime.now(UTC))
        if due is not None:
            values["next"] = due.isoformat()
        return await self._create(league, values, seed=seed, entries=entries)

    async def find(self, league: str) -> LeagueRecord | None:
        """Return a league, None when there is none of this id."""
        rows: Any = await self._redis.hgetall(competition_key(league, "meta"))
        meta = {key.decode(): value.decode() for key, value in rows.items()}
        return _record(league, meta) if meta else None

    async def enter(self, league: str, bot: str) -> bool:
        """Enter a bot from the next season on; False when it was entered before."""
        checked_bot(bot)
        capacity = (await self.get(league)).rules.matches.capacity
        return await self._enter(league, bot, capacity=capacity, states=UNDER_WAY)

    async def leave(self, league: str, bot: str) -> None:
        """Withdraw a bot after the present season."""
        record = await self.get(league)
        if not await self._redis.hdel(competition_key(league, "entries"), bot):
            raise NotFoundError(f"{bot} is not in {record.name}")

    async def call_season(self, league: str) -> None:
        """Make the next season due now; it begins when the present one has ended."""
        fields = {"next": datetime.now(UTC).isoformat(), "called": "1", "note": ""}
        await self._move(league, CompetitionState.RUNNING, _RUNNING, fields=fields)

    async def cancel(self, league: str) -> None:
        """Cancel a league: no more seasons begin."""
        await self._move(league, CompetitionState.CANCELLED, UNDER_WAY)

    async def end(self, league: str, *, epoch: int) -> None:
        """Note that the last season has ended; raises as `advance`."""
        await self._move(league, CompetitionState.ENDED, _RUNNING, epoch=epoch)

    async def require_running(self, league: str, *, epoch: int) -> None:
        """Check that a league is running and no newer scheduler active; raises as `advance`."""
        await self._move(league, CompetitionState.RUNNING, _RUNNING, epoch=epoch)

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
        await self._move(league, CompetitionState.RUNNING, _RUNNING, epoch=epoch, fields=fields)


def _record(league: str, meta: Mapping[str, str]) -> LeagueRecord:
    due = meta.get("next") if meta["state"] in UNDER_WAY else None
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
