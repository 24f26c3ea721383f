"""Hold a turn that is put to a bot, and when it was sent and answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from referee.clock import SeatClock
    from referee.wire import Observation


@dataclass(eq=False, kw_only=True, slots=True)
class OpenTurn:
    """Hold a turn that is unanswered or waits to be sent; moments are of `time.monotonic`.

    Attributes:
        game: the game's number at the table.
        seat: the seat that is asked.
        ply: how many actions have been applied.
        clock: the seat's clock in this game.
        legal_actions: what may be answered.
        events: the public events since the seat's last turn.
        observation: what the seat sees.
        ready: when it became the seat's turn.
        sent: when the turn was written; 0.0 while it waits.
        arrival: when the answer came in time; 0.0 before.
        charged: the seconds that the clock was charged for it, the free part included.
        think_us: thinking time in microseconds, as the bot reports it.
        live: whether the game still awaits the answer.
    """

    game: int
    seat: int
    ply: int
    clock: SeatClock
    legal_actions: Sequence[str]
    events: Sequence[str]
    observation: Observation
    ready: float
    sent: float = field(default=0.0, init=False)
    arrival: float = field(default=0.0, init=False)
    charged: float = field(default=0.0, init=False)
    think_us: int = field(default=0, init=False)
    live: bool = field(default=True, init=False)
