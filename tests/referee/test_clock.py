"""The clock's arithmetic."""

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.clock import (
    FREE_PER_TURN,
    SPLIT_LIMIT,
    SeatClock,
    TimeControl,
    split_span,
)
from referee.errors import InvalidTimeControlError
from tests.referee.scripted import control

SECONDS = st.floats(min_value=0, max_value=100)
CLAIMS = st.lists(st.floats(min_value=-1e12, max_value=1e12), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("text", "bank", "increment"),
    [("5+0.05", 5, 0.05), ("0.1", 0.1, 0), ("3600+60", 3600, 60), (" 10+1 ", 10, 1)],
)
def test_a_time_control_is_read_from_text(text: str, bank: float, increment: float) -> None:
    """Bank and increment are seconds; the increment may be left out."""
    read = TimeControl.parse(text)
    assert (read.bank, read.increment) == (timedelta(seconds=bank), timedelta(seconds=increment))


@pytest.mark.parametrize("text", ["5+0.05", "0.1+0", "3600+60", "10+1"])
def test_a_time_control_survives_the_round_trip(text: str) -> None:
    """What is written can be read, and is the same."""
    read = TimeControl.parse(text)
    assert TimeControl.parse(str(read)) == read


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fast", "write BANK+INCREMENT in seconds, for example 5+0.05"),
        ("-5", "write BANK+INCREMENT in seconds"),
        ("0.05", "the bank must be between 0.1 and 3600 seconds"),
        ("3601", "the bank must be between 0.1 and 3600 seconds"),
        ("9" * 400, "the bank must be between 0.1 and 3600 seconds"),
        ("5+" + "9" * 30, "the increment must be 0, or between 0.05 and 60 seconds"),
        ("5+0.01", "the increment must be 0, or between 0.05 and 60 seconds"),
        ("5+61", "the increment must be 0, or between 0.05 and 60 seconds"),
    ],
)
def test_an_impossible_time_control_says_what_is_possible(text: str, sentence: str) -> None:
    """The message carries the fix."""
    with pytest.raises(InvalidTimeControlError, match=r".+") as caught:
        TimeControl.parse(text)
    assert sentence in str(caught.value)


def test_a_turn_costs_what_exceeds_the_free_millisecond() -> None:
    """Bank 5 s, a turn of 1.001 s, increment 0.5 s: 4.5 s are left."""
    clock = SeatClock(control(bank=5, increment=0.5))
    assert clock.charge(1.001)
    assert clock.bank == pytest.approx(4.5)


def test_the_margin_is_forgiven_once_a_game() -> None:
    """Two turns that each exceed the bank by 40 ms: the margin of 50 ms covers only the first."""
    clock = SeatClock(control(bank=1, increment=0.5, margin=0.05))
    assert clock.charge(1.041)
    assert [clock.bank, clock.margin] == pytest.approx([0.5, 0.01])
    assert not clock.charge(0.541)


def test_a_fallen_flag_leaves_the_clock_as_it_was() -> None:
    """The sentence of the forfeit can still say what was left."""
    clock = SeatClock(control(bank=1))
    assert not clock.charge(2)
    assert clock.bank == 1


@given(bank=SECONDS, margin=SECONDS, share=st.floats(min_value=0, max_value=1))
def test_a_turn_within_the_allowance_never_fails(bank: float, margin: float, share: float) -> None:
    """Whatever was agreed, bank, margin and the free millisecond can be used up."""
    clock = SeatClock(control(bank=bank, margin=margin))
    assert clock.charge(clock.allowance * share * (1 - 1e-12))


@given(bank=SECONDS, margin=SECONDS, excess=st.floats(min_value=1e-6, max_value=1e6))
def test_a_turn_beyond_the_allowance_always_fails(
    bank: float, margin: float, excess: float
) -> None:
    """No more is forgiven than was agreed."""
    clock = SeatClock(control(bank=bank, margin=margin))
    assert not clock.charge(clock.allowance + excess)


@given(st.lists(st.floats(min_value=-1, max_value=2), max_size=50))
def test_bank_and_margin_are_never_negative(turns: list[float]) -> None:
    """A charge takes no more than there is, and time that runs backwards gives nothing."""
    clock = SeatClock(control(bank=2, increment=0.1, margin=0.5))
    for spent in turns:
        before = clock.bank
        in_time = clock.charge(spent)
        assert clock.bank >= 0
        assert clock.margin >= 0
        assert clock.bank <= before + 0.1 + 1e-9
        if spent <= FREE_PER_TURN:
            assert in_time
            assert clock.bank == pytest.approx(before + 0.1)


@given(span=st.floats(min_value=0, max_value=1), claims=CLAIMS)
def test_the_shares_sum_to_the_span(span: float, claims: list[float]) -> None:
    """However a bot lies about its own times, it is charged what the referee measured."""
    shares = split_span(span, claims)
    assert len(shares) == len(claims)
    assert all(share >= 0 for share in shares)
    assert math.fsum(shares) == pytest.approx(span, abs=1e-9)


def test_a_short_span_is_shared_by_the_bots_own_times() -> None:
    """Ten milliseconds for three answers, of which the second took most."""
    assert split_span(0.010, [0.001, 0.008, 0.001]) == pytest.approx([0.001, 0.008, 0.001])


def test_a_long_span_is_charged_to_the_oldest_answer() -> None:
    """A message leaves as soon as its first answer is ready: the others took next to nothing."""
    assert split_span(SPLIT_LIMIT * 2, [0.0, 5.0]) == [SPLIT_LIMIT * 2, 0.0]


def test_without_claims_the_oldest_answer_pays() -> None:
    """A bot that tells no times is charged all the same."""
    assert split_span(0.004, [0.0, 0.0]) == [0.004, 0.0]
