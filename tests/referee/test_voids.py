"""Our own failures void a match; nothing is left of it, or of any other."""

import asyncio
import errno
import gc
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from referee.errors import VoidMatchError
from referee.games.quasenbo import QuasenboState
from referee.games.replay import ReplayGame
from referee.match.health import LagMonitor
from referee.match.runner import Referee
from referee.match.sandbox import BotCommand, Launch, PlainSandbox
from tests.referee.real_bots import (
    FIRST,
    all_ended,
    appears,
    bot_pids,
    descriptors,
    make_plan,
    make_referee,
    play,
    write_bot,
    write_script,
    zombies,
)
from tests.referee.scripted import control

pytestmark = pytest.mark.flaky(reruns=2)  # the machine's own time is judged

THINKS_LONG = (
    "if self.asked == 1:\n"
    "    pathlib.Path('thinks').write_text('now')\n"
    "    time.sleep({seconds})\n" + FIRST
)


@pytest.fixture(autouse=True)
def sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put the tables' sockets into a folder that is empty at the end; its path must be short."""
    del tmp_path  # made first, elsewhere
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        assert list(Path(folder).iterdir()) == []


async def assert_void(referee: Referee, plan: Any, **settings: Any) -> VoidMatchError:
    """Play a match that must be void, and see that nothing is left of it."""
    with pytest.raises(VoidMatchError) as caught:
        await referee.play(plan, **settings)
    assert await all_ended(bot_pids(*plan.entrants))
    assert zombies() == []
    assert referee._permits.free == 2
    return caught.value


@pytest.mark.parametrize("seconds", [6, 60], ids=["late", "silent"])
async def test_our_own_lag_during_a_turn_voids_the_match(tmp_path: Path, seconds: float) -> None:
    """A bot that is late while the referee's loop is blocked may not have been late at all."""
    slow = write_bot(tmp_path / "slow", THINKS_LONG.format(seconds=seconds))
    plan = make_plan(
        "quasenbo", slow, write_bot(tmp_path / "other"), control=control(bank=1.5), rotations=1
    )
    referee = make_referee(monitor=LagMonitor())
    match = asyncio.create_task(assert_void(referee, plan))
    await appears(slow.path / "thinks")
    time.sleep(2.5)  # noqa: ASYNC251 -- this is the lag
    error = await match
    assert error.reason == "referee_lag"
    assert "during a turn of table 0, slow" in str(error)


async def test_a_quick_bot_survives_our_lag(tmp_path: Path) -> None:
    """An answer that lay unread is in time, and the match goes on."""
    quick = write_bot(tmp_path / "quick", THINKS_LONG.format(seconds=0.01))
    plan = make_plan(
        "quasenbo", quick, write_bot(tmp_path / "other"), control=control(bank=1.5), rotations=1
    )
    match = asyncio.create_task(make_referee(monitor=LagMonitor()).play(plan))
    await appears(quick.path / "thinks")
    time.sleep(2)  # noqa: ASYNC251 -- this is the lag
    assert [game.forfeits for game in (await match).replay.games] == [(), ()]


async def test_lag_while_a_bot_starts_voids_the_match(tmp_path: Path) -> None:
    """A start that took too long while the referee lagged is no NO_SHOW."""
    late = write_script(
        tmp_path / "late",
        "import time; open('starts', 'w').write('now'); time.sleep(60)",
    )
    plan = make_plan("quasenbo", late, write_bot(tmp_path / "other"), start_limit=3.0)
    match = asyncio.create_task(assert_void(make_referee(monitor=LagMonitor()), plan))
    await appears(late.path / "starts")
    time.sleep(1)  # noqa: ASYNC251 -- this is the lag
    error = await match
    assert error.reason == "referee_lag"
    assert "while table" in str(error)


async def test_an_exception_in_the_rules_is_void_and_no_forfeit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever breaks on our side, no bot pays for it; the cause is kept."""
    apply = QuasenboState.apply

    def broken(state: QuasenboState, text: str) -> QuasenboState:
        if state.ply == 5:
            raise ZeroDivisionError("the rules are broken")
        return apply(state, text)

    monkeypatch.setattr(QuasenboState, "apply", broken)
    bots = [write_bot(tmp_path / name) for name in ("one", "two")]
    error = await assert_void(make_referee(), make_plan("quasenbo", *bots))
    assert error.reason == "internal_error"
    assert isinstance(error.__cause__, ZeroDivisionError)


async def test_an_exception_in_the_callers_progress_is_void(tmp_path: Path) -> None:
    """It comes from our side of the table as well."""

    def fail(game: ReplayGame) -> None:
        raise RuntimeError(f"no room for board {game.board}")

    bots = [write_bot(tmp_path / name) for name in ("one", "two")]
    error = await assert_void(make_referee(), make_plan("quasenbo", *bots), progress=fail)
    assert "no room for board" in str(error)


class ExhaustedSandbox(PlainSandbox):
    """A machine on which no second process can be started."""

    launches = 0

    def launch(self, command: BotCommand, **options: Any) -> Launch:
        """Fail for want of descriptors from the second launch on."""
        self.launches += 1
        if self.launches > 1:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().launch(command, **options)


async def test_a_machine_without_descriptors_is_no_fault_of_a_bot(tmp_path: Path) -> None:
    """The match is void, and the process that did start is ended."""
    bots = [write_bot(tmp_path / name) for name in ("one", "two")]
    referee = make_referee(sandbox=ExhaustedSandbox())
    error = await assert_void(referee, make_plan("quasenbo", *bots, rotations=1))
    assert "no process can be started" in str(error)


@pytest.mark.parametrize("times", [1, 3])
async def test_a_cancelled_match_ends_its_bots(tmp_path: Path, times: int) -> None:
    """However often and however impatiently it is cancelled, both tables clean up."""
    stubborn = (
        "import signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pathlib.Path('thinks').write_text('now')\n"
        "time.sleep(60)"
    )
    bots = [write_bot(tmp_path / name, stubborn) for name in ("one", "two")]
    match = asyncio.create_task(make_referee(cores=4).play(make_plan("quasenbo", *bots)))
    for bot in bots:
        await appears(bot.path / "thinks")
    for _ in range(times):
        match.cancel()
        await asyncio.sleep(0.1)
    with pytest.raises(asyncio.CancelledError):
        await match
    assert len(bot_pids(*bots)) == 4
    assert await all_ended(bot_pids(*bots))
    assert zombies() == []


async def test_nothing_is_left_after_many_tables(tmp_path: Path) -> None:
    """Twenty tables later there are no more descriptors, processes or bytes than before."""
    bots = [write_bot(tmp_path / name) for name in ("one", "two")]
    plan = make_plan("quasenbo", *bots, boards=1)
    await play(plan)
    gc.collect()
    before = descriptors(), resident()
    for _ in range(10):
        await play(plan)
    gc.collect()
    await asyncio.sleep(0.05)
    assert descriptors() <= before[0]
    assert resident() - before[1] < 16 << 20
    assert zombies() == []
    assert len(bot_pids(*bots)) == 44
    assert await all_ended(bot_pids(*bots))


def resident() -> int:
    """Return how many bytes of memory this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE")
