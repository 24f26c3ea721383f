"""Balances seats: turns tables so that nobody keeps a seat."""

from collections.abc import Iterable
from itertools import permutations


class Seating:
    """Counts who sat where, and finds the order in which a next table's entrants sat least."""

    def __init__(self) -> None:
        self._sat: dict[tuple[int, int], int] = {}

    def turn(self, table: tuple[int, ...]) -> tuple[int, ...]:
        """Return the table turned, keeping who sits across and beside whom."""
        return self._best(table[at:] + table[:at] for at in range(len(table)))

    def arrange(self, table: tuple[int, ...]) -> tuple[int, ...]:
        """Return the table in the best of all orders."""
        return self._best(permutations(table))

    def imbalance(self, entrant: int) -> int:
        """Return how much oftener the entrant sat first than second."""
        return self._sat.get((entrant, 0), 0) - self._sat.get((entrant, 1), 0)

    def count(self, table: tuple[int, ...]) -> None:
        """Count a table as seated."""
        for seat in enumerate(table):
            key = seat[::-1]
            self._sat[key] = self._sat.get(key, 0) + 1

    def _best(self, orders: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
        # Among equals the first is taken, so the choice depends on nothing but the history.
        return min(orders, key=self._used)

    def _used(self, order: tuple[int, ...]) -> tuple[int, int]:
        counts = [self._sat.get((entrant, seat), 0) for seat, entrant in enumerate(order)]
        return max(counts), sum(2 * count + 1 for count in counts)
