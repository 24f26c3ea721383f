"""Bot processes: everything that one starts ends with it, and how it ended is known."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from referee.errors import InvalidBotError
from referee.sandbox.process import BotProcess, ExitReport
from referee.sandbox.run import run_in_sandbox
from referee.sandbox.sandbox import BotCommand, Launch, PlainSandbox
from tests.referee.real_bots import all_ended, appears, descriptors, zombies


class BareSandbox(PlainSandbox):
    """Pass the child one more descriptor."""

    def launch(self, command: BotCommand, **options: Any) -> Launch:
        """Return the launch of a plain process with the null device inherited."""
        launch = super().launch(command, **options)
        return replace(launch, inherited=(os.open(os.devnull, os.O_RDONLY),))


def start(
    folder: Path,
    *words: str,
    exited: Callable[[BotProcess], None] = lambda _: None,
    token: str = "token-of-this-test",  # noqa: S107 -- no secret
) -> BotProcess:
    """Start a command in a folder."""
    command = BotCommand(words=words, folder=folder, socket=folder / "s", token=token)
    return BotProcess(command, PlainSandbox(), exited=exited)


def start_python(folder: Path, script: str) -> BotProcess:
    """Start a Python script."""
    return start(folder, "python", "-c", script)


@pytest.mark.parametrize(
    ("code", "text"),
    [(0, "exit code 0"), (3, "exit code 3"), (-11, "killed by SIGSEGV"), (-99, "signal 99")],
)
def test_a_report_reads_as_a_sentence(code: int, text: str) -> None:
    """Exit codes and signals are named."""
    report = ExitReport(code=code, stopped=False, peak_memory=0, cpu_seconds=0)
    assert text in str(report)


async def test_the_exit_is_reported_once_with_what_it_took(tmp_path: Path) -> None:
    """Code, peak memory and CPU time come from the kernel."""
    heard: list[BotProcess] = []
    process = start(
        tmp_path,
        "python",
        "-c",
        "x = bytearray(50 << 20); raise SystemExit(7)",
        exited=heard.append,
    )
    report = await process.wait(10)
    assert report is not None
    assert (report.code, report.stopped) == (7, False)
    assert report.peak_memory > 50 << 20
    assert report.cpu_seconds > 0
    await process.stop()
    assert heard == [process]


async def test_a_signal_is_reported(tmp_path: Path) -> None:
    """A bot that is killed by the kernel shows its signal as a negative code."""
    process = start_python(tmp_path, "import os; os.kill(os.getpid(), 9)")
    report = await process.wait(10)
    assert report is not None
    assert (report.code, report.stopped) == (-9, False)
    await process.stop()


async def test_both_outputs_are_kept_apart(tmp_path: Path) -> None:
    """The author sees what went to stdout and what to stderr."""
    process = start_python(tmp_path, "import sys; print('out'); print('err', file=sys.stderr)")
    await process.wait(10)
    await process.stop()
    assert process.stdout.ring.text() == "out\n"
    assert process.stderr.ring.text() == "err\n"
    assert process.output_bytes() == 8


async def test_stopping_is_polite_first(tmp_path: Path) -> None:
    """A bot that ends on SIGTERM is not killed."""
    process = start_python(
        tmp_path,
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))\n"
        "open('up', 'w').write('1')\n"
        "time.sleep(100)",
    )
    await appears(tmp_path / "up")
    report = await process.stop(grace=5)
    assert (report.code, report.stopped) == (4, True)


async def test_a_bot_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    """After the grace comes SIGKILL."""
    process = start_python(
        tmp_path,
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "open('up', 'w').write('1')\n"
        "time.sleep(100)",
    )
    await appears(tmp_path / "up")
    report = await process.stop(grace=0.1)
    assert (report.code, report.stopped) == (-signal.SIGKILL, True)


async def test_a_stopped_bot_can_be_ended(tmp_path: Path) -> None:
    """SIGSTOP does not keep a process alive, whichever signal the kernel lets end it."""
    process = start_python(tmp_path, "open('up', 'w').write('1'); import time; time.sleep(100)")
    await appears(tmp_path / "up")
    os.kill(process.pid, signal.SIGSTOP)
    report = await process.stop(grace=0.1)
    assert report.code in {-signal.SIGKILL, -signal.SIGTERM}


async def test_children_end_with_their_bot(tmp_path: Path) -> None:
    """The whole group gets the signal, also when the bot itself has ended before."""
    process = start(tmp_path, "sh", "-c", "sleep 1000 & echo $! > child; exit 0")
    child = int(await appears(tmp_path / "child"))
    await process.wait(10)
    await process.stop()
    assert await all_ended([child])


async def test_a_grandchild_that_left_the_group_ends_too(tmp_path: Path) -> None:
    """Who double-forks into a session of its own is found by the token in its environment."""
    daemon = (
        "import os, sys, time\n"
        "if os.fork(): sys.exit()\n"
        "os.setsid()\n"
        "if os.fork(): sys.exit()\n"
        "open('daemon', 'w').write(str(os.getpid()))\n"
        "time.sleep(1000)"
    )
    process = start_python(tmp_path, daemon)
    grandchild = int(await appears(tmp_path / "daemon"))
    assert os.getsid(grandchild) != process.pid
    await process.stop()
    assert await all_ended([grandchild])


async def test_another_bots_processes_are_left_alone(tmp_path: Path) -> None:
    """Only what carries this process's own token is a straggler."""
    script = "open('up', 'w').write('1'); import time; time.sleep(100)"
    other = start(tmp_path, "python", "-c", script, token="another-token")
    await appears(tmp_path / "up")
    await start_python(tmp_path, "pass").stop()
    assert other.report is None
    await other.stop()


async def test_the_end_does_not_wait_for_whoever_holds_the_pipe(tmp_path: Path) -> None:
    """Who hides from us may keep the output open; the bot's end is known all the same."""
    hidden = (
        "import os, sys, time\n"
        "if os.fork(): sys.exit()\n"
        "os.setsid()\n"
        "os.execve(sys.executable, [sys.executable, '-c',\n"
        '    \'import os, time; open("hidden", "w").write(str(os.getpid())); time.sleep(1000)\'],\n'
        "    {})"
    )
    process = start_python(tmp_path, hidden)
    pid = int(await appears(tmp_path / "hidden"))
    async with asyncio.timeout(5):
        await process.stop()
    os.kill(pid, signal.SIGKILL)
    assert await all_ended([pid])


async def test_stopping_again_does_nothing(tmp_path: Path) -> None:
    """Once everybody is gone the id may be anybody's: no more signals are sent to it."""
    process = start_python(tmp_path, "pass")
    first = await process.stop()
    assert await process.stop() == first


async def test_nothing_is_left_open(tmp_path: Path) -> None:
    """Descriptors and children come and go with the processes, also with those that fail."""
    before = descriptors()
    for _ in range(10):
        process = start_python(tmp_path, "pass")
        await process.stop()
    command = BotCommand(
        words=("python", "-c", "pass"), folder=tmp_path, socket=tmp_path / "s", token="t"
    )
    await BotProcess(command, BareSandbox(), exited=lambda _: None).stop()
    with pytest.raises(OSError, match="nowhere"):
        start(tmp_path / "nowhere", "python", "-c", "pass")
    assert zombies() == []
    assert descriptors() == before


async def test_a_process_starts_with_limits_and_a_lower_priority(tmp_path: Path) -> None:
    """Memory, files and priority are bounded without any sandbox."""
    process = start_python(
        tmp_path,
        "import os, resource as r\n"
        "limits = (r.RLIMIT_DATA, r.RLIMIT_NOFILE, r.RLIMIT_FSIZE, r.RLIMIT_CORE)\n"
        "print(os.nice(0), *(r.getrlimit(limit)[0] for limit in limits))",
    )
    await process.wait(10)
    await process.stop()
    nice, data, files, file_size, core = map(int, process.stdout.ring.text().split())
    assert nice > os.nice(0) or os.nice(0) == 19
    assert 256 << 20 <= data <= 4 << 30
    assert 64 <= files <= 4096
    assert 0 < file_size <= 1 << 30
    assert core == 0


async def test_the_environment_holds_no_more_than_it_must(tmp_path: Path) -> None:
    """A bot learns where to call and who it is, and nothing of ours."""
    process = start_python(tmp_path, "import os; print(*sorted(os.environ), sep='\\n')")
    await process.wait(10)
    await process.stop()
    names = set(process.stdout.ring.text().split())
    assert {"ARENA_BOT_ADDRESS", "ARENA_BOT_TOKEN", "PYTHONUNBUFFERED"} <= names
    assert names <= {
        "ARENA_BOT_ADDRESS", "ARENA_BOT_TOKEN", "HOME", "LANG", "LC_CTYPE", "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS", "PATH", "PYTHONUNBUFFERED", "TMPDIR",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("program", "sentence"),
    [("./nothing", "is not an executable file"), ("no-such-program", "was not found; install it")],
)
async def test_a_command_that_names_no_program_is_refused(
    tmp_path: Path, program: str, sentence: str
) -> None:
    """The message says in which bot, and not where on the machine that lies."""
    with pytest.raises(InvalidBotError, match=sentence) as refused:
        start(tmp_path, program)
    assert tmp_path.name in str(refused.value)
    assert str(tmp_path) not in str(refused.value)


async def test_python_is_our_own_interpreter(tmp_path: Path) -> None:
    """A bot of the SDK finds the SDK."""
    process = start_python(tmp_path, "import sys; print(sys.executable)")
    await process.wait(10)
    await process.stop()
    assert process.stdout.ring.text().strip() == sys.executable


async def test_a_command_that_is_cancelled_twice_leaves_nothing_behind(tmp_path: Path) -> None:
    """Whoever stops waiting for its end does not stop its end."""
    before = descriptors()
    script = "open('up', 'w').write('1'); import time; time.sleep(100)"
    command = BotCommand(words=("python", "-c", script), folder=tmp_path)
    run = asyncio.create_task(run_in_sandbox(command, PlainSandbox(), limit=timedelta(seconds=60)))
    await appears(tmp_path / "up")
    run.cancel()
    await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert descriptors() == before
    assert zombies() == []
