"""Leagues: divisions that play a double round robin a season, and change places after it."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

from arena.errors import InputError
from arena.formats.model import Competition, Format, Options

SMALLEST, LARGEST = 8, 16
"""Entrants of a division; a league of fewer than eight has one smaller division."""

Divisions = list[list[str]]
"""Entrants by division, the highest first, the best first."""


def divisions(entrants: Sequence[str]) -> Divisions:
    """Return entrants, the strongest first, cut into as few equal divisions as there can be."""
    count = max(1, -(-len(entrants) // LARGEST))
    smaller, larger = divmod(len(entrants), count)
    # Where sizes differ, the lower divisions are the larger ones.
    sizes = [smaller] * (count - larger) + [smaller + 1] * larger
    ends = [sum(sizes[: at + 1]) for at in range(count)]
    return [list(entrants[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


def season(league: str, number: int, entrants: Divisions, *, options: Options) -> list[Competition]:
    """Return a season's competitions, one a division.

    Two at a table, everyone meets everyone twice, with the seats swapped; four at a table, a whist
    tournament. Their ids are ``league.s1.d1`` and so on.

    Raises:
        InputError: a division too small for its tables, or an entrant in it twice.
    """
    cycles = 2 if options.table_size == 2 else 1
    return [
        Competition(
            id=f"{league}.s{number}.d{division}",
            format=Format.ROUND_ROBIN,
            entrants=tuple(members),
            options=replace(options, cycles=cycles),
        )
        for division, members in enumerate(entrants, start=1)
    ]


def moved(
    ranked: Sequence[Sequence[str]],
    *,
    moves: int,
    leavers: Collection[str] = (),
    newcomers: Sequence[str] = (),
) -> Divisions:
    """Return the divisions after promotion and relegation, whatever their size.

    The first ``moves`` of each division go up, the last ``moves`` down; a place left empty by a
    leaver goes to the best of the division below. Newcomers start at the bottom.

    Args:
        ranked: the entrants by division, the best first, as the season's standings have them.
        moves: how many change places between neighbours, at most half of either division.
        leavers: entrants who do not return.
        newcomers: entrants who were in no division.

    Raises:
        InputError: no division, or a negative number of moves.
    """
    if moves < 0 or not ranked:
        raise InputError(f"a league has a division or more and moves from 0 up, not {moves}")
    staying = [[e for e in division if e not in leavers] for division in ranked]
    changed = _exchange(staying, moves)
    for upper, division in enumerate(ranked[:-1]):
        _refill(changed, upper, len(division))
    changed[-1] += newcomers
    return [division for division in changed if division] or [[]]


def levelled(entrants: Divisions, *, table_size: int = 2) -> Divisions:
    """Return divisions of sizes that can be played.

    A bottom that has outgrown ``LARGEST`` is cut into equal divisions. One below ``SMALLEST`` joins
    the division above, if that has the room; if it has not, and the bottom cannot fill a table, the
    two are cut anew.
    """
    *upper, bottom = entrants
    if upper and len(bottom) < SMALLEST:
        both = upper[-1] + bottom
        if len(both) <= LARGEST or len(bottom) < table_size:
            return [*upper[:-1], *divisions(both)]
    return [*upper, *divisions(bottom)]


def levelling(before: Divisions, after: Divisions) -> str:
    """Return in a sentence how `levelled` changed divisions; "" when it did not."""
    if [*map(len, before)] == [*map(len, after)]:
        return ""
    number, size = len(before), len(before[-1])
    bottom = f"division {number} would have {size} {'bot' if size == 1 else 'bots'}"
    if len(after) < number:
        return f"{bottom}, too few for one of its own: they play in division {len(after)}"
    if len(after) == number:
        return f"{bottom}, too few for a table: divisions {number - 1} and {number} are cut anew"
    return f"{bottom}, too many for one: divisions {number} to {len(after)} are made of them"


def _exchange(ranked: Divisions, moves: int) -> Divisions:
    crossing = [min(moves, len(upper) // 2, len(lower) // 2) for upper, lower in pairwise(ranked)]
    changed: Divisions = []
    for at, division in enumerate(ranked):
        up = crossing[at - 1] if at else 0
        down = crossing[at] if at < len(crossing) else 0
        relegated = ranked[at - 1][len(ranked[at - 1]) - up :] if at else []
        promoted = ranked[at + 1][:down] if down else []
        changed.append([*relegated, *division[up : len(division) - down], *promoted])
    return changed


def _refill(entrants: Divisions, upper: int, size: int) -> None:
    """Fill a division up to its size with the best of those below it."""
    for lower in range(upper + 1, len(entrants)):
        missing = size - len(entrants[upper])
        entrants[upper] += entrants[lower][:missing]
        del entrants[lower][:missing]
