"""Lays out tables to fit the terminal: the least columns are left out before a word is cut."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from arena.cli.console import out

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import RenderableType

_GAP: Final = 2
"""Cells between two columns."""

_SHORTEST: Final = 12
"""Cells that are left of a column which is shortened."""

_UNBOUNDED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        leaves: 0 for a column that stays; the highest number is left out first.
        right: whether it holds numbers.
        wraps: whether its cells may be broken between two words.
        shortens: whether its cells may end in an ellipsis, when leaving columns out is not enough.
    """

    heading: str
    leaves: int = 0
    right: bool = False
    wraps: bool = False
    shortens: bool = False


def room() -> int:
    """Return the width of the terminal; unbounded where a program reads the output."""
    return out.width if _has_width() else _UNBOUNDED


def _has_width() -> bool:
    return out.is_terminal or "COLUMNS" in os.environ


def table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    *,
    title: str = "",
    width: int | None = None,
) -> RenderableType:
    """Return a table that fits a width in cells where that can be, that of `room` without one.

    A row has a text for each column, which may have several lines.
    """
    cells = [list(row) for row in rows]
    limit = room() if width is None else width
    texts = [[column.heading, *(row[i] for row in cells)] for i, column in enumerate(columns)]
    least = [
        max(map(cell_len, _parts(found, wraps=column.wraps)))
        for found, column in zip(texts, columns, strict=True)
    ]
    shown = _staying(columns, least, limit)
    widths = _widths(columns, texts, least, shown=shown, limit=limit)
    made = Table(box=None, pad_edge=False)
    for i in shown:
        column = columns[i]
        made.add_column(
            Text(column.heading),
            justify="right" if column.right else "left",
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
            width=widths[i],
        )
    for row in cells:
        made.add_row(*(Text(row[i]) for i in shown))
    return Group(Text(title, overflow="ellipsis", no_wrap=True), made) if title else made


def show(*told: RenderableType) -> None:
    """Print lines and tables on stdout."""
    wide = out if _has_width() else Console(highlight=False, width=_UNBOUNDED)
    for each in told:
        (out if isinstance(each, str) else wide).print(each)


def _parts(texts: Iterable[str], *, wraps: bool) -> list[str]:
    """Return the words or lines that must not be broken."""
    return [part for text in texts for part in text.split(None if wraps else "\n")] or [""]


def _total(widths: Iterable[int]) -> int:
    found = list(widths)
    return sum(found) + _GAP * (len(found) - 1)


def _staying(columns: Sequence[Column], least: list[int], limit: int) -> list[int]:
    """Return the columns that are not left out."""
    shown = list(range(len(columns)))
    leaving = sorted(
        (i for i in shown if columns[i].leaves), key=lambda i: columns[i].leaves, reverse=True
    )
    for i in leaving:
        if _total(least[j] for j in shown) <= limit:
            break
        shown.remove(i)
    return shown


def _widths(
    columns: Sequence[Column],
    texts: list[list[str]],
    least: list[int],
    *,
    shown: list[int],
    limit: int,
) -> dict[int, int]:
    """Return the width of each column: shortened where it must be, wrapped no more than need be."""
    widths = {i: least[i] for i in shown}
    excess = _total(widths.values()) - limit
    for i in sorted(shown, key=lambda i: widths[i], reverse=True):
        if columns[i].shortens and excess > 0:
            cut = min(excess, max(0, widths[i] - _SHORTEST))
            widths[i] -= cut
            excess -= cut
    for i in shown:
        if columns[i].wraps:
            whole = max(map(cell_len, _parts(texts[i], wraps=False)))
            more = max(0, min(whole - widths[i], limit - _total(widths.values())))
            widths[i] += more
    return widths
