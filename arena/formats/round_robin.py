"""Round robin: everyone meets everyone, two at a table.

Source: J. Berger's tables (Schach-Jahrbuecher, 1893), by the closed form of R. Schurig's method:
with entrants numbered from 1, round r pairs those whose numbers sum to r + 1 modulo n - 1.
"""

from arena.errors import InputError

Table = tuple[int, ...]


def rounds(n: int, *, cycles: int = 1) -> list[list[Table]]:
    """Return the rounds of a round robin of n entrants.

    Nobody's first and second seats differ by more than one over a cycle. With an odd n one entrant
    a round, each in turn, has a bye and stands at no table.

    Args:
        n: entrants, numbered from 0.
        cycles: how often everyone meets everyone; every second cycle swaps the seats.

    Returns:
        n - 1 rounds a cycle (n when n is odd), each a list of tables, each ``(first, second)``.

    Raises:
        InputError: fewer than two entrants or no cycle.
    """
    if n < 2 or cycles < 1:
        raise InputError(f"a round robin needs two entrants and a cycle, not {n} and {cycles}")
    once = [_round(n, number) for number in range(1, n + n % 2)]
    swapped = [[table[::-1] for table in tables] for tables in once]
    return [tables for cycle in range(cycles) for tables in (swapped if cycle % 2 else once)]


def _round(n: int, number: int) -> list[Table]:
    even = n + n % 2
    modulus = even - 1
    # The one who would meet itself meets the last number instead: 2 p = number + 1.
    middle = _residue((number + 1) * (even // 2), modulus)
    tables = [] if n % 2 else [(middle, n) if middle <= n // 2 else (n, middle)]
    for distance in range(1, even // 2):
        pair = (_residue(middle + distance, modulus), _residue(middle - distance, modulus))
        tables.append((min(pair), max(pair)) if sum(pair) % 2 else (max(pair), min(pair)))
    return [(first - 1, second - 1) for first, second in tables]


def _residue(value: int, modulus: int) -> int:
    """Return the value modulo ``modulus``, from 1 up instead of from 0."""
    return (value - 1) % modulus + 1
