"""Standings: strengths with error bars that hold, and words where there are none."""

import csv
import io
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from arena.api.competition_messages import match_message, standings_message
from arena.backend.competitions import CompetitionMatch
from arena.cli.bracket import bracket
from arena.cli.standings import (
    CSV_COLUMNS,
    cross_table,
    csv_row,
    footnotes,
    standings_csv,
    standings_table,
)
from arena.competitions.forecast import Measurements, forecast
from arena.competitions.records import CompetitionRecord, CompetitionRules, CompetitionState
from arena.competitions.report import StandingsReport, report
from arena.competitions.results import CompetitionResult
from arena.formats import schedule
from arena.formats.model import Competition, Format, Options, PlannedMatch
from arena.queue.models import Forfeits, Luck, MatchSpec
from arena.v1.competitions_pb2 import Meeting
from arena.version_id import bot_of
from referee.outcome import ForfeitReason
from tests.arena.competitions.hall import outcome
from tests.terminal import narrow, printed

RECORD = CompetitionRecord(
    id="t-cup",
    state=CompetitionState.RUNNING,
    rules=CompetitionRules(
        ruleset="quasenbo",
        format=Format.ROUND_ROBIN,
        options=Options(table_size=2, boards=4),
        time_control="5",
    ),
    seed=bytes(32),
    created_time=datetime.now(UTC),
)
NAMES = ["ada", "bob", "cid", "dan", "eve", "fay", "gus", "hal"]


def competition(
    format_: Format = Format.ROUND_ROBIN, *, entrants: int = 8, **options: Any
) -> Competition:
    """Return a competition of the first so many names."""
    versions = tuple(f"{name}@1" for name in NAMES[:entrants])
    return Competition("t-cup", format_, versions, Options(**{"boards": 4, **options}))


def meetings(found: StandingsReport) -> list[Meeting]:
    """Return a cross-table as the API tells it."""
    return [
        Meeting(version=one, opponent=other, score=each.score, match_count=each.matches)
        for (one, other), each in found.meetings.items()
    ]


def play(
    competition: Competition, strengths: Mapping[str, float], *, seed: int = 0
) -> dict[str, CompetitionResult]:
    """Play a competition to its end, all matches of a round on the same boards."""
    results: dict[str, CompetitionResult] = {}
    while True:
        played = {match: result.match for match, result in results.items()}
        step = schedule.next_matches(competition, played)
        if step.finished:
            return results
        for match in step.matches:
            results[match.id] = result_of(match, strengths, seed=seed)


def result_of(
    match: PlannedMatch, strengths: Mapping[str, float], *, seed: int = 0
) -> CompetitionResult:
    """Return the result of a match."""
    spec = MatchSpec(
        id=match.id,
        ruleset="quasenbo",
        flow="t:cup",
        entrants=match.entrants,
        boards=match.boards,
        seed=random.Random(f"{seed} {match.round}").randbytes(32),
        time_control="5",
        rated=False,
        cost=match.boards * len(match.entrants),
    )
    found = outcome(spec, dict(strengths))
    return CompetitionResult(
        match_id=match.id,
        round=f"t-cup/{match.round}",
        entrants=match.entrants,
        pair_scores=found.pair_scores,
        sets=found.sets,
        games=sum(found.terminations.values()),
        luck=found.luck,
    )


EQUAL = dict.fromkeys(NAMES, 0.0)
GRADED = {name: -80.0 * number for number, name in enumerate(NAMES)}


def test_leads_are_covered_by_their_intervals() -> None:
    """The true lead of neighbours is within the 95 % interval about as often as that says."""
    cup, inside, asked = competition(cycles=2), 0, 0
    for seed in range(60):
        found = report(cup, play(cup, GRADED, seed=seed))
        rows = {bot_of(row.standing.entrant): row for row in found.rows}
        mean = sum(GRADED.values()) / len(GRADED)
        for name, row in rows.items():
            assert row.error is not None
            inside += abs(row.elo - (GRADED[name] - mean)) <= row.error
            asked += 1
    assert 0.91 <= inside / asked <= 0.985


@pytest.mark.parametrize("format_", [Format.ROUND_ROBIN, Format.SWISS, Format.DOUBLE_ELIMINATION])
def test_the_order_of_the_results_changes_nothing(format_: Format) -> None:
    """Whichever match was played first, every number of the standings is the same to the bit."""
    cup = competition(format_)
    results = play(cup, GRADED)
    matches = list(results)
    random.Random(1).shuffle(matches)
    assert report(cup, {match: results[match] for match in matches}) == report(cup, results)


def test_a_thin_set_of_results_says_so() -> None:
    """One round of few boards gives words instead of a number."""
    cup = competition(boards=1)
    results = play(cup, EQUAL)
    first = {match: result for match, result in results.items() if result.round == "t-cup/1"}
    found = report(cup, first)
    assert not found.finished
    for row in found.rows:
        assert row.error is None
        assert row.note.partition(":")[0] in {"thin", "separated", "unplayed"}
        assert row.stronger is None
    told = standings_message(found, RECORD)
    assert all(csv_row(told, row)["elo"] is None for row in told.rows)


def test_who_won_everything_has_no_upper_end() -> None:
    """A separated entrant is first, without a number that nothing supports."""
    cup = competition()
    found = report(cup, play(cup, {**EQUAL, "ada": 10**6}))
    assert found.rows[0].standing.entrant == "ada@1"
    assert found.rows[0].error is None
    assert found.rows[0].note.startswith("separated")
    assert found.rows[0].stronger is None
    assert all(row.error is not None for row in found.rows[1:])


def test_a_sure_lead_has_a_high_chance_of_being_real() -> None:
    """The chance to be really stronger follows the lead, and is one half between equals."""
    cup = competition(cycles=2)
    far = report(cup, play(cup, {**EQUAL, "ada": 300.0}))
    assert far.rows[0].stronger is not None
    assert far.rows[0].stronger > 0.99
    chances = [row.stronger for row in far.rows[1:-1]]
    assert all(chance is not None and chance < 0.999 for chance in chances)


def test_forfeits_walkovers_and_points_stand_beside() -> None:
    """Games forfeited count by reason; a match that was not played counts in points alone."""
    cup = competition(entrants=3)
    results = play(cup, EQUAL)
    matches = {match.id: match for match in schedule.plan(cup, {}).matches}
    first, second = list(results)[:2]
    results[first] = replace(
        results[first],
        forfeits=(Forfeits(0, ForfeitReason.TIMEOUT, 3), Forfeits(0, ForfeitReason.CRASH, 1)),
        points=(7, -7),
    )
    gone = matches[second].entrants[1]
    results[second] = CompetitionResult.walkover(matches[second], {gone}, within="t-cup")
    found = report(cup, results)
    rows = {row.standing.entrant: row for row in found.rows}
    faulty = rows[results[first].entrants[0]]
    assert faulty.forfeits == {ForfeitReason.TIMEOUT: 3, ForfeitReason.CRASH: 1}
    assert faulty.mean_points == 7 / 4
    assert rows[gone].walkovers == 1
    assert rows[gone].standing.played == 2
    assert rows[gone].games == 8
    told = standings_message(found, RECORD)
    (line,) = [row for row in told.rows if row.version == faulty.standing.entrant]
    assert csv_row(told, line)["timeouts"] == 3


def test_duplicate_boards_are_measured() -> None:
    """Where luck is the board's alone, both seatings cancel it; the first seat's edge is told."""
    cup = competition(entrants=4)
    results = {
        match: replace(
            result,
            # On every board whoever sits first wins: each set is split.
            luck=Luck(
                first_seat=16, first_seat_most=16, sets=4, rotations=2, total=8, squares=16,
                set_squares=17,
            ),
        )
        for match, result in play(cup, EQUAL).items()
    }  # fmt: skip
    found = report(cup, results)
    assert found.first_seat is not None
    assert found.first_seat.value == 1.0
    assert found.variance_reduction == pytest.approx((8 / 7) / 2 / ((1 / 3) / 4))
    assert any("100.0 %" in note for note in footnotes(standings_message(found, RECORD)))


def test_tables_and_csv_hold_every_entrant() -> None:
    """Standings as a table, as CSV and as a cross-table."""
    cup = competition()
    found = report(cup, play(cup, GRADED))
    told = standings_message(found, RECORD)
    rows = list(csv.DictReader(io.StringIO(standings_csv([told]))))
    assert [row["entrant"] for row in rows] == [row.standing.entrant for row in found.rows]
    assert tuple(rows[0]) == CSV_COLUMNS
    standings = printed(standings_table(told, title="cup"), width=120)
    assert (standings[0], len(standings)) == ("cup", 1 + 1 + 8)
    cross = printed(cross_table(told, meetings(found)), width=120)
    assert {len(row.split()) for row in cross[1:]} == {10}


def test_standings_fit_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who came where with how many points stays whole; a cross-table loses those who came last."""
    narrow(monkeypatch, 40)
    cup = competition()
    found = report(cup, play(cup, GRADED))
    told = standings_message(found, RECORD)
    standings = printed(standings_table(told, title="cup"), width=40)
    assert standings[1].split()[:3] == ["rank", "entrant", "points"]
    assert "time-outs" not in standings[1]
    assert max(map(len, standings)) <= 40
    assert "…" not in "".join(standings)
    cross = printed(cross_table(told, meetings(found)), width=40)
    assert cross[0].split()[:2] == ["against", "1"]
    assert max(map(len, cross)) <= 40


def test_a_bracket_leads_to_the_winner() -> None:
    """Every match stands beside those that its entrants came from; byes lead straight on."""
    cup = competition(Format.SINGLE_ELIMINATION, entrants=6)
    results = play(cup, {name: -(10.0**6) * at for at, name in enumerate(NAMES)})
    matches = [
        match_message(CompetitionMatch(RECORD, match, results[match.id]))
        for match in report(cup, results).matches
    ]
    lines = bracket("t-cup", matches)
    assert lines == [
        "ada@1 100% ────────────┐",
        "                       ├─ ada@1 100% ┐",
        "dan@1 100% ┐           │             │",
        "           ├─ dan@1 0% ┘             │",
        "eve@1 0% ──┘                         ├─ ada@1",
        "                                     │",
        "bob@1 100% ────────────┐             │",
        "                       ├─ bob@1 0% ──┘",
        "cid@1 100% ┐           │",
        "           ├─ cid@1 0% ┘",
        "fay@1 0% ──┘",
    ]


@pytest.mark.parametrize(
    ("format_", "matches"),
    [(Format.ROUND_ROBIN, 28), (Format.SWISS, 12), (Format.GAUNTLET, 7)],
)
def test_a_forecast_counts_what_the_plan_will_play(format_: Format, matches: int) -> None:
    """Matches and time follow from the format itself, and from how long a game took."""
    cup = competition(format_)
    found = forecast(
        [cup],
        rotations=2,
        slots=2,
        measured=Measurements(seconds=0.5, set_variance=None, matches=9),
    )
    assert found.matches == (matches, matches)
    assert found.games == matches * 8
    assert found.elapsed is not None
    assert found.elapsed.total_seconds() == matches * 8 * 0.5


def test_a_forecast_of_the_error_bar_comes_true() -> None:
    """It is about what the standings then say, and less when sets are less a matter of luck."""
    cup = competition(cycles=2)
    unmeasured = Measurements(seconds=None, set_variance=None, matches=0)
    expected = forecast([cup], rotations=2, slots=2, measured=unmeasured)
    assert expected.elapsed is None
    assert expected.error is not None
    rows = report(cup, play(cup, GRADED)).rows
    errors = sorted(row.error for row in rows if row.error is not None)
    assert expected.error == pytest.approx(errors[len(errors) // 2], rel=0.3)
    calm = replace(unmeasured, set_variance=0.01)
    less = forecast([cup], rotations=2, slots=2, measured=calm)
    assert less.error is not None
    assert less.error < expected.error / 2
