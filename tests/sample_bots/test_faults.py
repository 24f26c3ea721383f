"""Each fault of a bot, played against an honest one through real processes."""

import ast
import shutil
from pathlib import Path

import pytest

from referee.match.runner import MatchResult
from referee.outcome import ForfeitReason
from tests.sample_bots.playing import SAMPLE_BOTS, forfeits, make_faulty, play, processes_left

R = ForfeitReason
FAULTY, HONEST = 0, 1
BOARDS = 6
PARALLEL = 3

# By fault: the reason of the first forfeit of each game, in the order of the games' ends; games
# that are not told end by the rules. A time-out costs one game, the stall after it the others.
REASONS = {
    "illegal": [R.ILLEGAL_ACTION] * BOARDS,
    "garbage": [R.INVALID_MESSAGE] * BOARDS,
    "empty": [R.INVALID_MESSAGE] * BOARDS,
    "disorder": [R.INVALID_MESSAGE] * BOARDS,
    "twice": [R.INVALID_MESSAGE] * BOARDS,
    "hello-again": [R.INVALID_MESSAGE] * BOARDS,
    "new-protocol": [R.INVALID_MESSAGE] * BOARDS,
    "huge": [R.INVALID_MESSAGE] * BOARDS,
    # gRPC ends the stream before the referee sees such a message.
    "gigantic": [R.CRASH] * BOARDS,
    "late": [R.TIMEOUT],
    "hang": [R.TIMEOUT, *[R.STALL] * (BOARDS - 1)],
    "freeze": [R.TIMEOUT, *[R.STALL] * (BOARDS - 1)],
    "deaf": [R.TIMEOUT, *[R.STALL] * (BOARDS - 1)],
    "crash-at-start": [R.CRASH] * BOARDS,
    "hang-up": [R.CRASH] * BOARDS,
    "no-hello": [R.NO_SHOW] * BOARDS,
    "no-ready": [R.NO_SHOW] * BOARDS,
    "resign": [R.RESIGN] * BOARDS,
    "flood-stdout": [],
    "flood-stderr": [],
    "ignore-sigterm": [],
    "grandchild": [],
}


async def play_fault(fault: str, folder: Path) -> MatchResult:
    """Play a short match of a faulty bot against an honest one, both in copies below a folder."""
    honest = Path(shutil.copytree(SAMPLE_BOTS / "first_legal", folder / "honest"))
    return await play(
        "quasenbo",
        make_faulty(folder, fault),
        honest,
        boards=BOARDS,
        rotations=1,
        control="1+0.05",
        parallel_games=PARALLEL,
        # A start takes longest when other tests burn both cores.
        start_limit=3.0 if fault.startswith("no-") else 30.0,
        stall=20.0 if fault == "late" else 0.3,
        goodbye=0.3 if fault == "ignore-sigterm" else 10.0,
    )


def assert_unharmed(result: MatchResult) -> None:
    """Assert that the honest bot won what the other forfeited, and went home in peace."""
    for game in result.replay.games:
        forfeiters = {game.seats[forfeit.seat] for forfeit in game.forfeits}
        assert forfeiters <= {FAULTY}
        if forfeiters:
            assert game.outcome.places[game.seats.index(HONEST)] == 1
            assert game.outcome.places[game.seats.index(FAULTY)] == 2
    (honest,) = (record for record in result.processes if record.entrant == HONEST)
    assert (honest.report.code, honest.report.stopped, honest.stderr) == (0, False, "")


@pytest.mark.parametrize("fault", REASONS)
async def test_a_fault_costs_its_bot_alone(fault: str, tmp_path: Path) -> None:
    """A faulty bot forfeits for the right reason; its opponent wins, and no process is left."""
    result = await play_fault(fault, tmp_path)
    assert sorted(f.reason for f in forfeits(result)) == sorted(REASONS[fault])
    assert len(result.replay.games) == BOARDS
    assert_unharmed(result)
    assert await processes_left(tmp_path) == []


async def test_a_crash_costs_the_games_that_are_not_over(tmp_path: Path) -> None:
    """A bot that dies in the middle keeps what it had finished, and the signal is told."""
    result = await play_fault("crash", tmp_path)
    lost = forfeits(result)
    assert {forfeit.reason for forfeit in lost} == {R.CRASH}
    assert len(lost) >= PARALLEL
    assert "SIGSEGV" in lost[0].detail
    assert_unharmed(result)
    assert await processes_left(tmp_path) == []


def test_every_fault_is_tested() -> None:
    """No fault of the bot is left out here."""
    tree = ast.parse((SAMPLE_BOTS / "faulty" / "bot.py").read_text(encoding="utf-8"))
    classes = {node.name.lower() for node in tree.body if isinstance(node, ast.ClassDef)}
    tested = {fault.replace("-", "") for fault in [*REASONS, "crash"]}
    assert classes - {"honest"} == tested


async def test_what_a_bot_floods_is_kept_in_part(tmp_path: Path) -> None:
    """The head and the tail of a flood are kept, and how much is missing is told."""
    result = await play_fault("flood-stdout", tmp_path)
    (faulty,) = (record for record in result.processes if record.entrant == FAULTY)
    assert "bytes left out" in faulty.stdout
    assert len(faulty.stdout) < 200_000
