"""How results are written into the log."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from arena.queue import log_binary, log_json
from arena.queue.log_entries import Annulled, Entered, LogEntry, LoggedResult
from arena.queue.models import Forfeits, LadderResult, MatchSpec
from referee.outcome import ForfeitReason, Termination
from tests.arena.queue.making import make_result, make_spec

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)


@st.composite
def _results(draw: st.DrawFn) -> tuple[MatchSpec, LadderResult]:
    entrants = draw(st.integers(2, 6))
    pairs = entrants * (entrants - 1) // 2
    games = draw(st.integers(1, 200))
    halves = st.integers(0, 2 * games).map(lambda half: round(half * 500_000 / games))
    scores = draw(st.lists(st.integers(0, 1_000_000) | halves, min_size=pairs, max_size=pairs))
    forfeits = st.builds(
        Forfeits,
        st.integers(0, entrants - 1),
        st.sampled_from(ForfeitReason),
        st.integers(1, 10**6),
    )
    result = make_result(
        *scores,
        entrants=entrants,
        terminations={draw(st.sampled_from(Termination)): games},
        forfeits=tuple(draw(st.lists(forfeits, max_size=4))),
        sets=tuple(draw(st.lists(st.integers(0, 35), max_size=40))),
        points=tuple(draw(st.lists(st.integers(-(10**6), 10**6), max_size=6))),
        played=timedelta(milliseconds=draw(st.integers(0, 10**9))),
    )
    versions = tuple(f"bot-{number}@{draw(st.integers(1, 999))}" for number in range(entrants))
    return make_spec("m1", *versions, rated=draw(st.booleans())), result


@given(_results(), st.integers(0, 999_999))
def test_a_result_survives_the_log_and_the_archive(
    played: tuple[MatchSpec, LadderResult], microseconds: int
) -> None:
    """What is written, bytes in the log or a line in the archive, reads back equal."""
    spec, result = played
    seconds = int(NOW.timestamp()).to_bytes(4, "big") + microseconds.to_bytes(3, "big")
    head = b"R" + result.digest[:8] + seconds + b"\x01\xff\xff\xff\xfe"
    record = head + log_binary.encode_body(spec, result)
    logged = log_binary.decode(7, record)
    assert isinstance(logged, LoggedResult)
    time = NOW + timedelta(microseconds=microseconds)
    assert (logged.sequence, logged.time, logged.changes) == (7, time, (-2,))
    assert (logged.match_id, logged.flow, logged.rated) == (spec.id, spec.flow, spec.rated)
    assert (logged.entrants, logged.pair_scores) == (spec.entrants, result.pair_scores)
    assert (logged.terminations, logged.forfeits) == (result.terminations, result.forfeits)
    assert (logged.sets, logged.points) == (result.sets, result.points)
    assert (logged.played, logged.digest) == (result.played, result.digest[:8])
    assert list(log_json.decode(log_json.encode([logged]))) == [logged]


def test_other_entries_survive_the_archive() -> None:
    """Entries and annulments are lines too."""
    entries: list[LogEntry] = [
        Entered(1, NOW, "ada"),
        Annulled(3, NOW, 2, "m1", "a reason\nwith a line break"),
    ]
    assert list(log_json.decode(log_json.encode(entries))) == entries


def test_a_common_result_is_small() -> None:
    """A ladder match of two bots over eight boards takes 83 bytes, with its sets."""
    spec = make_spec("ladder-000123", "greedy@3", "minimax@12")
    result = make_result(562_500, sets=(2, 3, 1, 4, 0, 2, 2, 4), points=(120, 94))
    assert 1 + 8 + 7 + 1 + 8 + len(log_binary.encode_body(spec, result)) <= 83
