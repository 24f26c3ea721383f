"""Computes the ladder's rating: Elo, online, in exact integers.

Every quantity is an integer: ratings in micro-Elo (millionths of an Elo point), scores in
millionths of a game, so that the commit script in Lua can repeat the arithmetic bit for bit.

Source: A. Elo, "The Rating of Chessplayers, Past and Present" (1978), the logistic form; games of
more than two entrants are scored pair by pair and share one K over the n - 1 opponents.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from typing import Final

from arena.errors import InputError
from arena.ratings.half_points import half_points

MICRO: Final = 10**6
"""One Elo point in micro-Elo; also the score of a game won outright."""

START: Final = 1500 * MICRO
"""The rating of a new bot, in micro-Elo; the bank is debited by as much."""

FLOOR: Final = 100 * MICRO
"""No rating falls below this, in micro-Elo."""

PROVISIONAL_MATCHES: Final = 30
"""Rated matches of a version during which its K is the larger one."""

LIMIT: Final = 800
"""Rating differences beyond this many Elo points count as this many."""

_PROVISIONAL_K: Final = {2: 40, 3: 52, 4: 64}
_SETTLED_K: Final = {2: 16, 3: 26, 4: 32}


def _table() -> tuple[int, ...]:
    with localcontext() as context:
        context.prec = 20  # the same table as with 200
        chances = (MICRO / (1 + Decimal(10) ** (Decimal(-d) / 400)) for d in range(LIMIT + 2))
        return tuple(int(c.to_integral_value(rounding=ROUND_HALF_EVEN)) for c in chances)


TABLE: Final = _table()
"""``TABLE[d]`` is the score, in millionths, expected of the one who is d Elo ahead; d = 0..801."""


def lua_table() -> str:
    """Return ``TABLE`` as one string of 7 decimal digits an entry, for a Lua string literal.

    Entry d stands at the 1-based characters ``7 * d + 1`` to ``7 * d + 7``.
    """
    return "".join(f"{entry:07d}" for entry in TABLE)


def expected(difference: int) -> int:
    """Return the expected score in millionths, for a lead of ``difference`` micro-Elo.

    Linear between whole Elo points, rounded down; ``expected(-d) == 10**6 - expected(d)``.
    """
    whole, part = divmod(min(abs(difference), LIMIT * MICRO), MICRO)
    score = TABLE[whole] + (TABLE[whole + 1] - TABLE[whole]) * part // MICRO
    return score if difference >= 0 else MICRO - score


def k_factor(entrants: int, rated_matches: int) -> int:
    """Return K in Elo for a version with ``rated_matches`` behind it, in a match of ``entrants``.

    Fewer than two entrants or a negative count raise `InputError`.
    """
    if entrants < 2 or rated_matches < 0:
        raise InputError(
            f"K needs two entrants or more and a count of matches from 0 up, "
            f"not {entrants} entrants and {rated_matches} matches"
        )
    table = _PROVISIONAL_K if rated_matches < PROVISIONAL_MATCHES else _SETTLED_K
    return table[min(entrants, 4)]


def scores_from_places(games: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the matrix of scores of a match, in millionths, from the places in its games.

    Args:
        games: of the match, each the places by entrant (1 is best, equal places tie).

    Returns:
        ``S`` with ``S[i][j]`` the mean over the games of 1,000,000, 500,000 or 0 for a better,
        equal or worse place of i than of j, rounded half to even; ``S[j][i]`` is the rest to
        1,000,000. The diagonal is 0 and means nothing.

    Raises:
        InputError: no game, games of different numbers of entrants, or fewer than two entrants.
    """
    entrants = len(games[0]) if games else 0
    if entrants < 2 or any(len(game) != entrants for game in games):
        raise InputError("every game needs a place for each of the same two entrants or more")
    scores = [[0] * entrants for _ in range(entrants)]
    for i, j in combinations(range(entrants), 2):
        total = sum(half_points(game[i], game[j]) for game in games)
        scores[i][j] = round(Fraction(total * MICRO, 2 * len(games)))
        scores[j][i] = MICRO - scores[i][j]
    return scores


def update(
    ratings: Sequence[int], scores: Sequence[Sequence[int]], *, k: Sequence[int]
) -> list[int]:
    """Return the new ratings after a match, in micro-Elo, none below ``FLOOR``.

    ``bank_change`` gives what the bank takes, so that the sum of ratings and bank is constant.

    Args:
        ratings: the ratings before the match by entrant, in micro-Elo.
        scores: ``scores[i][j]`` for i < j in millionths, as ``scores_from_places`` gives them.
        k: K by entrant, in Elo.

    Raises:
        InputError: shapes that do not agree, or a score outside 0..1,000,000.
    """
    entrants = len(ratings)
    _check_shapes(entrants, scores, k)
    changes = [0] * entrants
    for i, j in combinations(range(entrants), 2):
        surprise = scores[i][j] - expected(ratings[i] - ratings[j])
        changes[i] += _divide_rounding(k[i] * surprise, entrants - 1)
        changes[j] -= _divide_rounding(k[j] * surprise, entrants - 1)
    return [max(FLOOR, rating + change) for rating, change in zip(ratings, changes, strict=True)]


def _check_shapes(entrants: int, scores: Sequence[Sequence[int]], k: Sequence[int]) -> None:
    if entrants < 2 or len(k) != entrants:
        raise InputError(
            f"give a rating and a K for each of two entrants or more, "
            f"not {entrants} ratings and {len(k)} factors"
        )
    if len(scores) != entrants or any(len(row) != entrants for row in scores):
        raise InputError(f"scores must be a matrix of {entrants} by {entrants}")
    if any(not 0 <= score <= MICRO for row in scores for score in row):
        raise InputError("scores are in millionths: each from 0 to 1000000")


def _divide_rounding(numerator: int, denominator: int) -> int:
    """Divide, rounding halves away from zero."""
    size = (2 * abs(numerator) + denominator) // (2 * denominator)
    return size if numerator >= 0 else -size


def bank_change(before: Sequence[int], after: Sequence[int]) -> int:
    """Return what the bank takes, in micro-Elo: the negated sum of the actual changes."""
    return sum(before) - sum(after)
