"""Mark a bot's output with the turn during which it is printed.

A marker line precedes the first output of a turn, ``[game 3, ply 17]``, and later output outside of
any turn, ``[between turns]``. A turn without output has no marker. So `arena match log` shows each
text beside its turn, however many games are open at once and however much output was left out.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = re.compile(
    r"^\[(?:game (\d{1,6}), ply (\d{1,6})|between turns|(\.\.\. \d+ bytes left out \.\.\.))\]\n",
    re.MULTILINE,
)

Turn = tuple[int, int]
"""Game and ply."""


class TurnMarkers:
    """Write a marker line before the output of each ``turn``, None between turns."""

    __slots__ = ("turn",)

    def __init__(self) -> None:
        self.turn: Turn | None = None

    def mark_output(self) -> None:
        """Mark stdout and stderr from now on, unless they are a terminal, used to debug."""
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.isatty():
                self.mark_stream(stream)

    def mark_stream(self, stream: TextIO) -> None:
        """Mark a stream from now on; patches the object, since loggers may hold a reference."""
        write = stream.write
        marked: Turn | None = None
        at_line_start = True

        def write_marked(text: str, /) -> int:
            nonlocal marked, at_line_start
            if self.turn != marked and text:
                marked = self.turn
                mark = "between turns" if marked is None else "game {}, ply {}".format(*marked)
                write(f"[{mark}]\n" if at_line_start else f"\n[{mark}]\n")
            if text:
                at_line_start = text.endswith("\n")
            return write(text)

        stream.write = write_marked  # type: ignore[method-assign]


def by_turn(text: str) -> Iterator[tuple[Turn | None, str]]:
    r"""Split a bot's output by turn, without the markers.

    After a gap in the output the turn is unknown until the next marker.

    >>> list(by_turn("hello\n[game 3, ply 17]\nhm\n[between turns]\nbye\n"))
    [(None, 'hello\n'), ((3, 17), 'hm\n'), (None, 'bye\n')]
    """
    turn: Turn | None = None
    start = 0
    for mark in _MARK.finditer(text):
        if mark.start() > start:
            yield turn, text[start : mark.start()]
        turn = (int(mark[1]), int(mark[2])) if mark[1] else None
        start = mark.start() if mark[3] else mark.end()
    if start < len(text):
        yield turn, text[start:]
