"""Convert between the values of rules and clock and the messages of the protocol."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from referee.clock import TimeControl
from referee.games.pese_katesh import PeseKateshObservation
from referee.games.quasenbo import QuasenboObservation
from referee.outcome import Forfeit, ForfeitReason, Outcome, Termination
from referee.v1 import referee_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable

    from referee.games import Game
    from referee.games.replay import ReplayGame

PROTOCOL = (1, 0)
"""Major and minor version of the protocol spoken here."""

Observation = QuasenboObservation | PeseKateshObservation
"""All that one seat may see, in any game."""

_MICROSECOND = timedelta(microseconds=1)
_TERMINATION_TO_PB = {
    Termination.FINISHED: pb.TERMINATION_FINISHED,
    Termination.PLAY_CAP: pb.TERMINATION_PLAY_CAP,
    Termination.FORFEIT: pb.TERMINATION_FORFEIT,
}
_TERMINATION_FROM_PB = {value: key for key, value in _TERMINATION_TO_PB.items()}
_REASON_TO_PB = {
    reason: pb.ForfeitReason.Value(f"FORFEIT_REASON_{reason.name}") for reason in ForfeitReason
}
_REASON_FROM_PB = {value: key for key, value in _REASON_TO_PB.items()}


def protocol_to_pb() -> pb.ProtocolVersion:
    """Return the protocol version spoken here."""
    return pb.ProtocolVersion(major=PROTOCOL[0], minor=PROTOCOL[1])


def time_control_to_pb(control: TimeControl) -> pb.TimeControl:
    """Return a time control as a message, without the margin, which bots do not see."""
    return pb.TimeControl(
        bank_us=control.bank // _MICROSECOND, increment_us=control.increment // _MICROSECOND
    )


def welcome(game: Game, control: TimeControl, *, parallel_games: int) -> pb.Welcome:
    """Return the answer to Hello; ``parallel_games`` is the most games open at once."""
    return pb.Welcome(
        protocol=protocol_to_pb(),
        ruleset=game.ruleset,
        seats=game.seats,
        time_control=time_control_to_pb(control),
        parallel_games=parallel_games,
    )


def time_control_from_pb(message: pb.TimeControl) -> TimeControl:
    """Return the bank and increment that a message holds."""
    return TimeControl(
        bank=timedelta(microseconds=message.bank_us),
        increment=timedelta(microseconds=message.increment_us),
    )


def fill_turn(  # noqa: PLR0913 -- the fields of one message, on the hot path
    turn: pb.Turn,
    *,
    game: int,
    ply: int,
    time_left: float,
    legal_actions: Iterable[str],
    events: Iterable[str],
    observation: Observation,
) -> None:
    """Write a turn's fields into an empty message; ``time_left`` is in seconds."""
    turn.game = game
    turn.ply = ply
    turn.time_left_us = int(time_left * 1e6)
    turn.legal_actions.extend(legal_actions)
    turn.events.extend(events)
    if isinstance(observation, QuasenboObservation):
        target = turn.quasenbo
        target.hand.extend(observation.hand)
        target.pile.extend(observation.pile)
        target.hand_sizes.extend(observation.hand_sizes)
        target.deck_size = observation.deck_size
        target.decree = observation.decree
    else:
        _fill_pese_katesh(turn.pese_katesh, observation)


def _fill_pese_katesh(target: pb.PeseKateshObservation, observation: PeseKateshObservation) -> None:
    target.hand.extend(observation.hand)
    target.trick.extend(observation.trick)
    target.leader = observation.leader
    target.deal_kind = observation.deal_kind
    target.deal = observation.deal
    target.deals = observation.deals
    target.tricks_taken.extend(observation.tricks_taken)
    target.scores.extend(observation.scores)
    target.deal_scores.extend(observation.deal_scores)
    target.played.extend(observation.played)
    target.leaders.extend(observation.leaders)


def observation_from_pb(turn: pb.Turn) -> Observation:
    """Return the typed observation of a turn.

    Raises:
        ValueError: the turn holds an observation that this version does not know.
    """
    kind = turn.WhichOneof("observation")
    if kind == "quasenbo":
        seen = turn.quasenbo
        return QuasenboObservation(
            hand=tuple(seen.hand),
            pile=tuple(seen.pile),
            hand_sizes=tuple(seen.hand_sizes),
            deck_size=seen.deck_size,
            decree=seen.decree,
        )
    if kind == "pese_katesh":
        view = turn.pese_katesh
        return PeseKateshObservation(
            hand=tuple(view.hand),
            trick=tuple(view.trick),
            leader=view.leader,
            deal_kind=view.deal_kind,
            deal=view.deal,
            deals=view.deals,
            tricks_taken=tuple(view.tricks_taken),
            scores=tuple(view.scores),
            deal_scores=tuple(view.deal_scores),
            played=tuple(view.played),
            leaders=tuple(view.leaders),
        )
    raise ValueError("the turn holds no observation that this version of the SDK knows")


def fill_game_over(message: pb.GameOver, game: ReplayGame) -> None:
    """Write the end of a game into a message, without the details of forfeits."""
    message.game = game.board
    message.termination = _TERMINATION_TO_PB[game.termination]
    message.points.extend(game.outcome.points)
    message.places.extend(game.outcome.places)
    for forfeit in game.forfeits:
        message.forfeits.add(seat=forfeit.seat, reason=_REASON_TO_PB[forfeit.reason])


def outcome_from_pb(message: pb.GameOver) -> Outcome:
    """Return the points and places that a message holds."""
    return Outcome(points=tuple(message.points), places=tuple(message.places))


def termination_from_pb(message: pb.GameOver) -> Termination:
    """Return why a game ended."""
    return _TERMINATION_FROM_PB[message.termination]


def forfeits_from_pb(message: pb.GameOver) -> tuple[Forfeit, ...]:
    """Return the forfeits of a game; their plies are not sent (-1)."""
    return tuple(
        Forfeit(
            seat=forfeit.seat,
            reason=_REASON_FROM_PB[forfeit.reason],
            detail=forfeit.detail,
            ply=-1,
        )
        for forfeit in message.forfeits
    )
