"""Charge thinking time: pure arithmetic, in seconds; nothing here reads the time.

A turn is charged ``arrival - max(sent, previous arrival)``: the bot's own service time, however
many turns it holds at once. Each game and seat has a `SeatClock`. The first millisecond of a turn
is free. When the bank is spent, the margin is used up, once a game; when both are spent, the flag
falls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from referee.errors import InvalidTimeControlError

if TYPE_CHECKING:
    from collections.abc import Sequence

FREE_PER_TURN = 0.001
"""Seconds of each turn that are not charged: the measured cost of the stream itself."""

SPLIT_LIMIT = 0.020
"""Seconds up to which a message's span is shared among its answers by the reported times."""

DEFAULT_MARGIN = timedelta(milliseconds=50)
MIN_INCREMENT = timedelta(milliseconds=50)
"""The smallest increment above zero: below it the stream's jitter would decide."""

_TIME_CONTROL = re.compile(r"(\d+(?:\.\d+)?)(?:\+(\d+(?:\.\d+)?))?")


@dataclass(frozen=True, slots=True)
class TimeControl:
    """Hold the agreed limits of each game and seat.

    Attributes:
        bank: thinking time at the start of a game.
        increment: added after each turn.
        margin: latency forgiven before the flag falls, once a game and seat.
    """

    bank: timedelta
    increment: timedelta
    margin: timedelta = DEFAULT_MARGIN

    @classmethod
    def parse(cls, text: str, *, margin: timedelta = DEFAULT_MARGIN) -> TimeControl:
        """Read ``BANK+INCREMENT`` in seconds, ``5+0.05``; the increment may be left out.

        Raises:
            InvalidTimeControlError: says what was expected.
        """
        match = _TIME_CONTROL.fullmatch(text.strip())
        if match is None:
            raise InvalidTimeControlError(
                f"{text!r} is not a time control: write BANK+INCREMENT in seconds, "
                "for example 5+0.05"
            )
        # More than an hour is refused below; beyond some millions of years there is no timedelta.
        bank, increment = (
            timedelta(seconds=min(float(seconds or 0), 3601.0)) for seconds in match.groups()
        )
        if not timedelta(milliseconds=100) <= bank <= timedelta(hours=1):
            raise InvalidTimeControlError(
                f"{text!r}: the bank must be between 0.1 and 3600 seconds"
            )
        if increment and not MIN_INCREMENT <= increment <= timedelta(minutes=1):
            raise InvalidTimeControlError(
                f"{text!r}: the increment must be 0, or between 0.05 and 60 seconds"
            )
        return cls(bank=bank, increment=increment, margin=margin)

    def __str__(self) -> str:
        return f"{self.bank.total_seconds():g}+{self.increment.total_seconds():g}"


class SeatClock:
    """Keep the bank and margin of one seat in one game. All times are floats in seconds.

    Attributes:
        control: the agreed limits.
        bank: thinking time left.
        margin: forgiveness left.
    """

    __slots__ = ("_increment", "bank", "control", "margin")

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.bank = control.bank.total_seconds()
        self.margin = control.margin.total_seconds()
        self._increment = control.increment.total_seconds()

    @property
    def allowance(self) -> float:
        """How long the present turn may take before the flag falls."""
        return self.bank + self.margin + FREE_PER_TURN

    def charge(self, spent: float) -> bool:
        """Charge a turn and add the increment; return False when the flag has fallen.

        A turn within the allowance never fails; what exceeds the bank uses up the margin. A flag
        that falls changes nothing.
        """
        charged = max(0.0, spent - FREE_PER_TURN)
        if charged > self.bank:
            if charged > self.bank + self.margin:
                return False
            self.margin -= charged - self.bank
            charged = self.bank
        self.bank += self._increment - charged
        return True


def split_span(span: float, claims: Sequence[float]) -> list[float]:
    """Share a message's span among its answers, oldest first.

    A short span is shared in proportion to the bot's own times; a long one is charged to the
    oldest answer, since a message leaves as soon as its first answer is ready.

    Args:
        span: seconds that the referee measured for the whole message.
        claims: seconds that the bot says it thought, one per answer.

    Returns:
        Seconds by answer; they sum to the span.
    """
    total = sum(claim for claim in claims if claim > 0)
    if len(claims) == 1 or span > SPLIT_LIMIT or total <= 0:
        return [span, *[0.0] * (len(claims) - 1)]
    return [span * max(claim, 0.0) / total for claim in claims]
