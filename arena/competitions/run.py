"""A running competition in the scheduler's memory: what is played, what comes next."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from arena.competitions.annulment import Consequences, consequences
from arena.competitions.records import (
    CompetitionRecord,
    CompetitionState,
    planned_id,
    round_key,
    round_number,
)
from arena.competitions.results import CompetitionResult
from arena.formats import schedule
from arena.formats.model import Competition, Format, Plan, PlannedMatch, PlayedMatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena.competitions.records import Round
    from arena.queue.log_entries import LoggedResult

_FIXED: Final = {Format.ROUND_ROBIN, Format.GAUNTLET}
"""Formats whose plan no result changes."""


class _Division:
    """The plan of a division, and its results."""

    def __init__(self, competition: Competition) -> None:
        self.competition = competition
        self.played: dict[str, PlayedMatch] = {}
        self.matches: dict[str, PlannedMatch] = {}
        self.left: dict[str, PlannedMatch] = {}
        self.finished = False
        self._is_stale = True

    def add(self, result: CompetitionResult) -> None:
        self.played[result.match_id] = result.match
        self.left.pop(result.match_id, None)
        if self.competition.format in _FIXED and self.matches:
            self.finished = not self.left
        else:
            self._is_stale = True

    def plan(self) -> None:
        if not self._is_stale:
            return
        plan: Plan = schedule.plan(self.competition, self.played)
        self.matches = {match.id: match for match in plan.matches}
        self.left = {match.id: match for match in plan.matches if match.id not in self.played}
        self.finished, self._is_stale = plan.finished, False


class CompetitionRun:
    """A competition between its start and its end.

    Matches that go in and out have the ids that they are played under; results are kept by the
    match of the plan.

    Args:
        record: as it stands in Redis.
        results: those that were stored.
        rounds: those that have begun.

    Attributes:
        cursor: the ladder's log is processed up to this sequence.
        scheduled: matches that are known to be in the queue.
    """

    def __init__(
        self,
        record: CompetitionRecord,
        results: Mapping[str, CompetitionResult],
        rounds: Mapping[str, Round],
    ) -> None:
        self.record = record
        self.cursor = record.cursor
        self.scheduled: set[str] = set()
        self._divisions = {each.id: _Division(each) for each in record.competitions}
        self._results = dict(results)
        self._told = {key for key, each in rounds.items() if each.seed}
        self._begun = set(rounds)
        self._left: Sequence[PlannedMatch] | None = None
        for result in results.values():
            self._division_of(result.match_id).add(result)

    def _division_of(self, match_id: str) -> _Division:
        return next(
            division
            for name, division in self._divisions.items()
            if match_id.startswith(f"{name}.")
        )

    @property
    def is_running(self) -> bool:
        """Whether matches may begin."""
        return self.record.state is CompetitionState.RUNNING

    @property
    def is_finished(self) -> bool:
        """Whether every match has a result and no more will come."""
        return all(division.finished for division in self._divisions.values())

    @property
    def results(self) -> Mapping[str, CompetitionResult]:
        """All results so far, by match."""
        return self._results

    def plan(self) -> None:
        """Plan what is to be played; may take seconds where many entrants are paired."""
        for division in self._divisions.values():
            division.plan()
        self._left = None

    def left(self) -> Sequence[PlannedMatch]:
        """Return the matches that may be played now and have no result, by round."""
        if self._left is None:
            matches = [
                self._playing(match)
                for division in self._divisions.values()
                for match in division.left.values()
            ]
            # Within a round, sorting keeps the order of the divisions and their tables.
            self._left = sorted(matches, key=lambda match: match.round)
        return self._left

    def result_of(self, logged: LoggedResult) -> CompetitionResult | None:
        """Return what a log entry means here; None when it is of no match without a result."""
        planned = planned_id(logged.match_id)
        if logged.flow != self.record.flow or planned in self._results:
            return None
        for name, division in self._divisions.items():
            match = division.matches.get(planned)
            if match is not None and self.record.playing(planned) == logged.match_id:
                result = CompetitionResult.of(self._playing(match), logged, within=name)
                return replace(result, match_id=planned)
        return None

    def walkover(self, match: PlannedMatch) -> CompetitionResult:
        """Return the result of a match that is not played."""
        result = CompetitionResult.walkover(match, self.record.gone, within=self._within(match))
        return replace(result, match_id=planned_id(match.id))

    def _playing(self, match: PlannedMatch) -> PlannedMatch:
        """Return a match of the plan under the id that it is played under."""
        playing = self.record.playing(match.id)
        return match if playing == match.id else replace(match, id=playing)

    def add(self, results: Iterable[CompetitionResult]) -> None:
        """Add results that were stored."""
        for result in results:
            if result.match_id not in self._results:
                self._results[result.match_id] = result
                self.scheduled.discard(self.record.playing(result.match_id))
                self._division_of(result.match_id).add(result)

    def annulment(self, match_id: str) -> Consequences | None:
        """Return what follows when a match is annulled; None when it does not count here.

        Args:
            match_id: as it was played.
        """
        planned = planned_id(match_id)
        if planned not in self._results or self.record.playing(planned) != match_id:
            return None
        division = self._division_of(match_id)
        name = division.competition.id
        numbers = (number for within, number in map(round_number, self._begun) if within == name)
        found = consequences(
            division.competition,
            division.matches.values(),
            self._results,
            planned,
            begun=max(numbers, default=0),
        )
        return replace(found, dropped=tuple(map(self._playing, found.dropped)))

    # Rounds.

    def _within(self, match: PlannedMatch) -> str:
        return self._division_of(match.id).competition.id

    def round_of(self, match: PlannedMatch) -> str:
        """Return the key of a match's round."""
        return round_key(self._within(match), match)

    def begin_rounds(self, keys: Iterable[str]) -> dict[str, tuple[str, bytes | None]]:
        """Return the commitments of those rounds that have not begun, for the store."""
        new = [key for key in dict.fromkeys(keys) if key not in self._begun]
        self._begun.update(new)
        return {key: (self._commitment(key), None) for key in new}

    def tell_seeds(self, *, all_of_them: bool = False) -> dict[str, tuple[str, bytes | None]]:
        """Return commitments and seeds of those rounds that have ended since, for the store.

        A round has ended when no match of it or of an earlier round is left: later matches of the
        same round can only follow from those.
        """
        ended: dict[str, tuple[str, bytes | None]] = {}
        for name, division in self._divisions.items():
            first = min((match.round for match in division.left.values()), default=None)
            for key in self._begun - self._told:
                competition, number = round_number(key)
                over = all_of_them or first is None or number < first
                if competition == name and over:
                    ended[key] = (self._commitment(key), self.record.round_seed(key))
        self._told.update(ended)
        return ended

    def _commitment(self, key: str) -> str:
        return hashlib.sha256(self.record.round_seed(key)).hexdigest()
