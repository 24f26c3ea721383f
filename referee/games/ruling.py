"""Determine the outcome of a game with forfeits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from referee.outcome import Forfeit, Outcome, places_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from referee.games.base import Game, State


def rule_on(game: Game, state: State, seats: Sequence[int], forfeits: Iterable[Forfeit]) -> Outcome:
    """Return a game's outcome from its last state, the entrants by seat and every forfeit.

    Forfeiters rank last, equal among themselves; the others rank by the rules, or share the first
    place when the game did not reach its end. If all forfeit, all tie. Points are the rules' own, 0
    for every seat when the game did not reach its end.
    """
    ruled = state.outcome()
    out = {seats[forfeit.seat] for forfeit in forfeits}
    if ruled is not None and not out:
        return ruled
    points = ruled.points if ruled is not None else (0,) * game.seats
    rank = ruled.places if ruled is not None else (1,) * game.seats
    best = {entrant: rank[seat] for seat, entrant in enumerate(seats)}
    entrants = sorted(best)
    last = game.seats + 1
    places = places_of([-last if entrant in out else -best[entrant] for entrant in entrants])
    by_entrant = dict(zip(entrants, places, strict=True))
    return Outcome(points=points, places=tuple(by_entrant[entrant] for entrant in seats))


def entrants_left(seats: Sequence[int], forfeits: Iterable[Forfeit]) -> set[int]:
    """Return the entrants who have not forfeited."""
    return set(seats) - {seats[forfeit.seat] for forfeit in forfeits}
