"""Check how the referee measures its own lag, and which time-outs that voids."""

import asyncio
import time

import pytest

from referee.clock import SeatClock
from referee.match.health import VOID_LAG, LagMonitor, cpu_pressure, voids_timeout
from tests.referee.scripted import ScriptedBot, control

pytestmark = pytest.mark.flaky(reruns=2)  # the machine's own time is judged


async def test_a_blocked_loop_is_lag() -> None:
    """What the loop did not run in time is measured, also before the next sample."""
    monitor = LagMonitor()
    monitor.start_sampling()
    await asyncio.sleep(0.03)
    start = time.monotonic()
    time.sleep(0.2)  # noqa: ASYNC251 -- this is the lag
    end = time.monotonic()
    assert monitor.lag_between(start, end) == pytest.approx(0.2, abs=0.03)
    await asyncio.sleep(0.03)
    assert monitor.lag_between(start, end) == pytest.approx(0.2, abs=0.03)
    assert monitor.worst >= 0.15
    monitor.stop_sampling()


async def test_lag_counts_only_within_the_span() -> None:
    """A lag before or after a turn is not the turn's."""
    monitor = LagMonitor()
    monitor.start_sampling()
    await asyncio.sleep(0.02)
    before = time.monotonic()
    time.sleep(0.15)  # noqa: ASYNC251 -- this is the lag
    await asyncio.sleep(0.02)
    assert monitor.lag_between(before - 10, before - 5) == 0.0
    assert monitor.lag_between(before, before + 0.05) <= 0.05
    monitor.stop_sampling()


def test_a_small_lag_in_a_long_turn_excuses_nothing() -> None:
    """A busy machine always lags a little: a bot that hangs for five seconds is still late."""
    assert voids_timeout(VOID_LAG, span=0.5)
    assert not voids_timeout(VOID_LAG / 2, span=0.06)
    assert not voids_timeout(0.2, span=5.0)
    assert voids_timeout(1.0, span=5.0)


def test_the_pressure_is_a_share_or_unknown() -> None:
    """Kernels without pressure information give None."""
    pressure = cpu_pressure()
    assert pressure is None or 0 <= pressure <= 1


async def watched_bot() -> tuple[ScriptedBot, LagMonitor]:
    """Return a bot that plays under a running monitor."""
    monitor = LagMonitor()
    monitor.start_sampling()
    bot = ScriptedBot(monitor=monitor)
    await bot.introduces_itself()
    await asyncio.sleep(0.03)
    return bot, monitor


async def test_lag_is_not_charged_to_the_bot() -> None:
    """An answer that lay unread while the referee lagged is in time."""
    bot, monitor = await watched_bot()
    turn = bot.asks(0, clock=SeatClock(control(bank=1)))
    await bot.hears("turns")
    time.sleep(2)  # noqa: ASYNC251 -- this is the lag
    bot.answers((0, 0, "2S"))
    await bot.told("game 0 ply 0 2S")
    assert turn.charged < 1
    monitor.stop_sampling()
    await bot.leave()


async def test_a_time_out_during_our_own_lag_is_told_as_lag() -> None:
    """A bot that seems late while the referee lagged may not have been."""
    bot, monitor = await watched_bot()
    bot.asks(0, clock=SeatClock(control(bank=1)))
    await bot.hears("turns")
    time.sleep(2)  # noqa: ASYNC251 -- this is the lag
    await bot.told("lagged")
    assert "timeout game 0" not in bot.session.lines
    monitor.stop_sampling()
    await bot.leave()
