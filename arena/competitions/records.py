"""The records of competitions: their rules, entrants, states and rounds.

A competition's id is ``t-NAME`` for a tournament and ``l-NAME.s3`` for a season of a league. Ids of
matches begin with it, so a name has no dot. Every round's seed follows from one secret seed: the
same seed and the same bots give the same matches, whoever schedules them, and however often.

A match of the plan, ``t-cup.r2.t5``, is played under its own id at first. Once that is retired,
because the match was annulled or because who plays in it was decided by one that was, it is played
as ``t-cup.r2.t5.a2``, then ``.a3``: an id is never played twice.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

from arena.errors import InputError
from arena.formats import league
from arena.formats.model import (
    Competition,
    Format,
    Options,
    PlannedMatch,
)
from referee.clock import TimeControl
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from collections.abc import Mapping


NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
TOURNAMENT, LEAGUE = "t", "l"
_OF_MATCH: Final = re.compile(r"(t-[a-z0-9_-]+|l-[a-z0-9_-]+\.s\d+)\.")
_ATTEMPT: Final = re.compile(r"\.a([1-9]\d*)$")


class CompetitionState(StrEnum):
    """The state of a competition."""

    DRAFT = "draft"
    """Operators enter bots."""
    OPEN = "open"
    """Owners enter their own bots, too."""
    RUNNING = "running"
    PAUSED = "paused"
    """What is being played goes on, nothing else begins."""
    ENDED = "ended"
    CANCELLED = "cancelled"


class Seeding(StrEnum):
    """The order in which entrants are seeded."""

    RATING = "rating"
    """By the ladder's rating at the start, the best first."""
    GIVEN = "given"
    """In the order in which they entered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetitionRules:
    """The rules of a competition, fixed at its creation.

    Attributes:
        options: the format's; ``table_size`` is the game's number of entrants.
        rated: whether its matches change the ladder's ratings; those between bots of one owner
            never do.
        weight: its share beside the ladder's other flows, 1..1000000.
        capacity: the most entrants; 0 for no bound.
    """

    ruleset: str
    format: Format
    options: Options
    time_control: str
    rated: bool = False
    weight: int = 1
    seeding: Seeding = Seeding.RATING
    capacity: int = 0

    def __post_init__(self) -> None:
        game = parse_ruleset(self.ruleset)
        TimeControl.parse(self.time_control)
        if game.entrants not in {2, 4}:
            raise InputError(
                f"competitions are for two or four entrants at a table; {self.ruleset} has "
                f"{game.entrants}"
            )
        if self.options.table_size != game.entrants:
            raise InputError(
                f"{self.ruleset} seats {game.entrants} entrants, not {self.options.table_size}"
            )
        if not 1 <= self.weight <= 10**6 or self.capacity < 0:
            raise InputError("a weight is 1 to 1000000, a capacity 0 or more")

    @property
    def rotations(self) -> int:
        """Tables of a match."""
        return parse_ruleset(self.ruleset).rotations

    def to_json(self) -> str:
        """Return compact JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the rules that `to_json` wrote."""
        values = json.loads(text)
        values["format"], values["seeding"] = Format(values["format"]), Seeding(values["seeding"])
        return cls(**values | {"options": Options(**values["options"])})


@dataclass(frozen=True, slots=True)
class RetiredMatchId:
    """An id of a match that does not count any more.

    Attributes:
        round: the key of its round, see `round_key`.
        annulled: whether the match was annulled; else one that decided who plays in it was.
    """

    round: str
    annulled: bool

    def to_text(self) -> str:
        """Return the text that Redis holds."""
        return f"{'annulled' if self.annulled else 'dropped'} {self.round}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return what `to_text` wrote."""
        kind, _, key = text.partition(" ")
        return cls(key, annulled=kind == "annulled")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetitionRecord:
    """A competition as it stands in Redis.

    Attributes:
        seed: 32 bytes that all rounds' seeds follow from; never told.
        divisions: version ids by division in order of seeding, fixed at the start; a tournament has
            one division.
        gone: why entrants left after the start, by version.
        cursor: the ladder's log is known to be folded in up to this sequence.
        settled: whether an ended or cancelled competition has left the queue.
        retired_ids: the ids of matches that do not count any more.
        paired: of a Swiss that a match was annulled of, the rounds that stay; see `Competition`.
        created_time, started_time, ended_time: UTC; None for what has not happened yet.
        ranking: version ids by division, the best first; () before the end.
        note: in a sentence, what was decided about the entrants when it began.
    """

    id: str
    state: CompetitionState
    rules: CompetitionRules
    seed: bytes = field(repr=False)
    divisions: tuple[tuple[str, ...], ...] = ()
    gone: Mapping[str, str] = field(default_factory=dict)
    cursor: int = 0
    settled: bool = False
    retired_ids: Mapping[str, RetiredMatchId] = field(default_factory=dict)
    paired: tuple[tuple[tuple[int, ...], ...], ...] = ()
    created_time: datetime
    started_time: datetime | None = None
    ended_time: datetime | None = None
    ranking: tuple[tuple[str, ...], ...] = ()
    note: str = ""

    @property
    def name(self) -> str:
        """Its id without the kind: ``cup``, ``main.s3``."""
        return name_of(self.id)

    @property
    def flow(self) -> str:
        """The flow of its matches: ``t:cup``, ``l:main``."""
        kind, _, name = self.id.partition("-")
        return f"{kind}:{name.partition('.')[0]}"

    @property
    def entrants(self) -> tuple[str, ...]:
        """All version ids, division by division."""
        return tuple(version for division in self.divisions for version in division)

    @property
    def competitions(self) -> list[Competition]:
        """What is played: one competition a division."""
        if self.id.startswith(f"{TOURNAMENT}-"):
            return [
                Competition(self.id, self.rules.format, entrants, self.rules.options, self.paired)
                for entrants in self.divisions
            ]
        name, _, number = self.id.rpartition(".s")
        divisions = [list(division) for division in self.divisions]
        return league.season(name, int(number), divisions, options=self.rules.options)

    def round_seed(self, key: str) -> bytes:
        """Return the seed of a round, 32 bytes; see `round_key`."""
        return hmac.digest(self.seed, key.encode(), hashlib.sha256)

    def playing(self, planned: str) -> str:
        """Return the id under which a match of the plan is played now, or was played last."""
        found, attempt = planned, 1
        while found in self.retired_ids:
            attempt += 1
            found = f"{planned}.a{attempt}"
        return found

    def annulled(self, planned: str) -> list[str]:
        """Return the ids under which a match of the plan was played and annulled, in order."""
        return [
            each
            for each, why in self.retired_ids.items()
            if why.annulled and planned_id(each) == planned
        ]


@dataclass(frozen=True, slots=True)
class Round:
    """A round that has begun, as it is published.

    Attributes:
        commitment: SHA-256 of its seed, hex.
        seed: hex; empty until the last match of the round has ended.
    """

    key: str
    commitment: str
    seed: str
    created_time: datetime


def round_key(competition: str, match: PlannedMatch) -> str:
    """Return the name of the round whose boards a match plays.

    A match that decides a tie of an elimination gets boards that nobody has played, and so does one
    that is played again: the cards of its round may be known by now.

    Args:
        competition: the tournament or the season's division.
        match: under the id that it is played under.
    """
    if _ATTEMPT.search(match.id):
        return f"{competition}/{match.round}/{match.id.removeprefix(f'{competition}.')}"
    return f"{competition}/{match.round}{'x' if match.id.endswith('x') else ''}"


def competition_of(match_id: str) -> str | None:
    """Return the id of the competition that a match is of; None when it is of none."""
    found = _OF_MATCH.match(match_id)
    return None if found is None else found[1]


def name_of(record_id: str) -> str:
    """Return an id without the kind: ``cup``, ``main``, ``main.s3``."""
    return record_id.partition("-")[2]


def title(record_id: str) -> str:
    """Return an id in words: ``tournament cup``, ``league main``."""
    if record_id.startswith(f"{TOURNAMENT}-"):
        kind = "tournament"
    else:
        kind = "league's season" if "." in record_id else "league"
    return f"{kind} {name_of(record_id)}"


def planned_id(match_id: str) -> str:
    """Return the match of the plan that is played under an id."""
    return _ATTEMPT.sub("", match_id)


def next_id(match_id: str) -> str:
    """Return the id under which a match is played once this id is retired."""
    found = _ATTEMPT.search(match_id)
    return f"{planned_id(match_id)}.a{int(found[1]) + 1 if found else 2}"


def round_number(key: str) -> tuple[str, int]:
    """Return the competition and the number of the round that a key names."""
    competition, number, *_ = key.split("/")
    return competition, int(number.removesuffix("x"))


def record_of(
    competition: str, meta: Mapping[str, str], gone: Mapping[str, str], retired: Mapping[str, str]
) -> CompetitionRecord:
    """Return the competition that Redis holds.

    Args:
        competition: its id.
        meta: its fields.
        gone: why entrants left, by version.
        retired: texts of `RetiredMatchId`, by id.
    """
    times = {
        f"{name}_time": datetime.fromisoformat(meta[name]) if name in meta else None
        for name in ("started", "ended")
    }
    return CompetitionRecord(
        id=competition,
        state=CompetitionState(meta["state"]),
        rules=CompetitionRules.from_json(meta["rules"]),
        seed=bytes.fromhex(meta["seed"]),
        divisions=_lists(meta.get("divisions", "[]")),
        gone=gone,
        cursor=int(meta.get("cursor", 0)),
        settled="settled" in meta,
        retired_ids={
            each: RetiredMatchId.from_text(retired[each]) for each in sorted(retired, key=_in_order)
        },
        paired=tuple(tuple(map(tuple, tables)) for tables in json.loads(meta.get("paired", "[]"))),
        created_time=datetime.fromisoformat(meta["created"]),
        ranking=_lists(meta.get("ranking", "[]")),
        note=meta.get("note", ""),
        **times,
    )


def _in_order(match_id: str) -> tuple[str, int]:
    found = _ATTEMPT.search(match_id)
    return planned_id(match_id), int(found[1]) if found else 1


def _lists(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(each) for each in json.loads(text))
