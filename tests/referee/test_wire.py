"""Convert between domain values and messages, and back."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import wire
from referee.clock import TimeControl
from referee.games import Board, State, parse_ruleset
from referee.games.replay import ReplayGame
from referee.outcome import Forfeit, ForfeitReason, Outcome, Termination
from referee.v1 import referee_pb2 as pb

RULESETS = ["quasenbo", "quasenbo:players=4", "quasenbo-magnus", "pese-katesh"]
SEEDS = st.binary(min_size=32, max_size=32)


def advanced(state: State, plies: int, choose: int) -> State:
    """Play some legal actions; stops before the end."""
    for ply in range(plies):
        legal = state.legal_actions()
        after = state.apply(legal[(choose + ply) % len(legal)])
        if after.seat_to_act is None:
            break
        state = after
    return state


@pytest.mark.parametrize("ruleset", RULESETS)
@given(seed=SEEDS, plies=st.integers(0, 40), choose=st.integers(0, 10))
def test_an_observation_survives_the_round_trip(
    ruleset: str, seed: bytes, plies: int, choose: int
) -> None:
    """A bot sees exactly what the rules say that its seat may see."""
    game = parse_ruleset(ruleset)
    state = advanced(game.start(Board.from_seed(game, seed)), plies, choose)
    seat = state.seat_to_act
    assert seat is not None
    turn = pb.Turn()
    wire.fill_turn(
        turn,
        game=3,
        ply=state.ply,
        time_left=1.25,
        legal_actions=state.legal_actions(),
        events=state.events,
        observation=state.observe(seat),
    )
    read = pb.Turn.FromString(turn.SerializeToString())
    assert wire.observation_from_pb(read) == state.observe(seat)
    assert tuple(read.legal_actions) == state.legal_actions()
    assert tuple(read.events) == state.events
    assert (read.game, read.ply, read.time_left_us) == (3, state.ply, 1_250_000)


def test_an_unknown_observation_says_so() -> None:
    """An SDK that is older than the game does not play on with nothing."""
    with pytest.raises(ValueError, match="no observation that this version of the SDK knows"):
        wire.observation_from_pb(pb.Turn())


@given(bank=st.integers(0, 10**12), increment=st.integers(0, 10**9))
def test_a_time_control_survives_the_round_trip(bank: int, increment: int) -> None:
    """To the microsecond; the margin is the referee's own affair."""
    control = TimeControl(
        bank=timedelta(microseconds=bank),
        increment=timedelta(microseconds=increment),
        margin=timedelta(seconds=7),
    )
    read = wire.time_control_from_pb(wire.time_control_to_pb(control))
    assert (read.bank, read.increment) == (control.bank, control.increment)


@given(
    termination=st.sampled_from(Termination),
    points=st.lists(st.integers(-1000, 1000), min_size=2, max_size=6),
    reasons=st.lists(st.sampled_from(ForfeitReason), max_size=6),
)
def test_the_end_of_a_game_survives_the_round_trip(
    termination: Termination, points: list[int], reasons: list[ForfeitReason]
) -> None:
    """Outcome, termination and forfeits arrive; the sentences stay their author's own."""
    outcome = Outcome(points=tuple(points), places=tuple(range(1, len(points) + 1)))
    forfeits = tuple(
        Forfeit(seat=seat, reason=reason, detail="secret", ply=9)
        for seat, reason in enumerate(reasons)
    )
    game = ReplayGame(
        board=5,
        table=0,
        seats=(0, 1),
        actions=(),
        times=(),
        forfeits=forfeits,
        termination=termination,
        outcome=outcome,
    )
    message = pb.GameOver()
    wire.fill_game_over(message, game)
    assert message.game == 5
    assert wire.outcome_from_pb(message) == outcome
    assert wire.termination_from_pb(message) is termination
    read = wire.forfeits_from_pb(message)
    assert [(f.seat, f.reason) for f in read] == [(f.seat, f.reason) for f in forfeits]
    assert b"secret" not in message.SerializeToString()


@pytest.mark.parametrize(
    ("domain", "enum", "prefix"),
    [
        (ForfeitReason, pb.ForfeitReason, "FORFEIT_REASON_"),
        (Termination, pb.Termination, "TERMINATION_"),
    ],
)
def test_every_value_of_an_enum_is_on_the_wire(domain: Any, enum: Any, prefix: str) -> None:
    """And the wire has no other, but UNSPECIFIED."""
    names = {f"{prefix}{member.name}" for member in domain} | {f"{prefix}UNSPECIFIED"}
    assert names == set(enum.keys())
