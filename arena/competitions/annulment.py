"""Annuls matches of competitions: checks that it is allowed, and finds what is played again.

The log of the ladder has the say: what it holds before the annulment was played on the match's
basis, what comes after it was not. A match that others of the competition followed from is annulled
only while none of these has been played; the log's order proves that, as an annulment is appended
only when nothing was logged since the check. The scheduler then meets it in the log, takes the
result out, drops what waits on its basis, and plays the match again under a new id.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from arena.competitions.records import CompetitionState, competition_of, next_id, planned_id
from arena.competitions.store import CompetitionStore
from arena.errors import PreconditionError
from arena.formats import schedule
from arena.formats.model import Format
from arena.queue import rebuild

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from arena.competitions.records import CompetitionRecord
    from arena.competitions.results import CompetitionResult
    from arena.context import Arena
    from arena.formats.model import Competition, PlannedMatch
    from arena.queue.ladder import Ladder

HOLD: Final = timedelta(seconds=60)
"""How long a begun annulment keeps its competition from ending."""

_KNOCK_OUTS: Final = {Format.SINGLE_ELIMINATION, Format.DOUBLE_ELIMINATION, Format.GROUPS}
"""Formats in which results decide who meets whom, and a replay may decide otherwise."""

_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Consequences:
    """What changes in a competition when a match is annulled.

    Attributes:
        results: the matches of the plan whose results go: the annulled one, and walkovers that
            followed from it.
        dropped: matches of the plan that are not to be played on this basis any more.
        played: those of them that have been played; there must be none.
        paired: Swiss: the rounds that stay, see `Competition`; () in other formats.
    """

    results: tuple[str, ...]
    dropped: tuple[PlannedMatch, ...]
    played: tuple[str, ...]
    paired: tuple[tuple[tuple[int, ...], ...], ...]


def consequences(
    competition: Competition,
    planned: Collection[PlannedMatch],
    results: Mapping[str, CompetitionResult],
    match_id: str,
    *,
    begun: int,
) -> Consequences:
    """Return what changes when a match is annulled.

    Args:
        competition: a tournament or a division.
        planned: its matches that are known by now.
        results: its results by match of the plan.
        match_id: the match of the plan whose result goes.
        begun: the last round that has begun; up to it a Swiss stays as it is paired.
    """
    if competition.format is Format.SWISS:
        dropped = tuple(match for match in planned if match.round > begun)
        return Consequences((match_id,), dropped, (), _paired(competition, planned, begun))
    if competition.format not in _KNOCK_OUTS:
        return Consequences((match_id,), (), (), ())
    left = {each: result.match for each, result in results.items() if each != match_id}
    staying = {match.id for match in schedule.plan(competition, left).matches}
    dropped = tuple(match for match in planned if match.id not in staying)
    known = {match.id: results[match.id] for match in dropped if match.id in results}
    return Consequences(
        results=(match_id, *(each for each, result in known.items() if result.is_walkover)),
        dropped=dropped,
        played=tuple(each for each, result in known.items() if not result.is_walkover),
        paired=(),
    )


def _paired(
    competition: Competition, planned: Iterable[PlannedMatch], begun: int
) -> tuple[tuple[tuple[int, ...], ...], ...]:
    seeds = {entrant: seed for seed, entrant in enumerate(competition.entrants)}
    rounds: list[list[tuple[int, ...]]] = [[] for _ in range(begun)]
    for match in planned:
        if match.round <= begun:
            rounds[match.round - 1].append(tuple(seeds[entrant] for entrant in match.entrants))
    return tuple(map(tuple, rounds))


async def annul(arena: Arena, match_id: str, *, ruleset: str, reason: str) -> bool:
    """Annul a match; one of a competition that is under way is then played again.

    Args:
        arena: where it was played.
        match_id: a match that is done.
        ruleset: of its ladder.
        reason: the operator's sentence, shown with the match.

    Returns:
        False when the match had been annulled before.

    Raises:
        PreconditionError: its competition has ended, or went on from its result.
    """
    ladder = arena.queues.ladder(ruleset)
    competition = competition_of(match_id)
    check = None
    if competition is not None:
        store = CompetitionStore(arena.redis)
        check = partial(_require_no_successor, store, ladder, competition, match_id)
    return await rebuild.annul(ladder, match_id, reason=reason, archive=arena.archive, check=check)


async def played_again_as(arena: Arena, match_id: str) -> str:
    """Return the id under which an annulled match is played again; "" when it is not."""
    competition = competition_of(match_id)
    record = None if competition is None else await CompetitionStore(arena.redis).find(competition)
    if record is None or record.state in {CompetitionState.ENDED, CompetitionState.CANCELLED}:
        return ""
    playing = record.playing(planned_id(match_id))
    return next_id(match_id) if playing == match_id else playing


async def _require_no_successor(
    competitions: CompetitionStore, ladder: Ladder, competition: str, match_id: str
) -> None:
    """Keep the competition from ending, and refuse if matches that follow have been played."""
    await competitions.hold(competition, match_id, duration=HOLD)
    record = await competitions.find(competition)
    if record is None or record.state is CompetitionState.CANCELLED:
        return
    if record.state is CompetitionState.ENDED:
        raise PreconditionError(
            f"the match {match_id} counts in {record.id}, which has ended; its standings are final",
            reason="IN_COMPETITION",
        )
    played = await _played_after(record, match_id, await competitions.results(competition), ladder)
    if played:
        await competitions.release(competition, match_id)
        latest = played[::-1]
        named = ", ".join(latest[:_NAMED]) + (", ..." if len(latest) > _NAMED else "")
        raise PreconditionError(
            f"{record.id} went on from the result of {match_id} and has played {named}; "
            "pause it and annul these first, the latest first, or cancel it",
            reason="IN_COMPETITION",
        )


async def _played_after(
    record: CompetitionRecord,
    match_id: str,
    results: Mapping[str, CompetitionResult],
    ladder: Ladder,
) -> list[str]:
    """Return what was played on the basis of the match, in the order of the plan."""
    planned = planned_id(match_id)
    if (
        record.rules.format not in _KNOCK_OUTS
        or planned not in results
        or record.playing(planned) != match_id
    ):
        # Nothing follows from a result that the scheduler has not seen, or has taken out.
        return []
    (competition,) = record.competitions
    played = {each: result.match for each, result in results.items()}
    known = schedule.plan(competition, played).matches
    found = consequences(competition, known, results, planned, begun=0)
    ids = {record.playing(match.id): match.id for match in found.dropped}
    logged = await ladder.results_of(ids)
    return [
        each
        for each, match in ids.items()
        if (logged[each].annulled is None if each in logged else match in found.played)
    ]
