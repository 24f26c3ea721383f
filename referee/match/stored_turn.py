"""Rebuild a turn of a stored game as its seat saw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from referee.clock import SeatClock, TimeControl
from referee.errors import InputError
from referee.games.replay import states
from referee.match.boards import bot_seed

if TYPE_CHECKING:
    from referee.games import State
    from referee.games.replay import Replay, ReplayGame, TurnTimes
    from referee.outcome import Forfeit


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """Hold a turn of a game in a replay.

    Attributes:
        game: the game.
        ply: how many actions had been applied.
        state: the state before the turn.
        seat: the seat to act.
        events: the public events since the seat's turn before.
        time_left: seconds in the seat's bank, as far as the replay holds its times.
        seed: the bot's seed of the game.
        action: the action taken; None where the game ended by a forfeit.
        times: None where no bot was asked, or none answered.
        forfeit: of this seat's entrant, at this ply or an earlier one.
    """

    game: ReplayGame
    ply: int
    state: State
    seat: int
    events: tuple[str, ...]
    time_left: float
    seed: bytes
    action: str | None
    times: TurnTimes | None
    forfeit: Forfeit | None

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The legal actions of the turn."""
        return self.state.legal_actions()

    @property
    def played_by_referee(self) -> bool:
        """Whether the referee did the action: it was the only one, or the seat had forfeited."""
        return self.action is not None and self.times is None


def turns_until(replay: Replay, *, game: int, ply: int) -> list[StoredTurn]:
    """Return a turn of a replay, last, after the turns that its seat was asked before it.

    Args:
        replay: holds the game.
        game: the game's index in the replay, from 0.
        ply: how many actions had been applied before the turn.

    Raises:
        InputError: there is no such game or ply; the message says which there are.
        InvalidReplayError: an action is not legal.
    """
    if not 0 <= game < len(replay.games):
        raise InputError(f"the replay holds the games 0 to {len(replay.games) - 1}, not {game}")
    played = replay.games[game]
    reached = states(replay, played)
    # A game that a forfeit ended waits for an answer that never came; that turn can be asked, too.
    last = len(reached) - 1 if reached[-1].seat_to_act is not None else len(reached) - 2
    if not 0 <= ply <= last:
        raise InputError(f"game {game} has the plies 0 to {last}, not {ply}")
    seat = reached[ply].seat_to_act
    assert seat is not None
    found = []
    clock, seen = SeatClock(TimeControl.parse(replay.time_control)), 0
    for each, state in enumerate(reached[: ply + 1]):
        times = played.times[each] if each < len(played.times) else None
        if each != ply and (times is None or times.seat != seat):
            continue
        found.append(
            StoredTurn(
                game=played,
                ply=each,
                state=state,
                seat=seat,
                events=state.events_since(seen),
                time_left=clock.bank,
                seed=bot_seed(replay.seed, board=played.board, seat=seat),
                action=played.actions[each] if each < len(played.actions) else None,
                times=times,
                forfeit=_forfeit(played, seat=seat, ply=each),
            )
        )
        seen = state.event_count
        if times is not None:
            clock.charge(times.charged / 1e6)
    return found


def _forfeit(game: ReplayGame, *, seat: int, ply: int) -> Forfeit | None:
    own = (f for f in game.forfeits if game.seats[f.seat] == game.seats[seat] and f.ply <= ply)
    return next(own, None)
