"""Measure how late the referee's own event loop runs.

A time-out while the referee itself lagged voids the match. Load by bots does not count: the referee
runs at a higher priority, and only its own lateness is measured.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from pathlib import Path

PERIOD = 0.010
"""Seconds between two samples of the loop's lag."""

TOLERANCE = 0.005
"""Seconds of lateness that are not counted as lag."""

VOID_LAG = 0.100
"""Seconds of lag within one turn from which its time-out voids the match."""

VOID_SHARE = 0.1
"""The share of the turn that the lag must reach besides: a busy machine always lags a little."""

_SPELLS_LIMIT = 4096
_PRESSURE = Path("/proc/pressure/cpu")


class LagMonitor:
    """Sample the lag of the running event loop, and keep the intervals in which it lagged.

    Attributes:
        worst: the largest lag seen since the start, in seconds.
        latest: the lag of the last sample, in seconds.
    """

    def __init__(self) -> None:
        self.worst = 0.0
        self.latest = 0.0
        self._spells: deque[tuple[float, float]] = deque(maxlen=_SPELLS_LIMIT)
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def start_sampling(self) -> None:
        """Begin to sample on the running loop; idempotent."""
        if self._timer is None:
            self._arm()

    def stop_sampling(self) -> None:
        """Stop sampling."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def lag_between(self, start: float, end: float) -> float:
        """Return the seconds of lag within this interval of `time.monotonic`.

        The lag of a sample that is overdue counts, too.
        """
        lag = 0.0
        for since, until in reversed(self._spells):
            if until <= start:
                break
            lag += max(0.0, min(end, until) - max(start, since))
        if self._timer is not None and end - self._due > TOLERANCE:
            lag += max(0.0, end - max(start, self._due))
        return lag

    def _arm(self) -> None:
        self._due = time.monotonic() + PERIOD
        self._timer = asyncio.get_running_loop().call_later(PERIOD, self._sample)

    def _sample(self) -> None:
        now = time.monotonic()
        self.latest = max(0.0, now - self._due)
        if self.latest > TOLERANCE:
            self._spells.append((self._due, now))
            self.worst = max(self.worst, self.latest)
        self._arm()


def voids_timeout(lag: float, *, span: float) -> bool:
    """Return whether the referee's lag within ``span`` seconds is long enough to void."""
    return lag >= max(VOID_LAG, span * VOID_SHARE)


def pressure_clause() -> str:
    """Return a clause about the machine's load for a void's message; empty when unknown."""
    pressure = cpu_pressure()
    return "" if pressure is None else f", while {pressure:.0%} of the time a process lacked a core"


def cpu_pressure() -> float | None:
    """Return the share of the last ten seconds in which some process waited for a core.

    From Linux's pressure stall information (PSI); None where the kernel gives none.
    """
    try:
        line = _PRESSURE.read_text(encoding="ascii").splitlines()[0]
    except (OSError, IndexError):
        return None
    fields = dict(word.split("=") for word in line.split()[1:])
    return float(fields["avg10"]) / 100
