"""Offline statistics on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from arena.cli import build
from arena.errors import InputError
from arena.ratings.bradley_terry import THIN_CLUSTERS

if TYPE_CHECKING:
    from pathlib import Path


def stats(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Run ``arena stats`` in this process and return its JSON."""
    build("stats")(["stats", *words, "--json"], standalone_mode=False)
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_pairs_reproduce_the_published_values(capsys: pytest.CaptureFixture[str]) -> None:
    """Source: the fastchess test suite."""
    found = stats(capsys, "pairs", "34", "54", "31", "32", "64", "75")
    assert (round(found["elo"], 2), round(found["elo_error"], 2)) == (55.58, 27.65)
    assert (round(found["nelo"], 2), round(found["nelo_error"], 2)) == (57.94, 28.28)
    words = ("223", "9863", "20279", "1000", "10037", "246", "--sprt", "0.5", "2.5")
    assert round(stats(capsys, "pairs", *words)["llr"], 2) == -3.07


def test_single_games_reproduce_the_published_values(capsys: pytest.CaptureFixture[str]) -> None:
    """Source: the fastchess test suite."""
    found = stats(capsys, "games", "136", "96", "111")
    assert (round(found["elo"], 2), round(found["elo_error"], 2)) == (40.70, 30.43)
    assert round(found["los"], 4) == 0.9960
    words = ("21404", "21184", "40708", "--sprt", "0.5", "2.5")
    found = stats(capsys, "games", *words)
    assert round(found["llr"], 2) == -1.57
    assert found["verdict"] == "continue"


def test_counts_that_are_all_wins_say_why_there_is_no_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """JSON has no infinity: the Elo is null, and the note says why."""
    found = stats(capsys, "games", "9", "0", "0")
    assert found["elo"] is None
    assert found["elo_error"] is None
    assert "no spread" in found["note"]


def write_results(path: Path, *rows: str) -> str:
    """Write a CSV file and return its name."""
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def test_ratings_read_a_file_of_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sixty to forty between two is 70.4365 Elo by plain maximum likelihood."""
    rows = ["A,B,1"] * 60 + ["B,A,1"] * 40
    file = write_results(tmp_path / "scores.csv", "a,b,score", *rows)
    words = (file, "--virtual-draws", "0", "--no-small-sample")
    first, second = stats(capsys, "ratings", *words)["entrants"]
    assert (first["name"], second["name"]) == ("A", "B")
    assert round(first["elo"] - second["elo"], 4) == 70.4365


def test_rows_of_one_set_are_one_observation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The column `set` tells which rows share their cards."""
    rows = [f"A,B,{score},{number}" for number in range(THIN_CLUSTERS) for score in (1, 0, 1)]
    file = write_results(tmp_path / "scores.csv", "a,b,score,set", *rows)
    assert stats(capsys, "ratings", file)["entrants"][0]["sets"] == THIN_CLUSTERS


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (("a,b", "A,B"), "first line must read"),
        (("a,b,score", "A,B,2"), "line 2"),
        (("a,b,score", "A,A,1"), "two different names"),
        (("a,b,score",), "holds no results"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(
    rows: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    """The sentence names the line and what belongs there."""
    file = write_results(tmp_path / "scores.csv", *rows)
    with pytest.raises(InputError, match=sentence):
        build("stats")(["stats", "ratings", file], standalone_mode=False)
