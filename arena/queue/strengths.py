"""Fits strengths with error bars to a ladder's log, and publishes them beside Elo.

The sums of the log and the strengths are kept in Redis, so that a new scheduler continues from
there, and pages need not read the log.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

from arena.db.keys import ladder_key
from arena.queue.log_entries import Annulled, LoggedResult
from arena.queue.retention import whole_log
from arena.ratings.half_points import board_scores
from arena.ratings.set_sums import SetSums
from referee.outcome import ForfeitReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redis.asyncio import Redis

    from arena.queue.ladder import Ladder
    from arena.queue.retention import ResultsArchive

MOST_BOTS: Final = 300
"""Beyond this the fit takes too long to be made on the way; its time grows with the cube."""

MOST_TABLES: Final = 20_000
"""Tables beyond which sums are not kept in Redis: the next scheduler reads the log again."""

_HALF_WIDTH: Final = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Strength:
    """The strength of a bot, all its versions together.

    Attributes:
        elo: its lead over the average bot.
        error: half of the 95 % interval, in Elo; None where ``note`` says why.
    """

    elo: float
    error: float | None
    note: str

    @property
    def deviation(self) -> float | None:
        """One standard error, in Elo."""
        return None if self.error is None else self.error / _HALF_WIDTH


@dataclass(frozen=True, slots=True)
class LadderStrength:
    """A bot's entry in the published strengths.

    Attributes:
        strength: of all rated results; None on a ladder too large for a fit.
        matches: rated ones that were not annulled.
        timeouts: games of them that it lost on time.
    """

    strength: Strength | None
    matches: int
    timeouts: int


class LadderStrengths:
    """Follows a ladder's log, and fits the strengths of its bots."""

    def __init__(
        self, redis: Redis, ladder: Ladder, *, archive: ResultsArchive | None = None
    ) -> None:
        self.sequence = 0
        self._redis = redis
        self._ladder = ladder
        self._archive = archive
        self._sums = SetSums()
        self._matches: Counter[str] = Counter()
        self._timeouts: Counter[str] = Counter()
        self._is_loaded = False

    async def update(self) -> bool:
        """Add what was logged since; return whether there was anything."""
        if not self._is_loaded:
            await self._load()
            self._is_loaded = True
        before = self.sequence
        async for entry in whole_log(self._ladder, self._archive, after=self.sequence):
            if isinstance(entry, LoggedResult):
                self._count(entry)
            elif isinstance(entry, Annulled):
                await self._subtract(entry)
            self.sequence = entry.sequence
        return self.sequence != before

    def _count(self, result: LoggedResult, *, times: int = 1) -> None:
        if not result.rated:
            return
        for bot in result.bots:
            self._matches[bot] += times
        for forfeit in result.forfeits:
            if forfeit.reason is ForfeitReason.TIMEOUT:
                self._timeouts[result.bots[forfeit.entrant]] += times * forfeit.games
        if len(self._matches) <= MOST_BOTS:
            for scores in board_scores(result):
                self._sums.add(result.bots, scores, times=times)

    async def _subtract(self, annulment: Annulled) -> None:
        log = whole_log(self._ladder, self._archive, after=annulment.target - 1)
        async for entry in log:
            if isinstance(entry, LoggedResult):
                self._count(entry, times=-1)
            break

    def column(self) -> dict[str, LadderStrength]:
        """Fit every bot's strength; takes time that grows with the cube of their number."""
        bots = sorted(self._matches)
        strengths: dict[str, Strength] = {}
        if 0 < len(bots) <= MOST_BOTS:
            found = self._sums.fit(bots)
            strengths = {
                bot: Strength(float(found.elo[at]), found.error(at), found.notes[at])
                for at, bot in enumerate(bots)
            }
        return {
            bot: LadderStrength(strengths.get(bot), self._matches[bot], self._timeouts[bot])
            for bot in bots
        }

    async def publish(self, column: dict[str, LadderStrength]) -> None:
        """Store the strengths, and the sums that they were fitted to, in Redis."""
        pipe = self._redis.pipeline(transaction=True)
        key = ladder_key(self._ladder.ruleset, "strengths")
        pipe.delete(key)
        if column:
            pipe.hset(key, mapping={bot: _encode(each) for bot, each in column.items()})
        if len(self._sums) <= MOST_TABLES:
            document = {
                "sequence": self.sequence,
                "matches": self._matches,
                "timeouts": self._timeouts,
                "sums": list(self._sums.document()),
            }
            packed = zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 1)
            pipe.set(ladder_key(self._ladder.ruleset, "strength-sums"), packed)
        await pipe.execute()

    async def _load(self) -> None:
        packed: Any = await self._redis.get(ladder_key(self._ladder.ruleset, "strength-sums"))
        if packed is None:
            return
        document = json.loads(zlib.decompress(packed))
        if document["sequence"] > (await self._ladder.ends()).sequence:
            return  # of a ladder that is no more
        self.sequence = document["sequence"]
        self._matches = Counter(document["matches"])
        self._timeouts = Counter(document["timeouts"])
        self._sums = SetSums.of(document["sums"])


async def published(redis: Redis, ruleset: str, bots: Sequence[str]) -> dict[str, LadderStrength]:
    """Return the published strengths of those bots that have one."""
    if not bots:
        return {}
    rows: Any = await redis.hmget(ladder_key(ruleset, "strengths"), list(bots))
    pairs = zip(bots, rows, strict=True)
    return {bot: _decode(row) for bot, row in pairs if row is not None}


def _encode(each: LadderStrength) -> str:
    strength = each.strength
    known = None if strength is None else [strength.elo, strength.error, strength.note]
    return json.dumps([known, each.matches, each.timeouts], separators=(",", ":"))


def _decode(row: bytes) -> LadderStrength:
    known, matches, timeouts = json.loads(row)
    return LadderStrength(None if known is None else Strength(*known), matches, timeouts)
