"""Play one game: ask the seat to act, apply its answers, record actions, times and forfeits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from referee.clock import SeatClock
from referee.errors import IllegalActionError, InvalidActionError
from referee.games.replay import ReplayGame, TurnTimes
from referee.games.ruling import entrants_left, rule_on
from referee.match.turns import OpenTurn
from referee.outcome import Forfeit, ForfeitReason, Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from referee.errors import InputError
    from referee.games import Game, State
    from referee.match.connection import BotConnection
    from referee.match.settings import TableSettings

DETAIL_LIMIT = 300
"""Characters of a forfeit's detail: a bot may answer with tens of thousands."""


class Play:
    """Play one game; it waits for at most one turn.

    Attributes:
        board: the board's index, which is also the game's number at the table.
        seats: the entrant in each seat.
        connections: the process in each seat.
        over: whether the game has ended.
    """

    def __init__(  # noqa: PLR0913 -- assembled in one place, the table
        self,
        game: Game,
        state: State,
        *,
        board: int,
        seats: tuple[int, ...],
        connections: Sequence[BotConnection],
        settings: TableSettings,
        ended: Callable[[Play], None],
    ) -> None:
        """Prepare a game; `begin` starts it, and ``ended`` is called once, when it is over."""
        self._game = game
        self._state = state
        self.board = board
        self.seats = seats
        self.connections = connections
        self.over = False
        self._asks_forced = settings.asks_forced
        self._ended = ended
        self._clocks = [SeatClock(settings.control) for _ in seats]
        self._seen = [0] * len(seats)
        self._actions: list[str] = []
        self._times: list[TurnTimes | None] = []
        self._forfeits: list[Forfeit] = []
        self._forfeited: set[int] = set()
        self._turn: OpenTurn | None = None
        self._begun = time.monotonic()

    def begin(self) -> None:
        """Forfeit the seats whose process has failed already, then ask the first seat."""
        for seat, connection in enumerate(self.connections):
            if connection.failure is not None:
                self._note_forfeit(seat, *connection.failure)
        if self._is_decided():
            self._finish()
        else:
            self._advance()

    def apply(self, turn: OpenTurn, text: str) -> InputError | None:
        """Parse, judge and apply the answer to the open turn.

        Returns:
            Why the text is no action of the game, or not legal now; then nothing has changed.
        """
        try:
            self._state = self._state.apply(text)
        except (InvalidActionError, IllegalActionError) as error:
            return error
        begun = self._begun
        self._turn = None
        self._actions.append(text)
        self._times.append(
            TurnTimes(
                turn.seat,
                int((turn.ready - begun) * 1e6),
                int((turn.sent - begun) * 1e6),
                int((turn.arrival - begun) * 1e6),
                int((time.monotonic() - begun) * 1e6),
                turn.think_us,
                int(turn.charged * 1e6),
            )
        )
        self._advance()
        return None

    def forfeit(self, loser: BotConnection, reason: ForfeitReason, detail: str) -> None:
        """Let a process and its entrant lose; the game goes on while two entrants are left."""
        seat = self.connections.index(loser)
        if self.over or self.seats[seat] in self._forfeited:
            return
        self._note_forfeit(seat, reason, detail)
        if self._is_decided():
            self._finish()
        elif self._turn is not None and self.seats[self._turn.seat] in self._forfeited:
            self._discard_turn()
            self._advance()

    def record(self, table: int) -> ReplayGame:
        """Return the game that is over, as a replay holds it."""
        return ReplayGame(
            board=self.board,
            table=table,
            seats=self.seats,
            actions=tuple(self._actions),
            times=tuple(self._times),
            forfeits=tuple(self._forfeits),
            termination=self._state.termination or Termination.FORFEIT,
            outcome=rule_on(self._game, self._state, self.seats, self._forfeits),
        )

    def _advance(self) -> None:
        """Play on until a bot must be asked, or the game is over."""
        state = self._state
        while (seat := state.seat_to_act) is not None:
            legal = state.legal_actions()
            if (len(legal) > 1 or self._asks_forced) and self.seats[seat] not in self._forfeited:
                self._state = state
                self._ask(seat, legal)
                return
            # A forced action, or the seat of an entrant who forfeited, which the referee plays.
            self._actions.append(legal[0])
            self._times.append(None)
            state = state.apply(legal[0])
        self._state = state
        self._finish()

    def _ask(self, seat: int, legal: tuple[str, ...]) -> None:
        state = self._state
        self._turn = turn = OpenTurn(
            game=self.board,
            seat=seat,
            ply=state.ply,
            clock=self._clocks[seat],
            legal_actions=legal,
            events=state.events_since(self._seen[seat]),
            observation=state.observe(seat),
            ready=time.monotonic(),
        )
        self._seen[seat] = state.event_count
        self.connections[seat].ask(turn)

    def _note_forfeit(self, seat: int, reason: ForfeitReason, detail: str) -> None:
        if self.seats[seat] in self._forfeited:
            return
        self._forfeited.add(self.seats[seat])
        if len(detail) > DETAIL_LIMIT:
            detail = f"{detail[:DETAIL_LIMIT]}..."
        self._forfeits.append(Forfeit(seat=seat, reason=reason, detail=detail, ply=self._state.ply))

    def _is_decided(self) -> bool:
        return len(entrants_left(self.seats, self._forfeits)) <= 1

    def _discard_turn(self) -> None:
        if self._turn is not None:
            self._turn.live = False
            self._turn = None

    def _finish(self) -> None:
        if not self.over:
            self.over = True
            self._discard_turn()
            self._ended(self)
