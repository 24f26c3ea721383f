"""Computes standings: points, and beside them strengths with error bars.

Points decide a competition, strengths say what its results are worth. Boards are shared by all
matches of a round, so that not a match but a board, with everything that was played on it, is the
independent unit. Walkovers count in points only, and neither they nor the seats that a house bot
played say anything about strength.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from arena.formats import schedule
from arena.formats.model import WON
from arena.ratings.bradley_terry import THIN_CLUSTERS, ScoredSet, fit, student95
from arena.ratings.half_points import board_scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from arena.competitions.records import CompetitionRecord
    from arena.competitions.results import CompetitionResult
    from arena.formats.model import Competition, CompetitionStanding, PlannedMatch
    from arena.ratings.bradley_terry import Fit
    from referee.outcome import ForfeitReason


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingsRow:
    """An entrant's line.

    Attributes:
        standing: rank, points and tie-breaks of the format.
        elo: strength above the average entrant of the division, in Elo.
        error: half of its 95 % interval; None where ``note`` says why.
        note: in words, why there is no error bar.
        stronger: the chance that it is really stronger than the entrant of the next line, 0 to 1;
            None where the results do not tell.
        games: how many it played.
        mean_points: a game, over those that nobody forfeited; None without any.
        forfeits: games that it forfeited, by reason.
        walkovers: matches that it lost without playing.
    """

    standing: CompetitionStanding
    elo: float
    error: float | None
    note: str
    stronger: float | None
    games: int
    mean_points: float | None
    forfeits: Mapping[ForfeitReason, int]
    walkovers: int


@dataclass(frozen=True, slots=True)
class Measured:
    """A share with half of its 95 % interval, None where there is too little for one."""

    value: float
    error: float | None


@dataclass(frozen=True, slots=True)
class Meeting:
    """What an entrant got against another: mean score 0 to 1, and how many matches."""

    score: float
    matches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingsReport:
    """The standings of a tournament, or of one division of a league's season.

    Attributes:
        meetings: by pair of entrants, both ways round.
        matches: all that are known by now, by round and table.
        played: how many of them have a result.
        finished: whether no more will come.
        first_seat: mean score of the first seat, 0.5 for no advantage; None without games.
        variance_reduction: the variance of single games over their number in a set, by that of
            sets; above 1 duplicate play makes the result surer than as many games on boards of
            their own. None where it cannot be measured.
    """

    competition: str
    rows: tuple[StandingsRow, ...]
    meetings: Mapping[tuple[str, str], Meeting]
    matches: tuple[PlannedMatch, ...]
    played: int
    finished: bool
    first_seat: Measured | None
    variance_reduction: float | None


def reports(
    record: CompetitionRecord, results: Mapping[str, CompetitionResult]
) -> list[StandingsReport]:
    """Return the standings of every division.

    Args:
        record: a competition that has started.
        results: by match, of all divisions.
    """
    return [report(each, results) for each in record.competitions]


def ranking(record: CompetitionRecord, results: Mapping[str, CompetitionResult]) -> list[list[str]]:
    """Return the entrants of every division, the best first."""
    return [
        [row.standing.entrant for row in division.rows] for division in reports(record, results)
    ]


def report(competition: Competition, results: Mapping[str, CompetitionResult]) -> StandingsReport:
    """Return the standings of a tournament, or of a division.

    Args:
        competition: what is played.
        results: by match; those of other competitions are ignored.
    """
    # Sums of fractions depend on their order, and the order of results on who played when.
    own = {
        match: results[match] for match in sorted(results) if match.startswith(f"{competition.id}.")
    }
    numbers = {entrant: number for number, entrant in enumerate(competition.entrants)}
    found = strengths(own.values(), numbers)
    step = schedule.next_matches(
        competition,
        {match: result.match for match, result in own.items()},
        strengths={entrant: float(found.elo[number]) for entrant, number in numbers.items()},
    )
    ranked = [standing.entrant for standing in step.standings]
    following = dict(pairwise(ranked))
    tallies = _tallies(own.values())
    counted = {match.id for match in step.planned}
    return StandingsReport(
        competition=competition.id,
        rows=tuple(
            _row(standing, found, numbers, following.get(standing.entrant), tallies)
            for standing in step.standings
        ),
        meetings=_meetings(own.values()),
        matches=step.planned,
        played=len(counted & own.keys()),
        finished=step.finished,
        first_seat=_first_seat(own.values()),
        variance_reduction=_variance_reduction(own.values()),
    )


def strengths(results: Iterable[CompetitionResult], numbers: Mapping[str, int]) -> Fit:
    """Fit the strengths of entrants.

    Args:
        results: in any order.
        numbers: the place of each entrant in the fit.
    """
    sets = [scored for result in results for scored in scored_sets(result, numbers)]
    return fit(sets, entrants=len(numbers))


def scored_sets(result: CompetitionResult, numbers: Mapping[str, int]) -> list[ScoredSet]:
    """Return the sets of a match; sets on one board of a round belong together."""
    if result.is_walkover:
        return []
    places = list(combinations(range(len(result.entrants)), 2))
    pairs = [(numbers[result.entrants[i]], numbers[result.entrants[j]]) for i, j in places]
    real = [not {i, j} & set(result.substituted) for i, j in places]
    return [
        ScoredSet(
            (result.round, board),
            tuple(
                (i, j, score)
                for (i, j), score, counts in zip(pairs, row, real, strict=True)
                if counts
            ),
        )
        for board, row in enumerate(board_scores(result))
    ]


class _Tally:
    """An entrant's games, points, forfeits and walkovers."""

    def __init__(self) -> None:
        self.games = 0
        self.free_games = 0
        self.points = 0
        self.forfeits: Counter[ForfeitReason] = Counter()
        self.walkovers = 0


def _tallies(results: Iterable[CompetitionResult]) -> Mapping[str, _Tally]:
    tallies: defaultdict[str, _Tally] = defaultdict(_Tally)
    for result in results:
        for place, entrant in enumerate(result.entrants):
            tally = tallies[entrant]
            if result.is_walkover or place in result.substituted:
                tally.walkovers += _lost_all(result, place)
                continue
            tally.games += result.games
            if result.points:
                forfeited = sum(each.games for each in result.forfeits)
                tally.free_games += max(0, result.games - forfeited)
                tally.points += result.points[place]
        for forfeit in result.forfeits:
            tallies[result.entrants[forfeit.entrant]].forfeits[forfeit.reason] += forfeit.games
    return tallies


def _lost_all(result: CompetitionResult, place: int) -> bool:
    return result.match.set_score(place) == 0


def _row(
    standing: CompetitionStanding,
    found: Fit,
    numbers: Mapping[str, int],
    following: str | None,
    tallies: Mapping[str, _Tally],
) -> StandingsRow:
    number, tally = numbers[standing.entrant], tallies.get(standing.entrant) or _Tally()
    return StandingsRow(
        standing=standing,
        elo=float(found.elo[number]),
        error=found.error(number),
        note=found.notes[number],
        stronger=None if following is None else found.cfs(number, numbers[following]),
        games=tally.games,
        mean_points=tally.points / tally.free_games if tally.free_games else None,
        forfeits=dict(tally.forfeits),
        walkovers=tally.walkovers,
    )


def _meetings(results: Iterable[CompetitionResult]) -> dict[tuple[str, str], Meeting]:
    totals: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for result in results:
        places = combinations(range(len(result.entrants)), 2)
        for (i, j), score in zip(places, result.pair_scores, strict=True):
            totals[result.entrants[i], result.entrants[j]].append(score)
            totals[result.entrants[j], result.entrants[i]].append(WON - score)
    return {
        pair: Meeting(sum(scores) / len(scores) / WON, len(scores))
        for pair, scores in totals.items()
    }


def _first_seat(results: Iterable[CompetitionResult]) -> Measured | None:
    """Measure the first seat's mean score; rounds, which share their boards, are independent."""
    rounds: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for result in results:
        if result.luck is not None:
            rounds[result.round][0] += result.luck.first_seat
            rounds[result.round][1] += result.luck.first_seat_most
    most = sum(each[1] for each in rounds.values())
    if most == 0:
        return None
    value = sum(each[0] for each in rounds.values()) / most
    count = len(rounds)
    if count < THIN_CLUSTERS:
        return Measured(value, None)
    spread = sum((got - value * possible) ** 2 for got, possible in rounds.values())
    se = math.sqrt(spread * count / (count - 1)) / most
    return Measured(value, se * student95(count - 1))


def _variance_reduction(results: Iterable[CompetitionResult]) -> float | None:
    """Pool the variances within matches, so that different opponents do not count as luck."""
    of_games = of_sets = 0.0
    games = sets = rotations = 0
    for result in results:
        luck = result.luck
        if luck is None or luck.sets < 2 or luck.rotations < 2 or result.substituted:
            continue
        rotations = luck.rotations
        played = luck.sets * rotations
        of_games += luck.squares - luck.total**2 / played
        games += played - 1
        of_sets += (luck.set_squares - luck.total**2 / luck.sets) / rotations**2
        sets += luck.sets - 1
    if sets == 0 or of_sets <= 0:
        return None
    return of_games / games / rotations / (of_sets / sets)
