"""Whist tournaments: everyone meets everyone, four at a table.

In an exact schedule every pair meets at three tables, once across (seats 0 and 2, or 1 and 3) and
twice as neighbours. Most are grown from a starter: the tables of the first round, to whose elements
every later round adds one more.

- 4k entrants: modulo 4k - 1, the last entrant standing still ("infinity"), nobody sits out.
- 4k + 1: modulo n, one entrant a round sits out. Where n is a prime, or the square of a prime
  3 mod 4, the tables are the multiples of 1, i, -1, -i with i a root of -1: the differences across
  are then 2, 2i, -2, -2i times each, so every difference once, and those of neighbours every
  difference twice.
- 4 to 7 entrants: all tables there are (for 4: its table in all three ways to sit across).
- Other numbers: a starter annealed until its differences are as equal as they get; everyone plays
  equally often, pairs meet about, not exactly, equally often. ``exact_size`` gives the number to
  which house bots would have to fill up for an exact schedule.

Sources: E. H. Moore, "Tactical Memoranda", American Journal of Mathematics 18 (1896), for the
powers of a root; I. Anderson, "Combinatorial Designs and Tournaments" (1997), for starters.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from random import Random
from typing import Final

from arena.errors import InputError
from arena.formats.round_robin import Table
from arena.formats.seating import Seating

INFINITY: Final = -1
"""In a starter: the entrant who stays where it is."""

_STARTERS: Final[dict[int, list[Table]]] = {
    4: [(INFINITY, 0, 1, 2)],
    8: [(INFINITY, 1, 5, 6), (0, 2, 4, 3)],
    12: [(INFINITY, 7, 0, 5), (9, 1, 6, 8), (2, 4, 3, 10)],
    16: [(INFINITY, 13, 14, 10), (2, 4, 12, 5), (7, 1, 3, 8), (6, 9, 0, 11)],
    # From here on found by search, and checked like the others.
    20: [(INFINITY, 14, 1, 18), (12, 0, 11, 16), (2, 3, 13, 9), (5, 15, 10, 8), (17, 6, 7, 4)],
    21: [(7, 15, 1, 2), (5, 18, 8, 17), (16, 19, 12, 10), (6, 9, 13, 11), (4, 3, 20, 14)],
    24: [
        *((INFINITY, 3, 16, 14), (6, 21, 11, 12), (2, 9, 15, 1)),
        *((19, 4, 0, 7), (20, 17, 13, 18), (10, 22, 8, 5)),
    ],
    25: [
        *((24, 11, 21, 17), (1, 10, 12, 23), (5, 9, 3, 2)),
        *((6, 14, 22, 4), (13, 19, 8, 18), (16, 7, 20, 15)),
    ],
}

_ANNEALING_STEPS: Final = 20_000


def rounds(n: int, *, seed: int = 0) -> list[list[Table]]:
    """Return the rounds of a whist tournament of n entrants.

    Args:
        n: entrants, numbered from 0; four or more.
        seed: of the annealing, for numbers without an exact schedule.

    Returns:
        A list of rounds, each a list of tables, each four entrants in seat order. The seats turn
        from round to round, so that nobody keeps one. Who stands at no table sits out.

    Raises:
        InputError: fewer than four entrants.
    """
    if n < 4:
        raise InputError(f"four at a table needs four entrants or more, not {n}")
    return [list(tables) for tables in _seated(n, seed)]


# The annealing takes half a second, and a schedule is asked for at every step of a competition.
@lru_cache(maxsize=64)
def _seated(n: int, seed: int) -> tuple[tuple[Table, ...], ...]:
    seating = Seating()
    seated = []
    for tables in _unseated(n, seed):
        turned = tuple(seating.turn(table) for table in tables)
        for table in turned:
            seating.count(table)
        seated.append(turned)
    return tuple(seated)


def is_exact(n: int) -> bool:
    """Return whether every pair of n entrants meets equally often."""
    return n in _STARTERS or n in {6, 7} or _is_root_size(n)


def exact_size(n: int) -> int:
    """Return the smallest number from n up (and from 4) with an exact schedule."""
    size = max(n, 4)
    while not is_exact(size):
        size += 1
    return size


def _unseated(n: int, seed: int) -> Iterable[list[Table]]:
    if n in _STARTERS:
        return _develop(n, _STARTERS[n])
    if n in {6, 7}:
        return _all_tables(n)
    if _is_prime(n) and n % 4 == 1:
        return _develop(n, _root_starter(n))
    if _is_root_size(n):
        return _gaussian_rounds(math.isqrt(n))
    return _develop(n, _anneal(n, seed))


def _develop(n: int, starter: list[Table]) -> Iterator[list[Table]]:
    modulus = n if n % 4 else n - 1
    for turn in range(modulus):
        yield [
            tuple(n - 1 if e == INFINITY else (e + turn) % modulus for e in table)
            for table in starter
        ]


def _all_tables(n: int) -> Iterator[list[Table]]:
    """Give one table a round, next those who have waited most; across as equally as it goes."""
    waiting = {frozenset(table) for table in combinations(range(n), 4)}
    played, across = Counter[int](), Counter[frozenset[int]]()
    while waiting:
        table = min(
            waiting, key=lambda t: (sum(played[e] ** 2 + 2 * played[e] for e in t), sorted(t))
        )
        waiting.remove(table)
        played.update(table)
        a, b, c, d = sorted(table)
        ways = [(a, b, c, d), (a, c, b, d), (a, b, d, c)]
        best = min(ways, key=lambda w: across[frozenset(w[::2])] + across[frozenset(w[1::2])])
        across.update([frozenset(best[::2]), frozenset(best[1::2])])
        yield [best]


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % factor for factor in range(2, math.isqrt(n) + 1))


def _is_root_size(n: int) -> bool:
    root = math.isqrt(n)
    square = root * root == n and root % 4 == 3 and _is_prime(root)
    return square or (n % 4 == 1 and _is_prime(n))


def _root_starter(prime: int) -> list[Table]:
    root = next(i for i in range(2, prime) if i * i % prime == prime - 1)
    starter: list[Table] = []
    left = dict.fromkeys(range(1, prime))
    while left:
        x = next(iter(left))
        table = (x, root * x % prime, prime - x, -root * x % prime)
        starter.append(table)
        for element in table:
            del left[element]
    return starter


def _gaussian_rounds(prime: int) -> Iterator[list[Table]]:
    """Give the rounds over a + bi modulo a prime 3 mod 4, numbered ``a * prime + b``."""
    field = [(a, b) for a in range(prime) for b in range(prime)]
    starter, seen = [], {(0, 0)}
    for a, b in field:
        # Times i is a quarter turn.
        turns = [(a, b), (-b % prime, a), (-a % prime, -b % prime), (b, -a % prime)]
        if (a, b) not in seen:
            seen.update(turns)
            starter.append(turns)
    for a, b in field:
        yield [
            tuple((x + a) % prime * prime + (y + b) % prime for x, y in table) for table in starter
        ]


class _Differences:
    """How often each difference occurs between tablemates, and across, in a starter."""

    def __init__(self, modulus: int) -> None:
        self.modulus = modulus
        self.cost = 0
        self._met = [0] * modulus
        self._across = [0] * modulus

    def change(self, table: Iterable[int], by: int) -> None:
        """Add a table (by 1) or take it away (by -1), keeping the cost, a sum of squares."""
        for (a, x), (b, y) in combinations(enumerate(table), 2):
            if INFINITY not in {x, y}:
                gap = min((x - y) % self.modulus, (y - x) % self.modulus)
                # Half of the circle away, the same two meet again when the circle is half turned.
                times = 2 * by if 2 * gap == self.modulus else by
                self._count(self._met, gap, times)
                if b - a == 2:
                    self._count(self._across, gap, times)

    def lowest(self) -> int:
        """Return a bound of the cost: of counts as equal as their sums allow.

        Modulo an even number the sums vary with the gaps of half the circle: no bound but 0.
        """
        if self.modulus % 2 == 0:
            return 0
        least = 0
        for counts in (self._met, self._across):
            each, more = divmod(sum(counts), self.modulus // 2)
            least += more * (each + 1) ** 2 + (self.modulus // 2 - more) * each**2
        return least

    def _count(self, counts: list[int], gap: int, by: int) -> None:
        self.cost += by * (2 * counts[gap] + by)
        counts[gap] += by


def _anneal(n: int, seed: int) -> list[Table]:
    """Return a starter whose differences are as equal as a bounded search makes them."""
    random = Random(seed)  # noqa: S311 - a schedule, not a secret
    modulus = n if n % 4 else n - 1
    elements = [*range(modulus)] if n % 4 else [INFINITY, *range(modulus)]
    random.shuffle(elements)
    differences = _Differences(modulus)
    for at in range(0, n - 3, 4):
        differences.change(elements[at : at + 4], 1)
    best, best_cost, lowest = elements[:], differences.cost, differences.lowest()
    for step in range(_ANNEALING_STEPS):
        if best_cost <= lowest:
            break
        cost = differences.cost
        swap = random.randrange(n // 4 * 4), random.randrange(n)
        _swap(elements, swap, differences)
        heat = 4 * (1 - step / _ANNEALING_STEPS) + 0.05
        if random.random() >= math.exp(min(0, cost - differences.cost) / heat):
            _swap(elements, swap, differences)
        if differences.cost < best_cost:
            best, best_cost = elements[:], differences.cost
    return [tuple(best[at : at + 4]) for at in range(0, n - 3, 4)]


def _swap(elements: list[int], swap: tuple[int, int], differences: _Differences) -> None:
    """Swap two elements, at a table or left over, and count the differences anew."""
    starts = {at // 4 * 4 for at in swap if at // 4 < len(elements) // 4}
    for start in starts:
        differences.change(elements[start : start + 4], -1)
    a, b = swap
    elements[a], elements[b] = elements[b], elements[a]
    for start in starts:
        differences.change(elements[start : start + 4], 1)
