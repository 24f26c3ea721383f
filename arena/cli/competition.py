"""Reads, awaits and prints tournaments and league seasons."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from arena.cli import tables
from arena.cli.bracket import KNOCK_OUTS, bracket
from arena.cli.console import EXIT_FAILED, out, print_json, progress_console
from arena.cli.remote import Remote, until_answered, word
from arena.cli.standings import cross_table, footnotes, standings_csv, standings_table
from arena.documents import document
from arena.errors import InputError
from arena.v1 import competitions_pb2

if TYPE_CHECKING:
    from rich.console import RenderableType

Ruleset = Annotated[str, typer.Argument(help="For example quasenbo; see `arena games`.")]
TimeControl = Annotated[str | None, typer.Option("--time", help="BANK+INCREMENT in seconds.")]

OVER: Final = {
    competitions_pb2.COMPETITION_STATE_ENDED,
    competitions_pb2.COMPETITION_STATE_CANCELLED,
}
"""States of a competition that will not change any more."""

_NOT_STARTED: Final = {
    competitions_pb2.COMPETITION_STATE_DRAFT,
    competitions_pb2.COMPETITION_STATE_OPEN,
}
_LOOK: Final = 0.5
"""Seconds between two looks at a competition whose end is waited for."""


@dataclass(frozen=True, slots=True)
class CompetitionView:
    """A competition with its standings and rounds, its known matches, and its cross-table."""

    answer: competitions_pb2.GetCompetitionResponse
    matches: Sequence[competitions_pb2.CompetitionMatch]
    meetings: Sequence[competitions_pb2.Meeting]

    def document(self) -> dict[str, Any]:
        """Return the view as JSON, a `CompetitionDocument`."""
        return {
            **document(self.answer),
            "matches": [document(each) for each in self.matches],
            "meetings": [document(each) for each in self.meetings],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions:
    """What is shown of a competition, and when."""

    cross: Annotated[bool, typer.Option("--cross", help="Add who did how against whom.")] = False
    csv: Annotated[bool, typer.Option("--csv", help="Print the standings as CSV.")] = False
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end before.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateOptions:
    """Who plays in a new tournament or league, how fast, and what it counts."""

    bots: Annotated[
        list[str] | None,
        typer.Option("--bot", help="Enters; give it once for each, seeds in order."),
    ] = None
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Every active bot of the ladder enters.")
    ] = False
    time: TimeControl = None
    rated: Annotated[
        bool, typer.Option("--rated", help="Its matches change the ladder's ratings.")
    ] = False
    weight: Annotated[
        int, typer.Option(min=1, max=10**6, help="Its share beside the ladder, which has 1.")
    ] = 1
    seed: Annotated[str, typer.Option(help="Text that all boards follow from; secret.")] = ""


def state_word(state: int) -> str:
    """Return the name of a competition's state."""
    return word(competitions_pb2.CompetitionState, state)


def name_of(competition: str) -> str:
    """Return what a competition or a league is called."""
    return competition.partition("-")[2]


def look(arena: Remote, competition: str) -> CompetitionView:
    """Return a competition as it stands."""
    stub = arena.competitions
    matches = competitions_pb2.ListCompetitionMatchesRequest(competition=competition)
    meetings = competitions_pb2.ListMeetingsRequest(competition=competition)
    request = competitions_pb2.GetCompetitionRequest(competition=competition)
    return CompetitionView(
        arena.ask(stub.GetCompetition, request),
        arena.ask_all(stub.ListCompetitionMatches, matches).matches,
        arena.ask_all(stub.ListMeetings, meetings).meetings,
    )


def until_over(arena: Remote, competition: str, *, quiet: bool) -> None:
    """Wait for the end of a competition, and print its progress.

    Raises:
        InputError: it has not started.
    """
    request = competitions_pb2.GetCompetitionRequest(competition=competition)
    told = -1
    while True:
        answer = until_answered(lambda: arena.ask(arena.competitions.GetCompetition, request))
        state = answer.competition.state
        if state in OVER:
            return
        if state in _NOT_STARTED:
            raise InputError(
                f"{name_of(competition)} has not started; `arena tournament start` does it"
            )
        played = sum(each.played_count for each in answer.standings)
        if not quiet and played >= told + 10:
            told = played
            progress_console.print(f"{name_of(competition)}: {played} matches played")
        time.sleep(_LOOK)


def tell_left_out(left_out: Mapping[str, str]) -> None:
    """Print which entries do not play, and why."""
    for entry, why in left_out.items():
        progress_console.print(f"left out {entry}: {why}")


def show(
    arena: Remote, competition: str, options: ShowOptions | None = None, *, wait: bool = False
) -> None:
    """Print a competition, after its end if wanted; exit with 1 when it was cancelled."""
    chosen = options or ShowOptions()
    if wait or chosen.wait:
        until_over(arena, competition, quiet=arena.json or chosen.csv)
    view = look(arena, competition)
    if chosen.csv:
        out.out(standings_csv(view.answer.standings), end="")
    else:
        tell(view, json=arena.json, cross=chosen.cross)


def tell(view: CompetitionView, *, json: bool, cross: bool) -> None:
    """Print a competition; exit with 1 when it was cancelled."""
    if json:
        print_json(view.document())
    else:
        tables.show(*_report(view, cross=cross))
    if view.answer.competition.state == competitions_pb2.COMPETITION_STATE_CANCELLED:
        raise typer.Exit(EXIT_FAILED)


def _report(view: CompetitionView, *, cross: bool) -> Iterator[RenderableType]:
    found = view.answer.competition
    form = word(competitions_pb2.CompetitionFormat, found.rules.format).replace("_", " ")
    yield f"{name_of(found.id)}: {form} of {found.rules.ruleset}, {state_word(found.state)}"
    if found.state in _NOT_STARTED:
        yield f"entered: {', '.join(view.answer.entries) or 'nobody yet'}"
    for standings in view.answer.standings:
        counts = f"{standings.played_count} of {standings.match_count} known matches"
        yield standings_table(standings, title=f"{standings.id}: {counts}")
        if cross:
            yield cross_table(standings, view.meetings)
        if found.rules.format in KNOCK_OUTS:
            yield from bracket(standings.id, view.matches)
        yield from footnotes(standings)
    yield from _notes(view)


def _notes(view: CompetitionView) -> Iterator[str]:
    """Yield what did not go as planned, a line each."""
    for each in view.answer.dead_matches:
        yield f"{each.match} was given up ({each.reason}); `arena queue retry {each.match}`"
    for match in view.matches:
        for annulled in match.annulled:
            yield f"{annulled} was annulled; {match.id} takes its place"
    for row in (row for standings in view.answer.standings for row in standings.rows):
        if row.leave_reason:
            yield f"{row.version} left: {row.leave_reason}"
    if view.answer.competition.note:
        yield view.answer.competition.note


def enter(arena: Remote, competition: str, bot: str) -> None:
    """Enter a bot into a tournament or a league."""
    request = competitions_pb2.EnterCompetitionRequest(competition=competition, entry=bot)
    answer = arena.ask(arena.competitions.EnterCompetition, request)
    verb = "enters" if answer.is_new else "had entered"
    arena.tell(answer, f"{bot} {verb} {name_of(competition)}")


def take_out(arena: Remote, competition: str, bot: str) -> None:
    """Take a bot out of a tournament or a league."""
    request = competitions_pb2.LeaveCompetitionRequest(competition=competition, entry=bot)
    answer = arena.ask(arena.competitions.LeaveCompetition, request)
    arena.tell(answer, f"{bot} leaves {name_of(competition)}")


def change(arena: Remote, competition: str, verb: str) -> None:
    """Pause, resume or cancel a tournament, a season or a league."""
    request = getattr(competitions_pb2, f"{verb}CompetitionRequest")(competition=competition)
    answer = arena.ask(getattr(arena.competitions, f"{verb}Competition"), request)
    arena.tell(answer, f"{name_of(competition)} is {state_word(answer.state)}")
