"""What a bot prints is marked with the turn during which it does."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from referee.sandbox.output import HEAD_BYTES, TAIL_BYTES, OutputRing
from referee.sdk.turn_markers import TurnMarkers, by_turn

if TYPE_CHECKING:
    import pytest


def test_only_turns_that_print_are_marked() -> None:
    """A mark is a line of its own, before the first text of its turn."""
    markers, stream = TurnMarkers(), io.StringIO()
    markers.mark_stream(stream)
    print("hello", file=stream)
    for ply in range(3):
        markers.turn = (5, ply)
        if ply != 1:
            print("think", ply, file=stream, end="")
            print(file=stream)
    markers.turn = None
    print("bye", file=stream)
    assert stream.getvalue() == (
        "hello\n[game 5, ply 0]\nthink 0\n[game 5, ply 2]\nthink 2\n[between turns]\nbye\n"
    )


def test_a_mark_ends_a_line_that_was_left_open() -> None:
    """What was printed before without a newline keeps its turn."""
    markers, stream = TurnMarkers(), io.StringIO()
    markers.mark_stream(stream)
    markers.turn = (0, 1)
    stream.write("open")
    markers.turn = (0, 2)
    stream.write("next")
    assert list(by_turn(stream.getvalue())) == [((0, 1), "open\n"), ((0, 2), "next")]


def test_a_logger_that_holds_the_stream_is_marked_too() -> None:
    """The stream stays the same object, whoever got hold of it before."""
    markers, stream = TurnMarkers(), io.StringIO()
    logger = logging.getLogger("a bot of a test")
    logger.propagate = False
    logger.addHandler(logging.StreamHandler(stream))
    markers.mark_stream(stream)
    markers.turn = (3, 17)
    logger.warning("hm")
    logger.handlers.clear()
    assert stream.getvalue() == "[game 3, ply 17]\nhm\n"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.text("ab\n", max_size=5))))
def test_marked_text_is_parted_again(prints: list[tuple[int, int, str]]) -> None:
    """Every text comes back under its turn, but for newlines that a mark needed."""
    markers, stream = TurnMarkers(), io.StringIO()
    markers.mark_stream(stream)
    expected: dict[tuple[int, int], str] = {}
    for game, ply, text in prints:
        markers.turn = (game, ply)
        stream.write(text)
        expected[game, ply] = expected.get((game, ply), "") + text.replace("\n", "")
    found: dict[tuple[int, int] | None, str] = {}
    for turn, text in by_turn(stream.getvalue()):
        found[turn] = found.get(turn, "") + text.replace("\n", "")
    assert {turn: text for turn, text in found.items() if text} == {
        turn: text for turn, text in expected.items() if text
    }


def test_behind_a_gap_nothing_is_guessed() -> None:
    """Where output was left out, the text belongs to no turn until the next mark."""
    ring = OutputRing()
    ring.add(b"[game 1, ply 0]\n" + b"x" * HEAD_BYTES)
    ring.add(b"y" * 1000 + b"\n[game 1, ply 2]\n" + b"z" * (TAIL_BYTES - 100) + b"\n")
    parts = dict(by_turn(ring.text()))
    assert set(parts[1, 0]) == {"x", "\n"}
    gap = parts[None]
    assert gap.startswith("[... ")
    assert "left out ...]\n" in gap
    assert gap.rstrip("\n").endswith("y")
    assert set(parts[1, 2]) == {"z", "\n"}


def test_a_terminal_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody debugs there, and needs no markers."""
    stdout, stderr = io.StringIO(), io.StringIO()
    monkeypatch.setattr(stdout, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", stdout)
    monkeypatch.setattr("sys.stderr", stderr)
    markers = TurnMarkers()
    markers.mark_output()
    markers.turn = (0, 0)
    stdout.write("a")
    stderr.write("b")
    assert stdout.getvalue() == "a"
    assert stderr.getvalue() == "[game 0, ply 0]\nb"
