"""Collects Prometheus metrics of a process, and serves them on ``/metrics``."""

from __future__ import annotations

import errno
from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.registry import Collector

from arena.errors import InputError
from referee.outcome import ForfeitReason, Termination

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from threading import Thread
    from wsgiref.simple_server import WSGIServer

    from referee.games.replay import Replay

FIRST_PORT: Final = 7500
"""Where a process that is no part of `arena up` serves its metrics unless told otherwise; the next
free one above if taken."""

PORTS: Final = 100
"""How many ports from the first one on are tried."""

QUEUE_STATES: Final = ("ready", "delayed", "paused", "leased", "dead")
VOID_REASONS: Final = ("referee_lag", "internal_error")
_TURN_BUCKETS: Final = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
)  # fmt: skip
_MATCH_BUCKETS: Final = (0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600, 1800)
_START_BUCKETS: Final = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 5, 10)


class MatchEnd(StrEnum):
    """How a match ended for the worker that had leased it: the label ``result``."""

    COMMITTED = "committed"
    VOID = "void"
    """Our own failure; it is played again."""
    RELEASED = "released"
    """Given back unharmed when the worker stopped."""
    LOST = "lost"
    """The lease had expired, or its result was refused."""
    CANCELLED = "cancelled"


class TurnPart(StrEnum):
    """A part of a turn's time: the label ``part``."""

    QUEUE = "queue"
    """From being ready to being sent: it waited for a permit, or for the loop."""
    TRANSPORT = "transport"
    """From being sent to the answer, less what the bot says it thought."""
    THINK = "think"
    CHARGED = "charged"
    """What the clock took for it."""


class _TurnSeconds(Collector):
    """A histogram that observes the turns of a whole match at once."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._sums: dict[tuple[str, str], float] = {}

    def add(self, ruleset: str, part: TurnPart, seconds: Iterable[float]) -> None:
        """Observe one part of many turns."""
        key = (ruleset, part.value)
        counts = self._counts.setdefault(key, [0] * (len(_TURN_BUCKETS) + 1))
        self._sums.setdefault(key, 0.0)
        for value in seconds:
            counts[bisect_left(_TURN_BUCKETS, value)] += 1
            self._sums[key] += value

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """Yield the metric."""
        text = "Where the time of the turns put to bots went."
        family = HistogramMetricFamily("arena_turn_seconds", text, labels=("ruleset", "part"))
        bounds = [*map(str, _TURN_BUCKETS), "+Inf"]
        for key, counts in list(self._counts.items()):
            buckets = list(zip(bounds, accumulate(list(counts)), strict=True))
            family.add_metric(key, buckets, self._sums[key])
        yield family


@dataclass(frozen=True, slots=True)
class MetricsServer:
    """A running ``/metrics``."""

    port: int
    _server: WSGIServer
    _thread: Thread

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Metrics:
    """The metrics of one process, in a registry of their own.

    Counters of matches, games, turns and forfeits count what was committed, so that they agree with
    the log of results; a process that dies between the two has counted less.
    """

    def __init__(self) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._turn_seconds = _TurnSeconds()
        self.registry.register(self._turn_seconds)
        self.matches = self._counter(
            "matches", "Matches that workers had leased, by how they ended.", "ruleset", "result"
        )
        self.games = self._counter("games", "Games of committed matches.", "ruleset", "termination")
        self.turns = self._counter("turns", "Turns that bots were asked and answered.", "ruleset")
        self.forfeits = self._counter(
            "forfeits", "Forfeits in games of committed matches.", "ruleset", "reason"
        )
        self.commits = self._counter("commits", "Answers to commits.", "answer")
        self.voids = self._counter("voids", "Matches void through our own fault.", "reason")
        self.lease_expirations = self._counter(
            "lease_expirations", "Leases that expired because a worker died or stalled."
        )
        self.queue_matches = self._gauge(
            "queue_matches", "Matches of a ladder by where they stand.", "ruleset", "state"
        )
        self.queue_oldest = self._gauge(
            "queue_oldest_seconds", "How long the match that is next has waited.", "ruleset"
        )
        self.slots = self._gauge(
            "worker_slots", "Slots of this worker; one plays a table.", "state"
        )
        self.referee_lag = self._gauge(
            "referee_lag_seconds", "The latest the referee's event loop was in the last seconds."
        )
        self.match_seconds = self._histogram(
            "match_seconds", "How long matches took to play.", _MATCH_BUCKETS, "ruleset"
        )
        self.bot_start = self._histogram(
            "bot_start_seconds", "From the start of a bot's process to its Ready.", _START_BUCKETS
        )
        for reason in VOID_REASONS:
            self.voids.labels(reason)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"arena_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"arena_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(f"arena_{name}", text, labels, buckets=buckets, registry=self.registry)

    def know_ruleset(self, ruleset: str) -> None:
        """Initialize the counters of a ladder to 0, so that the first events are a rise."""
        self.turns.labels(ruleset)
        self.match_seconds.labels(ruleset)
        for end in MatchEnd:
            self.matches.labels(ruleset, end.value)
        for termination in Termination:
            self.games.labels(ruleset, termination.value)
        for reason in ForfeitReason:
            self.forfeits.labels(ruleset, reason.value)
        for part in TurnPart:
            self._turn_seconds.add(ruleset, part, ())

    def void(self, reason: str) -> None:
        """Count a void; a reason outside the closed set is an internal error."""
        self.voids.labels(reason if reason in VOID_REASONS else "internal_error").inc()

    def count_play(self, replay: Replay) -> None:
        """Count the games, forfeits and turns of a committed match."""
        ruleset = replay.ruleset
        for game in replay.games:
            self.games.labels(ruleset, game.termination.value).inc()
            for forfeit in game.forfeits:
                self.forfeits.labels(ruleset, forfeit.reason.value).inc()
        turns = [times for game in replay.games for times in game.times if times is not None]
        self.turns.labels(ruleset).inc(len(turns))
        for part, micros in (
            (TurnPart.QUEUE, [t.sent - t.ready for t in turns]),
            (TurnPart.TRANSPORT, [max(0, t.answered - t.sent - t.think) for t in turns]),
            (TurnPart.THINK, [t.think for t in turns]),
            (TurnPart.CHARGED, [t.charged for t in turns]),
        ):
            self._turn_seconds.add(ruleset, part, (micro / 1e6 for micro in micros))

    def serve(self, *, host: str, port: int | None) -> MetricsServer:
        """Serve ``/metrics`` from a thread; without a port on the first free one from `FIRST_PORT`.

        Raises:
            InputError: the port is taken or forbidden, or the address is not this machine's.
        """
        ports = range(FIRST_PORT, FIRST_PORT + PORTS) if port is None else [port]
        for each in ports:
            try:
                server, thread = prometheus_client.start_http_server(
                    each, host, registry=self.registry
                )
            except OSError as error:
                if port is None and error.errno == errno.EADDRINUSE:
                    continue
                raise InputError(
                    f"metrics cannot be served on {host}:{each}: {error.strerror or error}; "
                    "name another one with ARENA_METRICS_PORT"
                ) from error
            return MetricsServer(server.server_port, server, thread)
        raise InputError(
            f"none of the ports {FIRST_PORT} to {FIRST_PORT + PORTS - 1} is free for metrics; "
            "name one with ARENA_METRICS_PORT"
        )
