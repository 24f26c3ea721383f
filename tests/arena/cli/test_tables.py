"""Tables fit their terminal: columns leave, names shorten, and no word is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from arena.cli import league, queue, tournament
from arena.cli.tables import Column, table
from tests.terminal import narrow, printed

if TYPE_CHECKING:
    import pytest

COLUMNS = (
    Column("rank", right=True),
    Column("bot", shortens=True),
    Column("owner", leaves=2),
    Column("ladders", leaves=1, wraps=True),
    Column("matches", leaves=3, right=True),
)
ROWS = (
    ("1", "a_bot_with_a_rather_long_name", "somebody", "quasenbo pese-katesh:floors=1", "12"),
    ("2", "short", "me", "quasenbo", "7"),
)


def test_a_wide_terminal_shows_everything() -> None:
    """One line for each row."""
    assert printed(table(COLUMNS, ROWS, title="all", width=120), 120) == [
        "all",
        "rank  bot                            owner     ladders                        matches",
        "   1  a_bot_with_a_rather_long_name  somebody  quasenbo pese-katesh:floors=1       12",
        "   2  short                          me        quasenbo                             7",
    ]


def test_cells_of_words_go_on_in_the_next_line_first() -> None:
    """Nothing is left out as long as words may move."""
    assert printed(table(COLUMNS, ROWS, width=76), 76) == [
        "rank  bot                            owner     ladders               matches",
        "   1  a_bot_with_a_rather_long_name  somebody  quasenbo                   12",
        "                                               pese-katesh:floors=1",
        "   2  short                          me        quasenbo                    7",
    ]


def test_columns_leave_by_their_number() -> None:
    """The highest first."""
    headings = [printed(table(COLUMNS, ROWS, width=width), width)[0] for width in (75, 66, 45, 30)]
    assert [heading.split() for heading in headings] == [
        ["rank", "bot", "owner", "ladders"],
        ["rank", "bot", "ladders"],
        ["rank", "bot"],
        ["rank", "bot"],
    ]


def test_a_name_is_shortened_last() -> None:
    """Once no column is left that may go."""
    assert printed(table(COLUMNS, ROWS, width=24), 24) == [
        "rank  bot",
        "   1  a_bot_with_a_rath…",
        "   2  short",
    ]


def test_lines_of_a_cell_stay_lines() -> None:
    """A cell may hold a line for each of its parts."""
    columns = (Column("match"), Column("games", leaves=1), Column("entrants"))
    row = ("ladder-1", "2", "random@1 50% +1.2\nfirst_legal@1 50% -1.2")
    assert printed(table(columns, [row], width=33), 33) == [
        "match     entrants",
        "ladder-1  random@1 50% +1.2",
        "          first_legal@1 50% -1.2",
    ]


WORDS = st.text("abcdefgh-", min_size=1, max_size=24)


@given(
    rows=st.lists(
        st.tuples(WORDS, WORDS, WORDS, st.lists(WORDS, max_size=4).map(" ".join), WORDS), max_size=5
    ),
    width=st.integers(20, 120),
)
def test_whatever_the_cells_lines_fit_and_words_stay_whole(
    rows: list[tuple[str, ...]], width: int
) -> None:
    """What is shown is a word of a cell, or the beginning of one with an ellipsis."""
    lines = printed(table(COLUMNS, rows, width=width), width)
    assert all(len(line) <= width for line in lines)
    known = {word for row in rows for cell in row for word in cell.split()}
    for word in (word for line in lines[1:] for word in line.split()):
        assert word in known or any(each.startswith(word.removesuffix("…")) for each in known)
        assert word in known or word.endswith("…")


def test_the_queue_is_readable_on_sixty_cells() -> None:
    """The ladder's name, what waits, what plays and what died stay."""
    row = ("quasenbo-magnus:excuse=yes", "12", "0", "0", "2", "1", "123456", "3600.5 s")
    lines = printed(table(queue.COLUMNS, [row], width=60), 60)
    assert lines[0].split() == ["ladder", "ready", "leased", "dead", "done"]
    assert lines[1].split() == ["quasenbo-magnus:excuse=yes", "12", "2", "1", "123456"]


def test_tournaments_are_readable_on_sixty_cells() -> None:
    """Name, format and state stay, whatever the ruleset's name."""
    created = "2026-11-30T05:46:19.123456+00:00"
    row = ("t-the-great-cup", "quasenbo:double=yes,players=3", "single_elimination", "running")
    lines = printed(table(tournament.COLUMNS, [(*row, "16", created)], width=60), 60)
    assert lines[0].split() == ["name", "format", "state"]
    assert lines[1].split() == ["t-the-great-cup", "single_elimination", "running"]


def test_a_league_leaves_out_its_oldest_seasons_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last season stays, and the bots stand in its order."""
    narrow(monkeypatch, 30)
    places = [(season, 1, 3 - at, f"bot{at}@1") for season in range(1, 9) for at in (1, 2)]
    lines = printed(league.history_table(places), 30)
    assert lines == [
        "bot   season 7  season 8",
        "bot2       1.1       1.1",
        "bot1       1.2       1.2",
    ]
