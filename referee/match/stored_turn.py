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
        state: what stood on the table.
        seat: the seat that was to act.
        events: the public events since the bot in that seat was asked last.
        time_left: seconds in the seat's bank; what it had when the replay holds no time of it.
        seed: the seed that the bot in that seat was given for the game.
        action: what was done; None where the game ended by a forfeit.
        times: when it was asked; None where no bot was asked, or none answered.
        forfeit: the forfeit of this seat's entrant, at this ply or an earlier one.
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
        """What could be answered."""
        return self.state.legal_actions()

    @property
    def played_by_referee(self) -> bool:
        """Whether the referee did the action: it was the only one, or the seat had forfeited."""
        return self.action is not None and self.times is None


def stored_turn(replay: Replay, *, game: int, ply: int) -> StoredTurn:
    """Return a turn of a replay.

    Args:
        replay: where it stands.
        game: the game's index in the replay, from 0.
        ply: how many actions had been applied before it, from 0.

    Raises:
        InputError: there is no such game or ply; the sentence says which there are.
        InvalidReplayError: the actions are not those of a game.
    """
    return history(replay, game=game, ply=ply)[-1]


def history(replay: Replay, *, game: int, ply: int) -> list[StoredTurn]:
    """Return a turn of a replay behind all those before it that the same seat was asked.

    Raises:
        InputError: there is no such game or ply; the sentence says which there are.
        InvalidReplayError: the actions are not those of a game.
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
    for forfeit in game.forfeits:
        if game.seats[forfeit.seat] == game.seats[seat] and forfeit.ply <= ply:
            return forfeit
    return None
