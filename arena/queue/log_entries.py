"""The entries of a ladder's log, and the reply to a commit."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations

from arena.queue.models import SCORE, Committed, Forfeits, Luck
from arena.version_id import bot_of
from referee.outcome import Termination


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedResult:
    """A result in the log.

    Attributes:
        sequence: its place in the ladder's log, from 1.
        rated: whether it changed ratings.
        entrants: version ids.
        changes: by entrant, the change of rating when it was committed, in micro-Elo; empty when
            the match was not rated. Annulments of earlier matches do not rewrite it.
        digest: the first 8 bytes of the replay's SHA-256.
        pair_scores, terminations, forfeits, sets, points, played, luck: see `LadderResult`.
        annulled: the reason, when an operator annulled the match.
    """

    sequence: int
    match_id: str
    flow: str
    time: datetime
    rated: bool
    entrants: tuple[str, ...]
    pair_scores: tuple[int, ...]
    changes: tuple[int, ...]
    digest: bytes
    terminations: Mapping[Termination, int]
    forfeits: tuple[Forfeits, ...] = ()
    sets: tuple[int, ...] = ()
    points: tuple[int, ...] = ()
    played: timedelta = timedelta(0)
    luck: Luck | None = None
    annulled: str | None = None

    @property
    def bots(self) -> tuple[str, ...]:
        """The names of the entrants' bots, in the order of the entrants."""
        return tuple(bot_of(version) for version in self.entrants)

    @property
    def games(self) -> int:
        """How many games the match had."""
        return sum(self.terminations.values())

    @property
    def scores(self) -> list[list[int]]:
        """The matrix of scores, as `LadderResult.scores`; 0 on the diagonal."""
        entrants = len(self.entrants)
        matrix = [[0] * entrants for _ in range(entrants)]
        pairs = combinations(range(entrants), 2)
        for (i, j), score in zip(pairs, self.pair_scores, strict=True):
            matrix[i][j], matrix[j][i] = score, SCORE - score
        return matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitReply:
    """The answer to a commit, and the result as it stands in the log, when it does."""

    answer: Committed
    logged: LoggedResult | None = None


@dataclass(frozen=True, slots=True)
class Entered:
    """A bot entered the ladder with the starting rating."""

    sequence: int
    time: datetime
    bot: str


@dataclass(frozen=True, slots=True)
class Annulled:
    """The result with the sequence ``target`` was annulled; replays of the log skip it."""

    sequence: int
    time: datetime
    target: int
    match_id: str
    reason: str


LogEntry = LoggedResult | Entered | Annulled
