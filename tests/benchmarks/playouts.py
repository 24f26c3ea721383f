"""How fast the rules engines play random legal actions, beside a loop of known work.

``python tests/benchmarks/playouts.py`` prints a table and, last, one line of JSON. Compare ratios
within one run: ``loop_per_second`` counts the same integer loop on the same machine. Seconds are of
processor time, so that neighbours count as little as can be.
"""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING, TypedDict

from referee.games import Board, games, parse_ruleset
from referee.games.random_streams import board_seed

if TYPE_CHECKING:
    from collections.abc import Callable

    from referee.games import Game

MATCH_SEED = bytes(32)
BATCH = 20
ROUNDS = 10  # the best of them counts: a shared machine only ever makes a round slower


class Face(TypedDict):
    """What one face of an engine reached."""

    actions_per_second: float
    games_per_second: float
    actions_per_game: float
    actions_per_loop: float


class Report(TypedDict):
    """All results: by ruleset, the fast core and the text face; and the reference loop."""

    loop_per_second: float
    games: dict[str, dict[str, Face]]


def run(*, seconds: float = 1.0) -> Report:
    """Return the actions per second of every game's fast core and text face.

    Args:
        seconds: how long each measurement takes, about; the deals are in it.
    """
    loop = _loop_per_second()
    report: Report = {"loop_per_second": loop, "games": {}}
    for info in games():
        game = parse_ruleset(info.name)
        report["games"][game.ruleset] = {
            "core": _measure(game, _core_playout, seconds=seconds, loop=loop),
            "text": _measure(game, text_playout, seconds=seconds, loop=loop),
        }
    return report


def text_playout(game: Game, board: Board, choose: random.Random) -> int:
    """Play random legal actions to the end through `State`; return how many."""
    state = game.start(board)
    while actions := state.legal_actions():
        count = len(actions)
        state = state.apply(actions[int(choose.random() * count)] if count > 1 else actions[0])
    return state.ply


def _core_playout(game: Game, board: Board, choose: random.Random) -> int:
    return game.playout(board, choose)[0]


def _measure(
    game: Game,
    playout: Callable[[Game, Board, random.Random], int],
    *,
    seconds: float,
    loop: float,
) -> Face:
    choose = random.Random(0)
    best = 0.0
    plies = played = 0
    for _ in range(ROUNDS):
        actions = 0
        elapsed = 0.0
        while elapsed < seconds / ROUNDS:
            seeds = [board_seed(MATCH_SEED, played + index) for index in range(BATCH)]
            boards = [Board.from_seed(game, seed) for seed in seeds]
            start = time.process_time()
            actions += sum(playout(game, board, choose) for board in boards)
            elapsed += time.process_time() - start
            played += BATCH
        best = max(best, actions / elapsed)
        plies += actions
    per_game = plies / played
    return {
        "actions_per_second": best,
        "games_per_second": best / per_game,
        "actions_per_game": per_game,
        "actions_per_loop": best / loop,
    }


def _loop_per_second() -> float:
    """Return how often a second this interpreter runs one line of integer arithmetic."""
    best = 0.0
    for _ in range(ROUNDS):
        value = 0
        start = time.process_time()
        for number in range(500_000):
            value = (value * 5 + number) & 0xFFFF
        best = max(best, 500_000 / (time.process_time() - start))
    return best


def main() -> None:
    """Print the table and the JSON."""
    report = run()
    print(f"{'ruleset':<18}{'face':<6}{'actions/s':>12}{'games/s':>10}{'plies':>8}{'of loop':>9}")
    for ruleset, faces in report["games"].items():
        for name, face in faces.items():
            print(
                f"{ruleset:<18}{name:<6}{face['actions_per_second']:>12,.0f}"
                f"{face['games_per_second']:>10,.0f}{face['actions_per_game']:>8.1f}"
                f"{face['actions_per_loop']:>9.4f}"
            )
    print(f"loop: {report['loop_per_second']:,.0f} lines/s")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
