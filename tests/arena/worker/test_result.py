import pytest

from arena.queue.models import Forfeits
from arena.worker.result import match_result
from referee.games.replay import Replay, ReplayGame
from referee.outcome import Forfeit, ForfeitReason, Outcome, Termination


def game(
    board: int, table: int, seats: tuple[int, ...], places: tuple[int, ...], *, forfeit: int = -1
) -> ReplayGame:
    """A game without actions whose points are the negated places."""
    forfeits = (Forfeit(forfeit, ForfeitReason.TIMEOUT, "late", 0),) if forfeit >= 0 else ()
    return ReplayGame(
        board=board,
        table=table,
        seats=seats,
        actions=(),
        times=(),
        forfeits=forfeits,
        termination=Termination.FORFEIT if forfeits else Termination.FINISHED,
        outcome=Outcome(points=tuple(-place for place in places), places=places),
    )


def replay(*games: ReplayGame, entrants: tuple[str, ...] = ("ada", "bob")) -> Replay:
    """A match of these games."""
    return Replay(
        ruleset="quasenbo", seed=bytes(32), time_control="5+0.05", entrants=entrants, games=games
    )


def test_places_are_mapped_from_seats_to_entrants() -> None:
    """The second seat's win at a turned table is the first entrant's."""
    result = match_result(
        replay(game(0, 0, (0, 1), (1, 2)), game(0, 1, (1, 0), (2, 1))),
        digest=bytes(32),
        seconds=1.5,
    )
    assert result.pair_scores == (1_000_000,)
    assert result.sets == (4,)
    assert result.points == (-2, -4)
    assert result.terminations == {Termination.FINISHED: 2}
    assert result.played.total_seconds() == pytest.approx(1.5)


def test_a_forfeit_counts_by_its_place_and_not_in_points() -> None:
    """The forfeiter is last in its set; the points are those of the games that were played."""
    result = match_result(
        replay(
            game(0, 0, (0, 1), (1, 2)),
            game(0, 1, (1, 0), (1, 2), forfeit=1),
            game(1, 0, (0, 1), (1, 1)),
            game(1, 1, (1, 0), (1, 1)),
        ),
        digest=bytes(32),
        seconds=0,
    )
    assert result.forfeits == (Forfeits(0, ForfeitReason.TIMEOUT, 1),)
    assert result.sets == (2, 2)
    assert result.pair_scores == (500_000,)
    assert result.points == (-3, -4)


def test_four_entrants_have_six_pairs_a_board() -> None:
    """Sets hold the half points of i against j, pairs in lexicographic order."""
    result = match_result(
        replay(game(0, 0, (0, 1, 2, 3), (2, 1, 3, 3)), entrants=("a", "b", "c", "d")),
        digest=bytes(32),
        seconds=0,
    )
    assert result.sets == (0, 2, 2, 2, 2, 1)
