"""The values that all formats share: a competition, its matches, its standings.

A competition never changes, and results accumulate; what to play next follows from the two. Only an
annulment takes a result away: a Swiss then keeps the rounds that it had paired.
Match ids are made from the competition's id and the place in its plan, so that the same place is
the same match however often it is planned.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from typing import Final, TypeAlias

from arena.errors import InputError

WON: Final = 10**6
"""The score of a game won outright, in millionths."""

TIED: Final = WON // 2

LARGEST_SWISS: Final = 1024
"""Entrants of a Swiss of two at a table: a pairing's time grows with the cube, 512 take 2 s."""


class Format(StrEnum):
    """How a competition finds its matches."""

    ROUND_ROBIN = "round_robin"
    """Everyone meets everyone; four at a table, a whist tournament."""
    SWISS = "swiss"
    """A fixed number of rounds between equals in points."""
    SINGLE_ELIMINATION = "single_elimination"
    """Losers leave; four at a table, two of four stay."""
    DOUBLE_ELIMINATION = "double_elimination"
    """The second loss ends it; two at a table."""
    GAUNTLET = "gauntlet"
    """The first entrants, the challengers, each meet all the others; two at a table."""
    GROUPS = "groups"
    """Round robins in groups, whose first go on to single elimination."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a format, which ignores those that it does not need.

    Attributes:
        table_size: entrants at a table, 2 or 4.
        cycles: round robin and gauntlet: how often the whole plan is played.
        rounds: Swiss: number of rounds; None for the logarithm of the entrants, rounded up.
        challengers: gauntlet: how many of the first entrants challenge.
        advance: groups: how many of each go on.
        lot: seed text of the last tie-break and of annealed schedules.
    """

    table_size: int = 2
    boards: int = 8
    cycles: int = 1
    rounds: int | None = None
    challengers: int = 1
    groups: int = 2
    advance: int = 2
    lot: str = ""


@dataclass(frozen=True, slots=True)
class Competition:
    """A tournament, or one division's season of a league.

    Attributes:
        id: starts the ids of its matches.
        entrants: ids in the order of their seeding, the strongest first.
        paired: Swiss: the tables of the first rounds, by seed number from 0 in seat order, that
            stay whatever the results say.

    Raises:
        InputError: too few entrants, one of them twice, or options the format cannot play.
    """

    id: str
    format: Format
    entrants: tuple[str, ...]
    options: Options = field(default_factory=Options)
    paired: tuple[tuple[tuple[int, ...], ...], ...] = ()

    def __post_init__(self) -> None:
        size = self.options.table_size
        if size not in {2, 4}:
            raise InputError(f"tables seat 2 or 4 entrants, not {size}")
        if len(set(self.entrants)) != len(self.entrants):
            raise InputError("every entrant enters once: the list names one twice")
        if len(self.entrants) < size:
            raise InputError(f"{size} at a table need {size} entrants or more")
        if min(self.options.boards, self.options.cycles) < 1 or self.options.rounds == 0:
            raise InputError("boards, cycles and rounds start from 1")
        if size == 4 and self.format in {Format.DOUBLE_ELIMINATION, Format.GAUNTLET}:
            raise InputError(f"{self.format} is played two at a table")
        if self.format is Format.SWISS and size == 2 and len(self.entrants) > LARGEST_SWISS:
            raise InputError(f"a Swiss of two at a table takes up to {LARGEST_SWISS} entrants")
        if self.format is Format.GAUNTLET:
            _check_gauntlet(len(self.entrants), self.options)
        if self.format is Format.GROUPS:
            _check_groups(len(self.entrants), self.options)


def _check_gauntlet(entrants: int, options: Options) -> None:
    if not 1 <= options.challengers < entrants:
        raise InputError(f"a gauntlet of {entrants} has 1 to {entrants - 1} challengers")


def _check_groups(entrants: int, options: Options) -> None:
    smallest = entrants // max(options.groups, 1)
    if options.groups < 1 or smallest < max(options.table_size, options.advance):
        raise InputError(
            f"{options.groups} groups of {entrants} entrants cannot fill their tables "
            f"and send {options.advance} on: make fewer groups"
        )
    if not options.advance >= 1 or options.groups * options.advance < options.table_size:
        raise InputError("too few go on to fill a table: raise advance")


@dataclass(frozen=True, slots=True)
class PlannedMatch:
    """A match to play.

    Attributes:
        id: the same whenever this place in the plan is planned.
        round: from 1; matches of one round share their boards.
        entrants: ids in seat order of the first rotation.
    """

    id: str
    round: int
    table: int
    entrants: tuple[str, ...]
    boards: int


def planned_round(
    competition: Competition, number: int, tables: Iterable[tuple[int, ...]]
) -> list[PlannedMatch]:
    """Return the matches of a round, given its tables by seed number from 0."""
    return [
        PlannedMatch(
            id=f"{competition.id}.r{number}.t{table}",
            round=number,
            table=table,
            entrants=tuple(competition.entrants[e] for e in seated),
            boards=competition.options.boards,
        )
        for table, seated in enumerate(tables, start=1)
    ]


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """A result: ``scores[i][j]`` of entrant i against j, in planned order, in millionths.

    The mean over the match's games of 1,000,000, 500,000 or 0 for a better, equal or worse place;
    what is on the diagonal does not matter.

    Raises:
        InputError: no square matrix, or two scores of a pair that do not sum to 1,000,000.
    """

    id: str
    scores: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        n = len(self.scores)
        if any(len(row) != n for row in self.scores):
            raise InputError(f"match {self.id}: scores must be a matrix of {n} by {n}")
        for i, j in combinations(range(n), 2):
            if min(self.scores[i][j], self.scores[j][i]) < 0 or (
                self.scores[i][j] + self.scores[j][i] != WON
            ):
                raise InputError(f"match {self.id}: scores of a pair must sum to {WON}")

    def pair_points(self, i: int, j: int) -> float:
        """Return 1, 1/2 or 0 for entrant i who did better, as well or worse than j."""
        score = self.scores[i][j]
        return 0.5 if score == TIED else float(score > TIED)

    def points(self, i: int) -> float:
        """Return the match points of entrant i: its sum of ``pair_points``."""
        return sum(self.pair_points(i, j) for j in range(len(self.scores)) if j != i)

    def set_score(self, i: int) -> int:
        """Return entrant i's sum of scores, in millionths."""
        return sum(score for j, score in enumerate(self.scores[i]) if j != i)


Results: TypeAlias = Mapping[str, PlayedMatch]
"""Results by match id, in any order; those of no match of the competition are ignored."""


def result_of(match: PlannedMatch, results: Results) -> PlayedMatch | None:
    """Return the match's result, None while it has none.

    Raises:
        InputError: a result for another number of entrants.
    """
    played = results.get(match.id)
    if played and len(played.scores) != len(match.entrants):
        raise InputError(f"match {match.id} has {len(match.entrants)} entrants to score")
    return played


@dataclass(frozen=True, slots=True)
class CompetitionStanding:
    """A line of the standings.

    Attributes:
        points: match points: 1 for each opponent done better than in a match, 1/2 for a tie.
        sonneborn_berger: sum of the opponents' points, each times the points taken from them.
        set_score: sum of the mean scores, in millionths.
        played: matches with a result.
    """

    rank: int
    entrant: str
    points: float
    sonneborn_berger: float
    set_score: int
    played: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a format makes of the results so far.

    Attributes:
        matches: all matches known by now, played or not, by round and table.
        finished: whether no more will come and all are played.
        stages: by entrant, how far it came; ranks before points. Empty where only points count.
        byes: by entrant, points for sitting out.
        by_share: whether points a match rank instead of points, because some play more than others.
    """

    matches: tuple[PlannedMatch, ...]
    finished: bool
    stages: Mapping[str, int] = field(default_factory=dict)
    byes: Mapping[str, float] = field(default_factory=dict)
    by_share: bool = False


@dataclass(frozen=True, slots=True)
class NextMatches:
    """What to do next.

    Attributes:
        matches: matches without a result whose entrants are known: all may be played now.
    """

    matches: tuple[PlannedMatch, ...]
    planned: tuple[PlannedMatch, ...]
    finished: bool
    standings: tuple[CompetitionStanding, ...]
