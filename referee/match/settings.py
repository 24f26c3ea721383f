"""Configure how a table is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from referee.clock import TimeControl


@dataclass(frozen=True, slots=True)
class TableSettings:
    """Configure how a table is run; times in seconds.

    Attributes:
        control: the clock of each game and seat.
        parallel_games: the most games open at once.
        start_limit: from the start of a process to its Ready.
        stall: silence after a time-out that ends a process.
        goodbye: from MatchOver to the end of the process.
        asks_forced: whether turns with one legal action are put to the bot, too.
    """

    control: TimeControl
    parallel_games: int = 32
    start_limit: float = 10.0
    stall: float = 2.0
    goodbye: float = 2.0
    asks_forced: bool = False
