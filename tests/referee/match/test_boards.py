"""Check who sits where at which table on duplicate boards."""

from collections import Counter
from itertools import permutations

import pytest

from referee.games import parse_ruleset
from referee.match.boards import make_board, seating

RULESETS = [
    "quasenbo",
    "quasenbo:players=3",
    "quasenbo:players=4",
    "quasenbo:players=5",
    "quasenbo:players=6",
    "pese-katesh",
]


@pytest.mark.parametrize("ruleset", RULESETS)
@pytest.mark.parametrize("board", [0, 1, 2, 5, 77])
def test_every_entrant_holds_every_seat_of_a_board_once(ruleset: str, board: int) -> None:
    """The rotations of a set are fair to everybody."""
    game = parse_ruleset(ruleset)
    tables = [seating(game, board=board, rotation=r) for r in range(game.rotations)]
    everybody = list(range(game.entrants))
    for seat in range(game.seats):
        assert sorted(table[seat] for table in tables) == everybody


@pytest.mark.parametrize("ruleset", RULESETS)
def test_rotations_of_a_board_keep_the_circular_order(ruleset: str) -> None:
    """Who sits after whom differs between boards, not within one."""
    game = parse_ruleset(ruleset)
    for board in range(8):
        orders = set()
        for rotation in range(game.rotations):
            seats = seating(game, board=board, rotation=rotation)
            first = seats.index(0)
            orders.add(seats[first:] + seats[:first])
        assert len(orders) == 1


@pytest.mark.parametrize(("entrants", "orders"), [(2, 1), (3, 2), (4, 6), (5, 24), (6, 120)])
def test_successive_boards_go_through_every_circular_order(entrants: int, orders: int) -> None:
    """With four entrants there are six, and after six boards they begin again."""
    game = parse_ruleset(f"quasenbo:players={entrants}")
    seen = [seating(game, board=board, rotation=0) for board in range(2 * orders)]
    assert Counter(seen) == dict.fromkeys(
        [(0, *rest) for rest in permutations(range(1, entrants))], 2
    )


def test_the_two_bots_of_a_team_sit_opposite_each_other() -> None:
    """Two entrants and two tables: the teams swap sides."""
    game = parse_ruleset("pese-katesh:teams=yes")
    assert game.rotations == 2
    assert seating(game, board=3, rotation=0) == (0, 1, 0, 1)
    assert seating(game, board=3, rotation=1) == (1, 0, 1, 0)


def test_a_board_depends_on_the_seed_and_its_index_alone() -> None:
    """Every table of a match deals the same cards; no two boards do."""
    game = parse_ruleset("quasenbo")
    deals = [make_board(game, seed=b"a" * 32, index=index).deal(0) for index in range(20)]
    again = [make_board(game, seed=b"a" * 32, index=index).deal(0) for index in range(20)]
    assert deals == again
    assert len(set(deals)) == 20
    assert make_board(game, seed=b"b" * 32, index=0).deal(0) not in deals
