"""Dispatches to the formats: plans, next matches and standings."""

from collections.abc import Callable, Mapping
from typing import Final

from arena.formats import elimination, fixed, groups, swiss
from arena.formats.model import Competition, Format, NextMatches, Plan, Results
from arena.formats.standings import standings

_PLANS: Final[dict[Format, Callable[[Competition, Results], Plan]]] = {
    Format.ROUND_ROBIN: fixed.plan,
    Format.GAUNTLET: fixed.plan,
    Format.SWISS: swiss.plan,
    Format.SINGLE_ELIMINATION: elimination.plan,
    Format.DOUBLE_ELIMINATION: elimination.plan,
    Format.GROUPS: groups.plan,
}


def plan(competition: Competition, results: Results) -> Plan:
    """Return all matches known by now and whether they are all; see `next_matches`."""
    return _PLANS[competition.format](competition, results)


def next_matches(
    competition: Competition, results: Results, *, strengths: Mapping[str, float] | None = None
) -> NextMatches:
    """Return the matches to play next, and the standings so far.

    A pure function: the whole plan is made anew from the results, so that asking twice names the
    same matches, and asking after some have ended names the rest. Schedule by id: an id seen before
    is the same match.

    Strengths by entrant only break ties of the standings: they never change who plays whom.

    Raises:
        InputError: a result for another number of entrants than its match has.
    """
    known = plan(competition, results)
    return NextMatches(
        matches=tuple(match for match in known.matches if match.id not in results),
        planned=known.matches,
        finished=known.finished,
        standings=standings(
            competition.entrants, known, results, strengths=strengths, lot=competition.options.lot
        ),
    )
