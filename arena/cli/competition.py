"""What the commands of tournaments and of leagues share: reading, waiting, printing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import typer

from arena.cli.bracket import KNOCK_OUTS, bracket
from arena.cli.console import EXIT_FAILED, out, print_json, progress_console
from arena.cli.remote import calling, pages, until_answered, word
from arena.cli.standings import cross_table, footnotes, standings_csv, standings_table
from arena.cli.tables import show
from arena.client import Client
from arena.documents import document
from arena.errors import InputError
from arena.v1 import competitions_pb2

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
    """A competition as commands show it.

    Attributes:
        answer: the competition, its standings and rounds.
        matches: those that are known.
        meetings: the cross-table.
    """

    answer: competitions_pb2.GetCompetitionResponse
    matches: list[competitions_pb2.CompetitionMatch] = field(default_factory=list)
    meetings: list[competitions_pb2.Meeting] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return the view as JSON, a `CompetitionDocument`."""
        return {
            **document(self.answer),
            "matches": [document(each) for each in self.matches],
            "meetings": [document(each) for each in self.meetings],
        }


def state_word(state: int) -> str:
    """Return the name of a competition's state."""
    return word(competitions_pb2.CompetitionState, state)


def name_of(competition: str) -> str:
    """Return what a competition or a league is called."""
    return competition.partition("-")[2]


def look(client: Client, competition: str) -> CompetitionView:
    """Return a competition as it stands."""
    stub = client.competitions
    answer = get(client, competition)
    matches = competitions_pb2.ListCompetitionMatchesRequest(competition=competition)
    meetings = competitions_pb2.ListMeetingsRequest(competition=competition)
    return CompetitionView(
        answer,
        [m for page in pages(client, stub.ListCompetitionMatches, matches) for m in page.matches],
        [m for page in pages(client, stub.ListMeetings, meetings) for m in page.meetings],
    )


def get(client: Client, competition: str) -> competitions_pb2.GetCompetitionResponse:
    """Return a competition with its standings."""
    request = competitions_pb2.GetCompetitionRequest(competition=competition)
    return client.ask(client.competitions.GetCompetition, request)


def until_over(client: Client, competition: str, *, quiet: bool) -> None:
    """Wait for the end of a competition, and say now and then how far it is.

    Raises:
        InputError: it has not started.
    """
    told = -1
    while True:
        answer = until_answered(lambda: get(client, competition))
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
            progress_console.print(f"{name_of(competition)}: {played} matches played", markup=False)
        time.sleep(_LOOK)


def tell_left_out(left_out: Mapping[str, str]) -> None:
    """Say which entries do not play, and why."""
    for entry, why in left_out.items():
        progress_console.print(f"left out {entry}: {why}", markup=False)


def tell(view: CompetitionView, *, json: bool, cross: bool = False, csv: bool = False) -> None:
    """Print a competition; exit with 1 when it was cancelled."""
    if csv:
        out.out(standings_csv(view.answer.standings), end="")
        return
    if json:
        print_json(view.document())
    else:
        _print(view, cross=cross)
    if view.answer.competition.state == competitions_pb2.COMPETITION_STATE_CANCELLED:
        raise typer.Exit(EXIT_FAILED)


def _print(view: CompetitionView, *, cross: bool) -> None:
    found = view.answer.competition
    form = word(competitions_pb2.CompetitionFormat, found.rules.format).replace("_", " ")
    out.print(
        f"{name_of(found.id)}: {form} of {found.rules.ruleset}, {state_word(found.state)}",
        markup=False,
    )
    if found.state in _NOT_STARTED:
        out.print(f"entered: {', '.join(view.answer.entries) or 'nobody yet'}", markup=False)
    for standings in view.answer.standings:
        counts = f"{standings.played_count} of {standings.match_count} known matches"
        show(standings_table(standings, title=f"{standings.id}: {counts}"))
        if cross:
            show(cross_table(standings, view.meetings))
        if found.rules.format in KNOCK_OUTS:
            for line in bracket(standings.id, view.matches):
                out.print(line, markup=False)
        for note in footnotes(standings):
            out.print(note, markup=False)
    for note in _notes(view):
        out.print(note, markup=False)


def _notes(view: CompetitionView) -> list[str]:
    """Return what did not go as planned, a line each."""
    rows = [row for standings in view.answer.standings for row in standings.rows]
    return [
        *(
            f"{each.match} was given up ({each.reason}); `arena queue retry {each.match}`"
            for each in view.answer.dead_matches
        ),
        *(
            f"{annulled} was annulled; {match.id} takes its place"
            for match in view.matches
            for annulled in match.annulled
        ),
        *(f"{row.version} left: {row.leave_reason}" for row in rows if row.leave_reason),
        *([view.answer.competition.note] if view.answer.competition.note else []),
    ]


def enter(competition: str, bot: str, *, server: str | None, json: bool) -> None:
    """Enter a bot into a tournament or a league."""
    with calling(server) as client:
        request = competitions_pb2.EnterCompetitionRequest(competition=competition, entry=bot)
        answer = client.ask(client.competitions.EnterCompetition, request)
    if json:
        print_json(document(answer))
    else:
        verb = "enters" if answer.is_new else "had entered"
        out.print(f"{bot} {verb} {name_of(competition)}", markup=False)


def take_out(competition: str, bot: str, *, server: str | None, json: bool) -> None:
    """Take a bot out of a tournament or a league."""
    with calling(server) as client:
        request = competitions_pb2.LeaveCompetitionRequest(competition=competition, entry=bot)
        answer = client.ask(client.competitions.LeaveCompetition, request)
    if json:
        print_json(document(answer))
    else:
        out.print(f"{bot} leaves {name_of(competition)}", markup=False)


def change(competition: str, verb: str, *, server: str | None, json: bool) -> None:
    """Pause, resume or cancel a tournament, a season or a league."""
    with calling(server) as client:
        request = getattr(competitions_pb2, f"{verb}CompetitionRequest")(competition=competition)
        answer = client.ask(getattr(client.competitions, f"{verb}Competition"), request)
    if json:
        print_json(document(answer))
    else:
        out.print(f"{name_of(competition)} is {state_word(answer.state)}", markup=False)
