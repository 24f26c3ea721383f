"""Computes scores, Elo with error bars, points, forfeits and times of a match.

Two entrants are compared on pairs (a board, seats swapped), more by Bradley-Terry. Forfeited games
count by their places, and are left out of points, variance reduction and first-seat advantage.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, variance
from typing import TYPE_CHECKING

from arena.ratings.half_points import half_points
from arena.ratings.sprt import SetCounts, estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from referee.games.replay import Replay, ReplayGame
    from referee.outcome import ForfeitReason


@dataclass(frozen=True, slots=True)
class BotReport:
    """One entrant's part in a match.

    Attributes:
        name: the bot's name, numbered when it stands more than once.
        score: mean score against each opponent and game, 0 to 1.
        elo: lead over the other (two entrants) or over the average; infinite when it won or lost
            everything.
        elo_error: half of the 95 % interval; None where ``note`` says why.
        points: mean points a game, all the entrant's seats together; None without a game that
            nobody forfeited.
        note: in words, why a number is missing.
    """

    name: str
    score: float
    elo: float
    elo_error: float | None
    points: float | None
    forfeits: dict[ForfeitReason, int]
    turns: int
    mean_think: float
    worst_think: float
    note: str


@dataclass(frozen=True, slots=True)
class MatchReport:
    """The statistics of a match; ``bots`` is by entrant.

    Attributes:
        decisions: turns that bots were asked.
        first_seat_score: mean score of seat 0, 0 to 1; None without games that nobody forfeited.
        variance_reduction: variance of single games over the rotations, by the variance of set
            means; None where it cannot be measured.
    """

    bots: tuple[BotReport, ...]
    decisions: int
    first_seat_score: float | None
    variance_reduction: float | None


def entrant_places(game: ReplayGame, entrants: int) -> list[int]:
    """Return a game's places in entrant order."""
    places = [0] * entrants
    for seat, entrant in enumerate(game.seats):
        places[entrant] = game.outcome.places[seat]
    return places


def sets_of(replay: Replay) -> dict[int, list[ReplayGame]]:
    """Return the games by board, each board's games by table."""
    sets: dict[int, list[ReplayGame]] = defaultdict(list)
    for game in replay.games:
        sets[game.board].append(game)
    return dict(sets)


def report(replay: Replay) -> MatchReport:
    """Compute the report of a match."""
    entrants = len(replay.entrants)
    scores = _mean_scores(replay)
    strengths = _compare_two(replay) if entrants == 2 else _compare_many(replay)
    names = numbered(replay.entrants)
    bots = []
    for entrant, (elo, error, note) in enumerate(strengths):
        charged = _charged(replay, entrant)
        bots.append(
            BotReport(
                name=names[entrant],
                score=scores[entrant],
                elo=elo,
                elo_error=error,
                points=_mean_points(replay, entrant),
                forfeits=_forfeits(replay, entrant),
                turns=len(charged),
                mean_think=fmean(charged) if charged else 0.0,
                worst_think=max(charged, default=0.0),
                note=note,
            )
        )
    return MatchReport(
        bots=tuple(bots),
        decisions=sum(bot.turns for bot in bots),
        first_seat_score=_first_seat_score(replay),
        variance_reduction=_variance_reduction(replay),
    )


def numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, those that stand more than once numbered: ``random``, ``random#2``."""
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(unique)


def pair_score(place: int, other: int) -> float:
    """Return 1, 1/2 or 0 for a better, equal or worse place."""
    return half_points(place, other) / 2


def _mean_scores(replay: Replay) -> list[float]:
    entrants = len(replay.entrants)
    totals = [0.0] * entrants
    for game in replay.games:
        places = entrant_places(game, entrants)
        for i, j in combinations(range(entrants), 2):
            score = pair_score(places[i], places[j])
            totals[i] += score
            totals[j] += 1 - score
    return [total / (len(replay.games) * (entrants - 1)) for total in totals]


def _compare_two(replay: Replay) -> list[tuple[float, float | None, str]]:
    """Estimate on pairs where every board was played twice, else on single games."""
    boards = sets_of(replay).values()
    are_pairs = all(len(games) == 2 for games in boards)
    counts = SetCounts(games_each=2 if are_pairs else 1)
    for games in boards:
        halves = [half_points(*entrant_places(game, 2)) for game in games]
        for half in [sum(halves)] if are_pairs else halves:
            counts.add(half)
    found = estimate(counts)
    return [(found.elo, found.elo_error, found.note), (-found.elo, found.elo_error, found.note)]


def _compare_many(replay: Replay) -> list[tuple[float, float | None, str]]:
    # NumPy would be a fifth of the time that most commands need to start.
    from arena.ratings.bradley_terry import ScoredSet, fit  # noqa: PLC0415

    entrants = range(len(replay.entrants))
    sets = [
        ScoredSet.of(
            board,
            entrants=entrants,
            places=[entrant_places(game, len(entrants)) for game in games],
        )
        for board, games in sets_of(replay).items()
    ]
    found = fit(sets, entrants=len(entrants))
    return [(float(found.elo[i]), found.error(i), found.notes[i]) for i in entrants]


def _mean_points(replay: Replay, entrant: int) -> float | None:
    points = [
        sum(game.outcome.points[seat] for seat, who in enumerate(game.seats) if who == entrant)
        for game in replay.games
        if not game.forfeits
    ]
    return fmean(points) if points else None


def _forfeits(replay: Replay, entrant: int) -> dict[ForfeitReason, int]:
    return dict(
        Counter(
            forfeit.reason
            for game in replay.games
            for forfeit in game.forfeits
            if game.seats[forfeit.seat] == entrant
        )
    )


def _charged(replay: Replay, entrant: int) -> list[float]:
    """Return the seconds charged for each turn that an entrant was asked."""
    return [
        asked.charged / 1e6
        for game in replay.games
        for asked in game.times
        if asked is not None and game.seats[asked.seat] == entrant
    ]


def _first_seat_score(replay: Replay) -> float | None:
    scores = [
        fmean(
            pair_score(game.outcome.places[0], game.outcome.places[seat])
            for seat in range(1, len(game.seats))
            if game.seats[seat] != game.seats[0]
        )
        for game in replay.games
        if not game.forfeits
    ]
    return fmean(scores) if scores else None


def _variance_reduction(replay: Replay) -> float | None:
    """Measure it on the first entrant's scores, over the sets that nobody forfeited."""
    entrants = len(replay.entrants)
    complete = []
    for games in sets_of(replay).values():
        if not any(game.forfeits for game in games) and len(games) > 1:
            rows = []
            for game in games:
                places = entrant_places(game, entrants)
                rows.append(fmean(pair_score(places[0], other) for other in places[1:]))
            complete.append(rows)
    if len(complete) < 2:
        return None
    rotations = len(complete[0])
    single = variance([score for rows in complete for score in rows])
    of_means = variance([fmean(rows) for rows in complete])
    return single / rotations / of_means if of_means > 0 else None


def forfeit_lines(replay: Replay) -> list[str]:
    """Return one line for each entrant and reason: how often, and where first."""
    names = numbered(replay.entrants)
    first: dict[tuple[int, ForfeitReason], str] = {}
    count: Counter[tuple[int, ForfeitReason]] = Counter()
    for game in replay.games:
        for forfeit in game.forfeits:
            key = (game.seats[forfeit.seat], forfeit.reason)
            count[key] += 1
            first.setdefault(
                key,
                f"board {game.board}, table {game.table}, ply {forfeit.ply}"
                f"{f': {forfeit.detail}' if forfeit.detail else ''}",
            )
    return [
        f"{names[entrant]}: {count[entrant, reason]} x {reason} ({where})"
        for (entrant, reason), where in first.items()
    ]


def finite(value: float | None) -> float | None:
    """Return the number, None when it is infinite (JSON has no infinity)."""
    return value if value is not None and math.isfinite(value) else None
