"""Forecasts by simulation how long a competition takes and the error bars of its standings.

The competition is simulated a few times with random strengths, so that every format, with its
byes, ties and extra matches, is counted by the very plan that will run. A game is won by the larger
of strength plus chance; what the ladder's log says about the spread of real sets corrects the error
bars that come of it.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from arena.competitions.records import round_key
from arena.competitions.report import strengths
from arena.competitions.results import CompetitionResult
from arena.formats import schedule
from arena.ratings.elo import scores_from_places
from arena.ratings.half_points import Scored, board_scores, half_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena.formats.model import Competition, PlannedMatch, PlayedMatch
    from arena.queue.log_entries import LoggedResult

SIMULATIONS: Final = 5
"""Simulations of a competition."""

MANY: Final = 1_500
"""Sets above which one simulation is enough."""

SPREAD: Final = 150.0
"""Standard deviation of the simulated strengths, in Elo."""

_LEAST: Final = 20
"""Degrees of freedom below which results say nothing about the spread of sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """Durations and variances measured from the log.

    Attributes:
        seconds: of a game, as part of a match whose tables are played side by side; None when
            nothing was played yet.
        set_variance: of a set's score around what its match says, 0 to 1/4; None with too few.
        matches: how many results this comes from.
    """

    seconds: float | None
    set_variance: float | None
    matches: int


def measure(results: Iterable[LoggedResult]) -> Measurements:
    """Measure the results of a ladder."""
    known = list(results)
    seconds = [each.played.total_seconds() / max(1, each.games) for each in known]
    return Measurements(
        seconds=fmean(seconds) if seconds else None,
        set_variance=_set_variance(known),
        matches=len(known),
    )


def _set_variance(results: Iterable[Scored]) -> float | None:
    """Return the variance of a pair's set scores within a match; None from too few."""
    total, degrees = 0.0, 0
    for result in results:
        boards = board_scores(result)
        for scores in zip(*boards, strict=True):
            mean = fmean(scores)
            total += sum((score - mean) ** 2 for score in scores)
            degrees += len(boards) - 1
    return total / degrees if degrees >= _LEAST else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The expected size, duration and precision of a competition.

    Attributes:
        matches: fewest and most of the simulations.
        games: of the mean number of matches.
        rounds: most of the simulations.
        elapsed: on the workers' slots; None when nothing is known about times or slots.
        error: half of the 95 % interval of a strength, in Elo, the median over the entrants; None
            when most of them will have none.
        resolved: the lead of one entrant over another that such an error bar just tells from
            nothing, in Elo.
    """

    matches: tuple[int, int]
    games: int
    rounds: int
    elapsed: timedelta | None
    error: float | None
    resolved: float | None


def forecast(
    competitions: Sequence[Competition],
    *,
    rotations: int,
    slots: int,
    measured: Measurements,
    seed: int = 0,
) -> Forecast:
    """Forecast competitions that are played side by side.

    Args:
        competitions: a tournament, or the divisions of a season.
        rotations: tables of a match.
        slots: tables that all workers play at once.
        measured: what the log says.
        seed: of the simulations.
    """
    generator = random.Random(seed)  # noqa: S311 -- random strengths are no secret
    simulations = [_Simulation(competitions, rotations, generator)]
    if simulations[0].sets <= MANY:
        simulations += [
            _Simulation(competitions, rotations, generator) for _ in range(SIMULATIONS - 1)
        ]
    counts = [len(each.matches) for each in simulations]
    variance = measured.set_variance
    return Forecast(
        matches=(min(counts), max(counts)),
        games=round(fmean(each.sets for each in simulations)) * rotations,
        rounds=max(each.rounds for each in simulations),
        elapsed=_elapsed(simulations, rotations, slots, measured),
        error=_median([each.error(variance, pairs=False) for each in simulations]),
        resolved=_median([each.error(variance, pairs=True) for each in simulations]),
    )


def _elapsed(
    simulations: Sequence[_Simulation], rotations: int, slots: int, measured: Measurements
) -> timedelta | None:
    if measured.seconds is None or slots == 0:
        return None
    at_once = max(1, slots // rotations)
    games = fmean(each.turns(at_once) for each in simulations) * rotations
    return timedelta(seconds=games * measured.seconds)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if 2 * len(known) > len(values) else None


class _Simulation:
    """A simulation with random strengths."""

    def __init__(
        self, competitions: Sequence[Competition], rotations: int, generator: random.Random
    ) -> None:
        self.matches: list[PlannedMatch] = []
        self._waves: list[tuple[int, int]] = []
        self._results: dict[str, CompetitionResult] = {}
        self._competitions = competitions
        self._strengths = {
            entrant: generator.gauss(0, SPREAD)
            for competition in competitions
            for entrant in competition.entrants
        }
        for competition in competitions:
            self._play(competition, rotations, generator)
        self.sets = sum(match.boards for match in self.matches)
        self.rounds = max((match.round for match in self.matches), default=0)

    def _play(self, competition: Competition, rotations: int, generator: random.Random) -> None:
        """Play wave by wave: all that can be played, then what follows from it."""
        while not (step := schedule.next_matches(competition, _played(self._results))).finished:
            self._waves.append((len(step.matches), step.matches[0].boards))
            for match in step.matches:
                self.matches.append(match)
                self._results[match.id] = self._result(competition, match, rotations, generator)

    def _result(
        self,
        competition: Competition,
        match: PlannedMatch,
        rotations: int,
        generator: random.Random,
    ) -> CompetitionResult:
        boards = [
            [self._game(match, generator) for _ in range(rotations)] for _ in range(match.boards)
        ]
        scores = scores_from_places([game for board in boards for game in board])
        pairs = list(combinations(range(len(match.entrants)), 2))
        return CompetitionResult(
            match_id=match.id,
            round=round_key(competition.id, match),
            entrants=match.entrants,
            pair_scores=tuple(scores[i][j] for i, j in pairs),
            sets=tuple(
                sum(half_points(game[i], game[j]) for game in board)
                for board in boards
                for i, j in pairs
            ),
            games=match.boards * rotations,
        )

    def _game(self, match: PlannedMatch, generator: random.Random) -> list[int]:
        # The larger of two Gumbel variables wins with the logistic chance of Elo.
        values = [
            self._strengths[entrant]
            - math.log(-math.log(generator.random() or 0.5)) * 400 / math.log(10)
            for entrant in match.entrants
        ]
        return [sum(other > value for other in values) for value in values]

    def turns(self, at_once: int) -> int:
        """Return after how many boards' time all is played, so many matches at once."""
        return sum(math.ceil(count / at_once) * boards for count, boards in self._waves)

    def error(self, variance: float | None, *, pairs: bool) -> float | None:
        """Return the median error bar over all entrants, or of the leads over one another.

        Args:
            variance: of real sets, to which it is corrected; None leaves it.
            pairs: whether it is of leads.
        """
        found, own = _median(self._errors(pairs=pairs)), _set_variance(self._results.values())
        if found is None or not variance or not own:
            return found
        return found * math.sqrt(variance / own)

    def _errors(self, *, pairs: bool) -> list[float | None]:
        errors: list[float | None] = []
        for competition in self._competitions:
            numbers = {entrant: number for number, entrant in enumerate(competition.entrants)}
            own = [self._results[m] for m in self._results if m.startswith(f"{competition.id}.")]
            found = strengths(own, numbers)
            count = len(numbers)
            if pairs:
                errors += [found.margin(i, (i + 1) % count) for i in range(count)]
            else:
                errors += [found.error(i) for i in range(count)]
        return errors


def _played(results: Mapping[str, CompetitionResult]) -> dict[str, PlayedMatch]:
    return {match: result.match for match, result in results.items()}
