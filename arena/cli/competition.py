"""What the commands of tournaments and of leagues share: forecasts, waiting, printing."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import typer

from arena.cli.bracket import KNOCK_OUTS, bracket
from arena.cli.competition_documents import competition_document
from arena.cli.console import EXIT_FAILED, out, print_json, progress_console
from arena.cli.standings import cross_table, footnotes, standings_table
from arena.cli.tables import show
from arena.competitions import entry as competition_entry
from arena.competitions.forecast import Forecast, Measurements, forecast, measure
from arena.competitions.records import (
    TOURNAMENT,
    CompetitionRecord,
    CompetitionRules,
    CompetitionState,
    Round,
    planned_id,
)
from arena.competitions.report import StandingsReport, reports
from arena.competitions.results import CompetitionResult
from arena.competitions.store import CompetitionStore
from arena.context import Arena
from arena.db.presence import Presence
from arena.errors import InputError
from arena.formats.model import Competition
from referee.games import parse_ruleset

LATEST = 500
"""Results of the ladder that a forecast is based on."""

_OVER = {CompetitionState.ENDED, CompetitionState.CANCELLED}


async def forecast_of(
    arena: Arena, ruleset: str, competitions: Sequence[Competition], *, slots: int | None = None
) -> tuple[Forecast, Measurements]:
    """Return what competitions will take here, and what that is based on."""
    results = await arena.queues.ladder(ruleset).latest(LATEST)
    measured = measure(results)
    there = await Presence(arena.redis).slots() if slots is None else slots
    rotations = parse_ruleset(ruleset).rotations
    found = await asyncio.to_thread(
        forecast, competitions, rotations=rotations, slots=there, measured=measured
    )
    return found, measured


def print_forecast(found: Forecast, measured: Measurements) -> None:
    """Print what a competition will take."""
    least, most = found.matches
    matches = str(least) if least == most else f"{least} to {most}"
    out.print(f"{matches} matches in {found.rounds} rounds, about {found.games} games")
    if found.elapsed is not None:
        minutes = found.elapsed / timedelta(minutes=1)
        out.print(
            f"about {minutes:.1f} minutes on the present workers, if they play nothing else "
            f"(from {measured.matches} matches in the log)"
        )
    elif measured.seconds is None:
        out.print("how long: unknown, this ladder has no results yet")
    else:
        out.print("how long: unknown, no worker is alive; name --slots")
    if found.error is None:
        out.print("error bars: none for most entrants, too few independent boards")
    else:
        lead = "" if found.resolved is None else f", a lead to ±{found.resolved:.0f}"
        out.print(f"error bars: a strength is known to about ±{found.error:.0f} Elo (95 %){lead}")


@dataclass(frozen=True, slots=True)
class Shown:
    """A competition as commands show it.

    Attributes:
        record: the competition.
        entries: who has entered, before the start.
        reports: the standings by division; [] before the start.
        results: by match.
        rounds: by key.
        dead: matches that were given up and wait for an operator, with the reason.
    """

    record: CompetitionRecord
    entries: Sequence[str]
    reports: Sequence[StandingsReport]
    results: Mapping[str, CompetitionResult]
    rounds: Mapping[str, Round]
    dead: Mapping[str, str]


async def look(arena: Arena, competition: str) -> Shown:
    """Return a competition as it stands."""
    store = CompetitionStore(arena.redis)
    record = await store.get(competition)
    results = await store.results(competition)
    found = await asyncio.to_thread(reports, record, results) if record.divisions else []
    rounds = await store.rounds(competition)
    dead = {
        each.spec.id: each.reason
        for each in await arena.queues.queue(record.rules.ruleset).dead()
        if each.spec.flow == record.flow
    }
    return Shown(record, await store.entries(competition), found, results, rounds, dead)


async def until_over(arena: Arena, competition: str, *, quiet: bool) -> None:
    """Wait for the end of a competition, and say now and then how far it is.

    Raises:
        InputError: it has not started.
    """
    store, told = CompetitionStore(arena.redis), -1
    while True:
        record = await store.get(competition)
        if record.state in _OVER:
            return
        if not record.divisions:
            raise InputError(f"{record.name} has not started; `arena tournament start` does it")
        played = await store.played(competition)
        if not quiet and played >= told + 10:
            told = played
            progress_console.print(f"{record.name}: {played} matches played", markup=False)
        await asyncio.sleep(0.3)


def tell(shown: Shown, *, json: bool, cross: bool = False) -> None:
    """Print a competition; exit with 1 when it was cancelled."""
    record = shown.record
    if json:
        document = competition_document(record, shown.reports, shown.rounds, shown.results)
        print_json({**document, "entries": list(shown.entries), "dead": dict(shown.dead)})
    else:
        _print(shown, cross=cross)
    if record.state is CompetitionState.CANCELLED:
        raise typer.Exit(EXIT_FAILED)


def _print(shown: Shown, *, cross: bool) -> None:
    record = shown.record
    out.print(
        f"{record.name}: {record.rules.format.replace('_', ' ')} of {record.rules.ruleset}, "
        f"{record.state}",
        markup=False,
    )
    if not record.divisions:
        out.print(f"entered: {', '.join(shown.entries) or 'nobody yet'}", markup=False)
    for report in shown.reports:
        title = f"{report.competition}: {report.played} of {len(report.matches)} known matches"
        show(standings_table(report, title=title))
        if cross:
            show(cross_table(report))
        if record.rules.format in KNOCK_OUTS:
            for line in bracket(report, shown.results):
                out.print(line, markup=False)
        for note in footnotes(report):
            out.print(note, markup=False)
    for note in _notes(shown):
        out.print(note, markup=False)


def _notes(shown: Shown) -> list[str]:
    """Return what did not go as planned, a line each."""
    record = shown.record
    return [
        *(
            f"{match} was given up ({reason}); `arena queue retry {match}`"
            for match, reason in shown.dead.items()
        ),
        *(
            f"{match} was annulled; {record.playing(planned_id(match))} takes its place"
            for match, spent in record.spent.items()
            if spent.annulled
        ),
        *(f"{version} left: {reason}" for version, reason in record.gone.items()),
        *([record.note] if record.note else []),
    ]


async def create_tournament(  # noqa: PLR0913 -- all that a tournament begins with
    arena: Arena,
    name: str,
    rules: CompetitionRules,
    entries: Sequence[str],
    *,
    seed: str = "",
    registration: bool = False,
) -> None:
    """Create a tournament and enter bots; see `arena.competitions.entry.create`."""
    await competition_entry.create(
        arena,
        competition_id(name),
        rules,
        entries,
        seed=_seed(seed),
        is_open=registration,
    )


async def create_started(
    arena: Arena, name: str, rules: CompetitionRules, entries: Sequence[str], *, seed: str = ""
) -> None:
    """Create a tournament that has started, or none at all, and say who is left out."""
    _, frozen = await competition_entry.create_started(
        arena, competition_id(name), rules, entries, seed=_seed(seed)
    )
    _tell_left_out(frozen)


async def start_tournament(arena: Arena, name: str) -> CompetitionRecord:
    """Start a tournament, and say who is left out."""
    record, frozen = await competition_entry.start(arena, competition_id(name))
    _tell_left_out(frozen)
    return record


def _seed(text: str) -> bytes | None:
    return hashlib.sha256(text.encode()).digest() if text else None


def _tell_left_out(frozen: competition_entry.Frozen) -> None:
    for entry, why in frozen.left_out.items():
        progress_console.print(f"left out {entry}: {why}", markup=False)


def competition_id(name: str) -> str:
    """Return the id of a tournament."""
    return f"{TOURNAMENT}-{name}"
