"""Test a bot with turns and whole games in one process, without a referee.

>>> class FirstBot(Bot):
...     def act(self, turn):
...         return turn.legal_actions[0]
>>> played = play_game("quasenbo", [FirstBot(), FirstBot()], seed=1)
>>> sorted(played.outcome.places)
[1, 2]
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from referee import wire
from referee.clock import TimeControl
from referee.errors import InputError
from referee.games import Board, State, parse_ruleset
from referee.sdk.bot import Bot, GameEnd, GameStart, Turn, Welcome
from referee.v1 import referee_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from referee.outcome import Outcome, Termination

CONTROL = TimeControl(bank=timedelta(seconds=5), increment=timedelta(milliseconds=50))
"""Sent to bots; no clock runs here."""


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """Hold a game that was played to its end.

    Attributes:
        outcome: points and places by seat.
        termination: why it ended.
        actions: every action in order, forced ones included.
        state: the last state.
    """

    outcome: Outcome
    termination: Termination
    actions: tuple[str, ...]
    state: State


def make_turn(
    state: State, *, game: int = 0, seed: bytes = bytes(32), seen: int = 0, time_left: float = 5.0
) -> Turn:
    """Return the turn of the seat to act, as the referee would send it.

    Args:
        state: a state that is not over.
        game: the game's number.
        seed: of `Turn.rng`.
        seen: how many events the seat has been sent before.
        time_left: seconds left in the bank.

    Raises:
        InputError: the game is over.
    """
    seat = state.seat_to_act
    if seat is None:
        raise InputError("the game is over: nobody is to act")
    message = pb.Turn()
    wire.fill_turn(
        message,
        game=game,
        ply=state.ply,
        time_left=time_left,
        legal_actions=state.legal_actions(),
        events=state.events_since(seen),
        observation=state.observe(seat),
    )
    start = GameStart(game=game, seat=seat, seed=seed)
    return Turn(message, start, _welcome(state))


def play_game(
    ruleset: str, bots: Sequence[Bot], *, seed: int = 0, asks_forced: bool = False
) -> PlayedGame:
    """Play one game in this process; exceptions of a bot propagate, and no clock runs.

    Args:
        ruleset: for example ``quasenbo:double=yes``.
        bots: one for each seat.
        seed: of the cards and of the bots' random numbers.
        asks_forced: whether bots are asked turns with one legal action, too.

    Raises:
        InvalidRulesetError: there is no such ruleset.
        InputError: the number of bots is not the number of seats.
        InvalidActionError: a bot answered what is no action.
        IllegalActionError: a bot answered what is not legal.
    """
    rules = parse_ruleset(ruleset)
    if len(bots) != rules.seats:
        raise InputError(f"{rules.ruleset} has {rules.seats} seats, not {len(bots)}")
    state = rules.start(Board.from_seed(rules, _seed("board", seed)))
    starts = [
        GameStart(game=0, seat=seat, seed=_seed(f"bot {seat}", seed)) for seat in range(len(bots))
    ]
    for bot, start in zip(bots, starts, strict=True):
        bot.prepare(_welcome(state))
        bot.game_started(start)
    actions, state = _play_on(state, bots, starts, asks_forced=asks_forced)
    outcome, termination = state.outcome(), state.termination
    assert outcome is not None
    assert termination is not None
    for bot, start in zip(bots, starts, strict=True):
        bot.game_over(
            GameEnd(game=0, seat=start.seat, outcome=outcome, termination=termination, forfeits=())
        )
    return PlayedGame(outcome=outcome, termination=termination, actions=tuple(actions), state=state)


def _play_on(
    state: State, bots: Sequence[Bot], starts: Sequence[GameStart], *, asks_forced: bool
) -> tuple[list[str], State]:
    seen = [0] * len(bots)
    actions = []
    while (seat := state.seat_to_act) is not None:
        action = state.legal_actions()[0]
        if asks_forced or len(state.legal_actions()) > 1:
            action = bots[seat].act(make_turn(state, seed=starts[seat].seed, seen=seen[seat]))
            seen[seat] = state.event_count
        actions.append(action)
        state = state.apply(action)
    return actions, state


def _welcome(state: State) -> Welcome:
    return Welcome(
        ruleset=state.game.ruleset, seats=state.game.seats, time_control=CONTROL, parallel_games=1
    )


def _seed(use: str, number: int) -> bytes:
    return hashlib.sha256(f"{use}/{number}".encode()).digest()
