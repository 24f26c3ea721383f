"""The arguments, replies and errors of a match queue."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import combinations
from typing import Final, Self

from arena.errors import InputError
from arena.version_id import VersionId, bot_of
from referee.outcome import ForfeitReason, Termination

MATCH_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
FLOW: Final = re.compile(r"ladder|challenge|[tl]:[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
WORKER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,79}")
SCORE: Final = 1_000_000
"""The score of a pair of entrants when the first was better in every game."""


class Enqueued(StrEnum):
    """The answer of `MatchQueue.enqueue`."""

    QUEUED = "queued"
    DUPLICATE = "duplicate"
    """A match of this id waits, is being played, is dead or is done; nothing changed."""
    FULL = "full"
    """As many matches wait as the cap allows; try again when some have been leased."""
    STALE_EPOCH = "stale_epoch"
    """Another scheduler has become active since; the caller must stand by."""


class Renewed(StrEnum):
    """The answer of `MatchQueue.renew`."""

    OK = "ok"
    LOST = "lost"
    """The lease expired and was reaped, or ended otherwise: end the bots, drop the match."""
    CANCELLED = "cancelled"
    """Somebody cancelled the match: end the bots, then `MatchQueue.release` the lease."""


class Returned(StrEnum):
    """The answer of `MatchQueue.release` and `MatchQueue.void`."""

    QUEUED = "queued"
    DEAD = "dead"
    """The last void that a match may have: it waits for an operator."""
    LOST = "lost"
    CANCELLED = "cancelled"
    """The match had been cancelled and is now forgotten."""


class Committed(StrEnum):
    """The answer of `MatchQueue.commit`."""

    COMMITTED = "committed"
    ALREADY = "already"
    """The same result was committed under the same lease before; nothing changed."""
    CONFLICT = "conflict"
    """Another result was committed under the same lease before; nothing changed."""
    STALE = "stale"
    """The lease is not, or no longer, the match's; nothing changed."""
    CANCELLED = "cancelled"


class MatchPhase(StrEnum):
    """A match's phase, from being enqueued to being done."""

    READY = "ready"
    LEASED = "leased"
    DELAYED = "delayed"
    """Waits for its back-off after an expired lease or a void."""
    PAUSED = "paused"
    DEAD = "dead"
    """Out of attempts or voids; waits for an operator."""
    CANCELLED = "cancelled"
    """Cancelled while it was leased; its worker has not yet let go."""
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSpec:
    """A match to be played: all that a worker needs to know.

    Attributes:
        id: deterministic, made by the caller, for example ``ladder-000123`` or ``t7-r2-m3``.
        ruleset: canonical text.
        flow: ``ladder``, ``challenge``, ``t:NAME`` (a tournament) or ``l:NAME`` (a league).
        entrants: version ids ``NAME@3``; of different bots where it is rated.
        boards: each played in all its rotations.
        seed: 32 bytes, hidden until the match has ended; see `commitment`.
        cost: the games of the match, its weight in the sharing between flows and ladders.
        created_time_ms: Unix time of the server at enqueueing, in ms; 0 before.
        metadata: small facts for people, for example ``reason``.
    """

    id: str
    ruleset: str
    flow: str
    entrants: tuple[str, ...]
    boards: int
    seed: bytes
    time_control: str
    rated: bool
    cost: int
    created_time_ms: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require(MATCH_ID.fullmatch(self.id), f"{self.id!r} is no match id", MATCH_ID.pattern)
        _require(FLOW.fullmatch(self.flow), f"{self.flow!r} is no flow", FLOW.pattern)
        for version in self.entrants:
            VersionId.parse(version)
        _require(len(self.entrants) >= 2, "a match has two entrants or more", "at least 2")
        _require(len(self.seed) == 32, f"a seed of {len(self.seed)} bytes", "32 bytes")
        _require(self.boards >= 1, f"{self.boards} boards", "1 or more")
        _require(1 <= self.cost <= 10**6, f"a cost of {self.cost} games", "1 to 1000000")
        if self.rated:
            distinct = len(set(self.bots)) == len(self.entrants)
            _require(distinct, f"a rated match of {' '.join(self.entrants)}", "different bots")

    @property
    def bots(self) -> tuple[str, ...]:
        """The names of the entrants' bots, in the order of the entrants."""
        return tuple(bot_of(version) for version in self.entrants)

    @property
    def commitment(self) -> str:
        """The SHA-256 of the seed in hex, which may be published before the match."""
        return hashlib.sha256(self.seed).hexdigest()

    def to_json(self) -> str:
        """Return compact JSON, without the time of creation (the server adds it)."""
        values = asdict(self) | {"seed": self.seed.hex()}
        del values["created_time_ms"]
        if not self.metadata:
            del values["metadata"]
        return json.dumps(values, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes, *, created_time_ms: int = 0) -> Self:
        """Return the spec that `to_json` wrote."""
        values = json.loads(text)
        values["entrants"] = tuple(values["entrants"])
        values["seed"] = bytes.fromhex(values["seed"])
        return cls(**values, created_time_ms=created_time_ms)


def _require(fact: object, what: str, possible: str) -> None:
    if not fact:
        raise InputError(f"{what}; possible: {possible}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The exclusive, expiring right to play one match.

    Attributes:
        token: the random fence, 32 hex digits, made by the worker.
        attempt: 1 for the first; leases that expired before count.
        voids: of the match before.
        deadline_ms: Unix time of the server, in ms, at which it expires unless renewed.
    """

    spec: MatchSpec
    token: str
    attempt: int
    voids: int
    deadline_ms: int

    @property
    def match_id(self) -> str:
        """The id of the leased match."""
        return self.spec.id


@dataclass(frozen=True, slots=True)
class Forfeits:
    """How many games of a match one entrant forfeited for one reason."""

    entrant: int
    reason: ForfeitReason
    games: int


@dataclass(frozen=True, slots=True)
class Luck:
    """Sums from which the first seat's advantage and the variance reduction of sets follow.

    Games that somebody forfeited are left out, and of the sets all that have one. Half points are 2
    for a better place and 1 for an equal one.

    Attributes:
        first_seat: half points of the first seat against the others', over all games.
        first_seat_most: what it would be if the first seat had won all of them.
        sets: how many.
        rotations: games of a set.
        total: half points of the first entrant against all others, over the sets.
        squares: of its half points in a game, summed.
        set_squares: of its half points in a set, summed.
    """

    first_seat: int
    first_seat_most: int
    sets: int
    rotations: int
    total: int
    squares: int
    set_squares: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderResult:
    """The result of a match that a worker commits.

    Attributes:
        scores: ``scores[i][j]`` in millionths, as `arena.ratings.elo.scores_from_places` gives
            them; the diagonal means nothing.
        digest: SHA-256 of the archived replay, 32 bytes. Equal digests are the same result.
        terminations: games by termination; their sum is the number of games.
        sets: small numbers 0..35 by board and, within a board, by pair of entrants i < j in
            lexicographic order: the half points of i against j in the board's set (2 for a better
            place, 1 for an equal one). May be left empty for a match of one board, whose scores
            say the same.
        points: sum of points by entrant over the games that nobody forfeited; may be empty.
        played: how long the match took.
        luck: None where it was not computed.
    """

    scores: tuple[tuple[int, ...], ...]
    digest: bytes
    terminations: Mapping[Termination, int]
    forfeits: tuple[Forfeits, ...] = ()
    sets: tuple[int, ...] = ()
    points: tuple[int, ...] = ()
    played: timedelta = timedelta(0)
    luck: Luck | None = None

    def __post_init__(self) -> None:
        _require(len(self.digest) == 32, f"a digest of {len(self.digest)} bytes", "32 bytes")
        _require(all(0 <= each < 36 for each in self.sets), f"sets {self.sets}", "0 to 35 each")
        entrants = len(self.scores)
        square = all(len(row) == entrants for row in self.scores)
        _require(entrants >= 2 and square, "scores that are no matrix", "entrants by entrants")
        for i, j in combinations(range(entrants), 2):
            there, back = self.scores[i][j], self.scores[j][i]
            fits = 0 <= there <= SCORE and there + back == SCORE
            _require(fits, f"scores {there} and {back} of a pair", "0 to 1000000, summing to it")

    @property
    def pair_scores(self) -> tuple[int, ...]:
        """The scores of the pairs i < j in lexicographic order, in millionths."""
        return tuple(self.scores[i][j] for i, j in combinations(range(len(self.scores)), 2))


@dataclass(frozen=True, slots=True)
class Reaped:
    """The ids of requeued and of dead matches after a reaping, and the count of expired leases.

    Leases of cancelled matches count as ``expired``, those that the server's restart ended do not.
    """

    requeued: tuple[str, ...]
    dead: tuple[str, ...]
    expired: int


@dataclass(frozen=True, slots=True)
class DeadMatch:
    """A match that is out of attempts or of voids, and waits for an operator."""

    spec: MatchSpec
    attempts: int
    voids: int
    reason: str
    time: datetime


@dataclass(frozen=True, slots=True)
class MatchCounts:
    """The matches of one ladder by phase; ``done`` reaches back as far as the log."""

    ready: int
    delayed: int
    paused: int
    leased: int
    dead: int
    done: int


@dataclass(frozen=True, slots=True)
class FlowCounts:
    """A flow's weight beside the ladder's others, and its matches; ready ones and delayed wait."""

    weight: int
    paused: bool
    waiting: int
    leased: int
    dead: int


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many expired leases (``attempts``) or voids make a match dead, and the backoff before.

    The first wait is ``backoff``, each further one four times as long.
    """

    attempts: int = 3
    voids: int = 3
    backoff: timedelta = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Standing:
    """A bot's rating, in micro-Elo, and place from 1; None when it has been withdrawn."""

    bot: str
    rating: int
    place: int | None
