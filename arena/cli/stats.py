"""``arena stats``: compute Elo, error bars and sequential tests from counts or a file."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from arena.cli.console import Json, print_json
from arena.cli.options import group
from arena.cli.play import elo_text
from arena.cli.tables import Column, show, table
from arena.errors import InputError
from arena.matches.report import finite
from arena.ratings.bradley_terry import VIRTUAL_DRAW, Fit, ScoredSet, fit
from arena.ratings.sprt import (
    Estimate,
    GameCounts,
    PairCounts,
    SetCounts,
    SprtVerdict,
    bounds,
    estimate,
    llr,
    verdict,
)

Count = Annotated[int, typer.Argument(min=0)]
Sprt = Annotated[
    tuple[float, float] | None,
    typer.Option(help="Test a lead of ELO1 against one of ELO0.", metavar="ELO0 ELO1"),
]
Chance = Annotated[float, typer.Option(help="Chance of the error that the test may make.")]

_COLUMNS = (
    Column("entrant", shortens=True),
    Column("Elo", right=True),
    Column("sets", right=True, leaves=3),
    Column("stronger than the next", leaves=2),
    Column("", leaves=1),
)
_VERDICTS = {
    SprtVerdict.ELO0: "stop: the lead is not ELO1",
    SprtVerdict.ELO1: "stop: the lead is ELO1 or more",
    SprtVerdict.CONTINUE: "undecided: play on",
}


def pairs(  # noqa: PLR0913, PLR0917 -- six counts and a command's options
    ll: Count, ld: Count, wl: Count, dd: Count, wd: Count, ww: Count, *,
    sprt: Sprt = None, alpha: Chance = 0.05, beta: Chance = 0.05, json: Json = False,
) -> None:  # fmt: skip
    """Compare two bots by pairs of games.

    Takes the counts of LL, LD, WL, DD, WD and WW.
    """
    counts = PairCounts(ll=ll, ld=ld, wl=wl, dd=dd, wd=wd, ww=ww)
    _compare(counts, sprt=sprt, alpha=alpha, beta=beta, json=json)


def games(  # noqa: PLR0913 -- three counts and a command's options
    wins: Count, losses: Count, draws: Count, *,
    sprt: Sprt = None, alpha: Chance = 0.05, beta: Chance = 0.05, json: Json = False,
) -> None:  # fmt: skip
    """Compare two bots by single games: wins, losses and draws."""
    counts = GameCounts(wins=wins, losses=losses, draws=draws)
    _compare(counts, sprt=sprt, alpha=alpha, beta=beta, json=json)


def ratings(
    file: Annotated[Path, typer.Argument(help="CSV with the columns a,b,score[,set].")],
    *,
    virtual_draws: Annotated[
        float,
        typer.Option(
            min=0, help="Draws against an average entrant that each strength starts with."
        ),
    ] = 1.0,
    small_sample: Annotated[
        bool, typer.Option(help="Widen the errors by G / (G - 1), G independent sets.")
    ] = True,
    json: Json = False,
) -> None:
    """Estimate the strengths of many entrants at once (Bradley-Terry).

    Each row is the score of a against b, 0 to 1. Rows of one set (one board in all its rotations)
    count as one observation; without the column every row is a set of its own.
    """
    names, sets = _read_results(file)
    found = fit(
        sets,
        entrants=len(names),
        ridge=virtual_draws * VIRTUAL_DRAW,
        small_sample=small_sample,
    )
    order = sorted(range(len(names)), key=lambda i: -float(found.elo[i]))
    if json:
        print_json({"entrants": [_entrant(names[i], found, i) for i in order]})
    else:
        _show_ratings(names, found, order)


def test_document(
    counts: GameCounts | PairCounts | SetCounts,
    leads: tuple[float, float],
    *,
    alpha: float,
    beta: float,
) -> dict[str, Any]:
    """Return a sequential test of two leads, ELO0 and ELO1, as JSON."""
    ratio = llr(counts, elo0=leads[0], elo1=leads[1])
    lower, upper = bounds(alpha=alpha, beta=beta)
    decided = verdict(ratio, alpha=alpha, beta=beta)
    return {
        "llr": ratio, "elo0": leads[0], "elo1": leads[1],
        "lower": lower, "upper": upper, "verdict": str(decided),
    }  # fmt: skip


def _compare(
    counts: PairCounts | GameCounts,
    *,
    sprt: tuple[float, float] | None,
    alpha: float,
    beta: float,
    json: bool,
) -> None:
    found = estimate(counts)
    test = {} if sprt is None else test_document(counts, sprt, alpha=alpha, beta=beta)
    if json:
        print_json(
            {
                "observations": found.observations,
                "score": found.mean,
                "elo": finite(found.elo),
                "elo_error": found.elo_error,
                "nelo": found.nelo,
                "nelo_error": found.nelo_error,
                "los": found.los,
                "note": found.note,
                **test,
            }
        )
        return
    show(*_lines(found))
    if test:
        decided = SprtVerdict(test["verdict"])
        limits = "({lower:.2f}, {upper:.2f}) [{elo0:g}, {elo1:g}]".format(**test)
        show(f"LLR     {test['llr']:.2f} {limits}", f"        {_VERDICTS[decided]}")
        if decided is not SprtVerdict.CONTINUE:
            show("        an Elo measured at such a stop is biased away from zero")


def _lines(found: Estimate) -> Iterator[str]:
    yield f"score   {found.mean:.2%} of {found.observations}"
    yield f"Elo     {elo_text(found.elo, found.elo_error)}"
    if found.nelo is not None:
        yield f"nElo    {elo_text(found.nelo, found.nelo_error)}"
    if found.los is not None:
        yield f"LOS     {found.los:.2%}"
    if found.note:
        yield f"        {found.note}"


def _read_results(file: Path) -> tuple[list[str], list[ScoredSet]]:
    """Read a CSV file of scores: the names in the order of appearance, and the sets.

    Raises:
        InputError: says in which line it cannot be read, and what is expected.
    """
    numbers: dict[str, int] = {}
    scores: dict[str, dict[tuple[int, int], list[float]]] = defaultdict(lambda: defaultdict(list))
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines)
            if not {"a", "b", "score"} <= set(rows.fieldnames or ()):
                raise InputError(f"{file}: the first line must read a,b,score or a,b,score,set")
            for row in rows:
                a, b, score = _read_row(file, rows.line_num, row)
                pair = numbers.setdefault(a, len(numbers)), numbers.setdefault(b, len(numbers))
                if pair[0] > pair[1]:
                    pair, score = (pair[1], pair[0]), 1 - score
                scores[row.get("set") or f"line {rows.line_num}"][pair].append(score)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    if not scores:
        raise InputError(f"{file} holds no results")
    sets = [
        ScoredSet(name, tuple((i, j, fmean(values)) for (i, j), values in pairs.items()))
        for name, pairs in scores.items()
    ]
    return list(numbers), sets


def _read_row(file: Path, line: int, row: dict[str, str]) -> tuple[str, str, float]:
    a, b = (row["a"] or "").strip(), (row["b"] or "").strip()
    try:
        score = float(row["score"])
    except (TypeError, ValueError):
        score = -1.0
    if not a or not b or a == b or not 0 <= score <= 1:
        raise InputError(f"{file}, line {line}: give two different names and a score from 0 to 1")
    return a, b, score


def _entrant(name: str, found: Fit, i: int) -> dict[str, Any]:
    return {
        "name": name,
        "elo": float(found.elo[i]),
        "elo_error": found.error(i),
        "sets": found.clusters[i],
        "note": found.notes[i],
    }


def _show_ratings(names: list[str], found: Fit, order: list[int]) -> None:
    rows = []
    for place, i in enumerate(order):
        chance = found.cfs(i, order[place + 1]) if place + 1 < len(order) else None
        row = (
            names[i],
            elo_text(float(found.elo[i]), found.error(i)),
            str(found.clusters[i]),
            "" if chance is None else f"{chance:.1%}",
            found.notes[i],
        )
        rows.append(row)
    note = "Elo above the average entrant, with 95 % errors; never add two of them."
    show(table(_COLUMNS, rows), note)


stats = group("Compute statistics from counts or from a file.", pairs, games, ratings)
