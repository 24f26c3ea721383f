"""Results as competitions count them: those of the log, and walkovers."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

from arena.competitions.records import round_key
from arena.db.keys import milliseconds
from arena.formats.model import TIED, WON, PlannedMatch, PlayedMatch
from arena.queue.models import Forfeits, Luck
from arena.ratings.half_points import most_half_points
from referee.outcome import ForfeitReason

if TYPE_CHECKING:
    from collections.abc import Collection

    from arena.queue.log_entries import LoggedResult


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetitionResult:
    """A result as the competition counts it.

    Attributes:
        round: key of its round, see `round_key`.
        entrants: version ids in the planned order.
        pair_scores: of the pairs i < j in lexicographic order, in millionths.
        sets: as `arena.queue.models.LadderResult.sets`; () for a walkover.
        games: how many were played; 0 for a walkover.
        points: sum of points by entrant over the games that nobody forfeited; may be empty.
        substituted: places of entrants that had left and whose seats a house bot played; they
            count as last.
        time: when it was committed, UTC; None for a walkover.
    """

    match_id: str
    round: str
    entrants: tuple[str, ...]
    pair_scores: tuple[int, ...]
    sets: tuple[int, ...] = ()
    games: int = 0
    forfeits: tuple[Forfeits, ...] = ()
    points: tuple[int, ...] = ()
    played: timedelta = timedelta(0)
    luck: Luck | None = None
    substituted: tuple[int, ...] = ()
    time: datetime | None = None

    @property
    def is_walkover(self) -> bool:
        """Whether nothing was played."""
        return self.games == 0

    @classmethod
    def walkover(cls, match: PlannedMatch, gone: Collection[str], *, within: str) -> Self:
        """Return the result of a match that is not played: who has left, loses.

        Args:
            match: of a tournament or of a season's division.
            gone: versions that have left.
            within: its id.
        """
        here = [version not in gone for version in match.entrants]
        scores = [
            TIED if here[i] == here[j] else WON if here[i] else 0
            for i, j in combinations(range(len(here)), 2)
        ]
        return cls(
            match_id=match.id,
            round=round_key(within, match),
            entrants=match.entrants,
            pair_scores=tuple(scores),
        )

    @classmethod
    def of(cls, match: PlannedMatch, logged: LoggedResult, *, within: str) -> Self:
        """Return what the log's result means for a planned match."""
        away = [i for i, pair in enumerate(zip(match.entrants, logged.entrants, strict=True))
                if pair[0] != pair[1]]  # fmt: skip
        result = cls(
            match_id=match.id,
            round=round_key(within, match),
            entrants=match.entrants,
            pair_scores=logged.pair_scores,
            sets=logged.sets,
            games=logged.games,
            forfeits=logged.forfeits,
            points=logged.points,
            played=logged.played,
            luck=logged.luck,
            time=logged.time,
        )
        return result._with_last(away) if away else result

    def _with_last(self, away: list[int]) -> Self:
        pairs = list(combinations(range(len(self.entrants)), 2))
        most = most_half_points(self)
        return replace(
            self,
            pair_scores=tuple(
                _against(score, pair, away, most=WON)
                for pair, score in zip(pairs, self.pair_scores, strict=True)
            ),
            sets=tuple(
                _against(half, pairs[at % len(pairs)], away, most=most)
                for at, half in enumerate(self.sets)
            ),
            forfeits=tuple(each for each in self.forfeits if each.entrant not in away),
            points=(),
            substituted=tuple(away),
        )

    @property
    def match(self) -> PlayedMatch:
        """The result as the formats read it."""
        count = len(self.entrants)
        rows = [[0] * count for _ in range(count)]
        for (i, j), score in zip(combinations(range(count), 2), self.pair_scores, strict=True):
            rows[i][j], rows[j][i] = score, WON - score
        return PlayedMatch(self.match_id, tuple(map(tuple, rows)))

    def to_json(self) -> str:
        """Return compact JSON, what is empty left out."""
        values: dict[str, Any] = {
            "round": self.round,
            "entrants": self.entrants,
            "pair_scores": self.pair_scores,
            "sets": self.sets,
            "games": self.games,
            "forfeits": [(each.entrant, each.reason, each.games) for each in self.forfeits],
            "points": self.points,
            "played_ms": milliseconds(self.played),
            "luck": None if self.luck is None else astuple(self.luck),
            "substituted": self.substituted,
            "time": None if self.time is None else self.time.isoformat(),
        }
        used = {key: value for key, value in values.items() if value}
        return json.dumps(used, separators=(",", ":"))

    @classmethod
    def from_json(cls, match_id: str, text: str | bytes) -> Self:
        """Return the result that `to_json` wrote."""
        values = json.loads(text)
        return cls(
            match_id=match_id,
            round=values["round"],
            entrants=tuple(values["entrants"]),
            pair_scores=tuple(values["pair_scores"]),
            sets=tuple(values.get("sets", ())),
            games=values.get("games", 0),
            forfeits=tuple(
                Forfeits(entrant, ForfeitReason(reason), games)
                for entrant, reason, games in values.get("forfeits", ())
            ),
            points=tuple(values.get("points", ())),
            played=timedelta(milliseconds=values.get("played_ms", 0)),
            luck=Luck(*values["luck"]) if "luck" in values else None,
            substituted=tuple(values.get("substituted", ())),
            time=datetime.fromisoformat(values["time"]) if "time" in values else None,
        )


def _against(score: int, pair: tuple[int, int], away: list[int], *, most: int) -> int:
    """Return a pair's score with those who are away last, and equal among themselves."""
    first, second = (entrant in away for entrant in pair)
    if first and second:
        return most // 2
    if first or second:
        return 0 if first else most
    return score
