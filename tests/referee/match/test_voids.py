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
from referee.sandbox.sandbox import BotCommand, Launch, PlainSandbox
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
    """Fail to start a second process."""

    def __init__(self, number: int) -> None:
        """Fail with an error of the system from the second launch on."""
        super().__init__()
        self.launches = 0
        self.number = number

    def launch(self, command: BotCommand, **options: Any) -> Launch:
        """Launch one."""
        self.launches += 1
        if self.launches > 1:
            raise OSError(self.number, os.strerror(self.number))
        return super().launch(command, **options)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOENT, errno.EACCES])
async def test_a_machine_that_starts_no_process_is_no_fault_of_a_bot(
    tmp_path: Path, number: int
) -> None:
    """The match is void, and the process that did start is ended."""
    bots = [write_bot(tmp_path / name) for name in ("one", "two")]
    referee = make_referee(sandbox=ExhaustedSandbox(number))
    error = await assert_void(referee, make_plan("quasenbo", *bots, rotations=1))
    assert "no process can be started" in str(error)


class StickySandbox(PlainSandbox):
    """Fail to release what the first process held."""

    launches = 0

    def launch(self, command: BotCommand, **options: Any) -> Launch:
        """Fail when the first launch is cleared away."""
        launch = super().launch(command, **options)
        if not self.launches:
            launch.resources.callback(self.fail)
        self.launches += 1
        return launch

    def fail(self) -> None:
        """Say that it cannot be removed."""
        raise OSError(errno.EBUSY, "it is held")


async def test_a_process_that_cannot_be_cleared_away_keeps_nobody_else(tmp_path: Path) -> None:
    """Our failure is raised when the others have ended and the sockets are removed."""
    bots = [write_bot(tmp_path / name) for name in ("one", "two")]
    referee = make_referee(sandbox=StickySandbox())
    with pytest.raises(OSError, match="it is held"):
        await referee.play(make_plan("quasenbo", *bots, rotations=1))
    assert len(bot_pids(*bots)) == 2
    assert await all_ended(bot_pids(*bots))


class Lagging(LagMonitor):
    """Report that the referee lagged for long, but not long enough for a void."""

    def lag_between(self, start: float, end: float) -> float:
        """Return half a minute."""
        del start, end
        return 30.0


async def test_a_start_gets_back_what_our_lag_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bot that is ready after its limit, but not by more than our lag, plays."""
    monkeypatch.setattr("referee.match.judgement.voids_timeout", lambda *_, **__: False)
    late = write_bot(tmp_path / "late", rest="def prepare(self, welcome): time.sleep(1)")
    plan = make_plan("quasenbo", late, write_bot(tmp_path / "other"), start_limit=0.5)
    result = await make_referee(monitor=Lagging()).play(plan)
    assert all(game.forfeits == () for game in result.replay.games)


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
    referee = make_referee(cores=4)
    match = asyncio.create_task(referee.play(make_plan("quasenbo", *bots)))
    for bot in bots:
        await appears(bot.path / "thinks")
    for _ in range(times):
        match.cancel()
        await asyncio.sleep(0.1)
    with pytest.raises(asyncio.CancelledError):
        await match
    assert referee.monitor._timer is None
    assert len(bot_pids(*bots)) == 4
    assert await all_ended(bot_pids(*bots))
    assert zombies() == []


async def test_a_match_that_is_cancelled_while_it_is_void_ends_as_well(tmp_path: Path) -> None:
    """One table fails, the other takes its time to end: the watch on the loop ends with it."""
    act = (
        "if turn.seat == 1:\n"
        "    import signal\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    pathlib.Path('thinks').touch()\n"
        "    time.sleep(60)\n"
        "while not pathlib.Path('thinks').exists(): time.sleep(0.01)\n" + FIRST
    )
    bots = [write_bot(tmp_path / "one", act), write_bot(tmp_path / "two")]
    failed = asyncio.Event()

    def fail(game: ReplayGame) -> None:
        failed.set()
        raise RuntimeError(f"no room for board {game.board}")

    referee = make_referee(cores=4)
    plan = make_plan("quasenbo", *bots, boards=1, control="60")
    match = asyncio.create_task(referee.play(plan, progress=fail))
    await failed.wait()
    await asyncio.sleep(0.2)
    while not match.done():
        match.cancel()
        await asyncio.sleep(0.05)
    assert referee.monitor._timer is None
    assert await all_ended(bot_pids(*bots))


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
