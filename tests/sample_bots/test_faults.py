"""Each fault of a bot, played against an honest one through real processes."""

import ast
import gc
import shutil
import threading
import time
from pathlib import Path
from typing import Self

import psutil
import pytest

from referee.match.runner import MatchResult
from referee.outcome import ForfeitReason
from referee.sandbox.process import GRACE
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
    "flood-stderr": [],
    "ignore-sigterm": [],
    "grandchild": [],
}


BANK, NO_SHOW, STALL, GOODBYE = 1.0, 3.0, 0.3, 0.3
"""Limits that a fault runs into, seconds."""

LATE = 2.0
"""Seconds for which the bot that is late sleeps."""

SPENT = {
    "late": LATE,
    "hang": BANK + STALL,
    "freeze": BANK + STALL,
    "deaf": BANK + STALL,
    "no-hello": NO_SHOW,
    "no-ready": NO_SHOW,
    "ignore-sigterm": GOODBYE,
}
"""By fault, how much of the limits it makes a match wait; others wait for nothing."""

SLACK = 40.0
"""Seconds for all else: starts and ends of processes, on a machine with more to do."""

GROWTH = 64 << 20
"""Bytes by which no fault may make the referee's process grow."""


async def play_fault(fault: str, folder: Path) -> MatchResult:
    """Play a short match of a faulty bot against an honest one, both in copies below a folder.

    It waits for the whole of each limit that its fault runs into and not much longer, and the
    referee's own process, this one, stays about as large as it was.
    """
    honest = Path(shutil.copytree(SAMPLE_BOTS / "first_legal", folder / "honest"))
    begun = time.monotonic()
    with PeakMemory() as memory:
        result = await play(
            "quasenbo",
            make_faulty(folder, fault),
            honest,
            boards=BOARDS,
            rotations=1,
            control=f"{BANK:g}+0.05",
            parallel_games=PARALLEL,
            # A start takes longest when other tests burn both cores.
            start_limit=NO_SHOW if fault.startswith("no-") else 30.0,
            stall=20.0 if fault == "late" else STALL,
            goodbye=GOODBYE if fault == "ignore-sigterm" else 10.0,
        )
    assert SPENT.get(fault, 0.0) < time.monotonic() - begun
    assert time.monotonic() - begun < SPENT.get(fault, 0.0) + GRACE + SLACK
    assert memory.growth < GROWTH
    return result


class PeakMemory:
    """Watches this process's memory while a block runs.

    Attributes:
        growth: bytes by which it was larger at its largest than at the beginning.
    """

    def __init__(self) -> None:
        self.growth = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        gc.collect()
        self._process = psutil.Process()
        self._before = self._process.memory_info().rss
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            self._look()

    def _look(self) -> None:
        self.growth = max(self.growth, self._process.memory_info().rss - self._before)


def test_the_watch_sees_memory_that_is_given_back() -> None:
    """What was large and is small again is told; what was before does not count."""
    kept = b"x" * (2 * GROWTH)
    with PeakMemory() as small:
        time.sleep(0.05)
    with PeakMemory() as large:
        passing = b"y" * (2 * GROWTH)
        time.sleep(0.05)
        del passing
    assert len(kept) == 2 * GROWTH
    assert small.growth < GROWTH < large.growth


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
    tested = {fault.replace("-", "") for fault in [*REASONS, "crash", "flood-stdout"]}
    assert classes - {"honest"} == tested


async def test_what_a_bot_floods_is_kept_in_part(tmp_path: Path) -> None:
    """The head and the tail of a flood are kept, and how much is missing is told."""
    result = await play_fault("flood-stdout", tmp_path)
    (faulty,) = (record for record in result.processes if record.entrant == FAULTY)
    assert "bytes left out" in faulty.stdout
    assert len(faulty.stdout) < 200_000
    assert forfeits(result) == []
    assert len(result.replay.games) == BOARDS
    assert_unharmed(result)
    assert await processes_left(tmp_path) == []
