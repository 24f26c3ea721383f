"""Hold a turn that is put to a bot, and when it was sent and answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from referee.clock import SeatClock
    from referee.wire import Observation


class OpenTurn:
    """Hold a turn that a bot owes an answer to, or will owe once it is sent.

    Moments are those of `time.monotonic`.

    Attributes:
        game: the game's number at the table.
        seat: the seat that is asked.
        ply: how many actions have been applied.
        clock: the seat's clock in this game.
        legal_actions: what may be answered.
        events: the public events since the seat's last turn.
        observation: what the seat sees.
        ready: when the seat was to act.
        sent: when the turn was written; 0.0 while it waits.
        arrival: when the answer came in time; 0.0 before.
        charged: the seconds that the clock was charged for it, the free part included.
        think_us: the microseconds that the bot says it thought.
        live: whether the game still wants the answer.
    """

    __slots__ = (
        "arrival",
        "charged",
        "clock",
        "events",
        "game",
        "legal_actions",
        "live",
        "observation",
        "ply",
        "ready",
        "seat",
        "sent",
        "think_us",
    )

    def __init__(  # noqa: PLR0913 -- a record on the hot path
        self,
        *,
        game: int,
        seat: int,
        ply: int,
        clock: SeatClock,
        legal_actions: Sequence[str],
        events: Sequence[str],
        observation: Observation,
        ready: float,
    ) -> None:
        self.game = game
        self.seat = seat
        self.ply = ply
        self.clock = clock
        self.legal_actions = legal_actions
        self.events = events
        self.observation = observation
        self.ready = ready
        self.sent = self.arrival = self.charged = 0.0
        self.think_us = 0
        self.live = True
