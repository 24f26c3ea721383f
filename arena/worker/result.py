"""Computes the result that is committed from the replay of a match."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import combinations
from typing import TYPE_CHECKING

from arena.matches.report import entrant_places, sets_of
from arena.queue.models import Forfeits, LadderResult, Luck
from arena.ratings import elo
from arena.ratings.half_points import half_points

if TYPE_CHECKING:
    from referee.games.replay import Replay


def match_result(replay: Replay, *, digest: bytes, seconds: float) -> LadderResult:
    """Return what a worker commits; ``digest`` is the SHA-256 of the archived replay.

    Forfeited games count by their places in scores and sets, and are left out of points.
    """
    entrants = len(replay.entrants)
    scores = elo.scores_from_places([entrant_places(game, entrants) for game in replay.games])
    return LadderResult(
        scores=tuple(map(tuple, scores)),
        digest=digest,
        terminations=Counter(game.termination for game in replay.games),
        forfeits=_forfeits(replay),
        sets=_set_half_points(replay),
        points=_points(replay),
        played=timedelta(seconds=seconds),
        luck=_luck(replay),
    )


def _forfeits(replay: Replay) -> tuple[Forfeits, ...]:
    counts = Counter(
        (game.seats[forfeit.seat], forfeit.reason)
        for game in replay.games
        for forfeit in game.forfeits
    )
    return tuple(
        Forfeits(entrant, reason, games) for (entrant, reason), games in sorted(counts.items())
    )


def _set_half_points(replay: Replay) -> tuple[int, ...]:
    entrants = len(replay.entrants)
    return tuple(
        sum(half_points(places[i], places[j]) for places in boards)
        for boards in (
            [entrant_places(game, entrants) for game in games]
            for _, games in sorted(sets_of(replay).items())
        )
        for i, j in combinations(range(entrants), 2)
    )


def _points(replay: Replay) -> tuple[int, ...]:
    totals = [0] * len(replay.entrants)
    played = [game for game in replay.games if not game.forfeits]
    for game in played:
        for entrant, points in zip(game.seats, game.outcome.points, strict=True):
            totals[entrant] += points
    return tuple(totals) if played else ()


def _luck(replay: Replay) -> Luck:
    """Sum up what `Luck` holds."""
    entrants = len(replay.entrants)
    first = [
        half_points(game.outcome.places[0], game.outcome.places[seat])
        for game in replay.games
        if not game.forfeits
        for seat in range(1, len(game.seats))
        if game.seats[seat] != game.seats[0]
    ]
    sets = [
        [_half_points_of_first(entrant_places(game, entrants)) for game in games]
        for games in sets_of(replay).values()
        if not any(game.forfeits for game in games)
    ]
    return Luck(
        first_seat=sum(first),
        first_seat_most=2 * len(first),
        sets=len(sets),
        rotations=len(sets[0]) if sets else 0,
        total=sum(map(sum, sets)),
        squares=sum(half**2 for halves in sets for half in halves),
        set_squares=sum(sum(halves) ** 2 for halves in sets),
    )


def _half_points_of_first(places: list[int]) -> int:
    return sum(half_points(places[0], other) for other in places[1:])
