"""What the log of a ladder holds, and what a commit answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations

from arena.queue.models import SCORE, Committed, Forfeits, Luck
from arena.version_id import bot_of
from referee.outcome import Termination


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedResult:
    """A result as the log keeps it.

    Attributes:
        sequence: its place in the ladder's log, from 1.
        match_id: the match.
        flow: the flow of the match.
        time: when it was committed, UTC.
        rated: whether it changed ratings.
        entrants: version ids in the order of the entrants.
        pair_scores: see `MatchResult.pair_scores`.
        changes: by entrant, the change of rating when it was committed, in micro-Elo; empty when
            the match was not rated. Annulments of earlier matches do not rewrite it.
        digest: the first 8 bytes of the replay's SHA-256.
        terminations, forfeits, sets, points, played, luck: see `MatchResult`.
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
        """The matrix of scores, as `MatchResult.scores`; 0 on the diagonal."""
        entrants = len(self.entrants)
        matrix = [[0] * entrants for _ in range(entrants)]
        pairs = combinations(range(entrants), 2)
        for (i, j), score in zip(pairs, self.pair_scores, strict=True):
            matrix[i][j], matrix[j][i] = score, SCORE - score
        return matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitReply:
    """The answer to a commit.

    Attributes:
        answer: what happened.
        logged: the result as it stands in the log, when it does.
    """

    answer: Committed
    logged: LoggedResult | None = None


@dataclass(frozen=True, slots=True)
class Entered:
    """A log entry: a bot entered the ladder with the starting rating."""

    sequence: int
    time: datetime
    bot: str


@dataclass(frozen=True, slots=True)
class Annulled:
    """A log entry: a match was annulled; replays of the log skip its result.

    Attributes:
        sequence: the place of this entry.
        time: when it was annulled, UTC.
        target: the sequence of the annulled result.
        match_id: the annulled match.
        reason: the operator's sentence.
    """

    sequence: int
    time: datetime
    target: int
    match_id: str
    reason: str


LogEntry = LoggedResult | Entered | Annulled
