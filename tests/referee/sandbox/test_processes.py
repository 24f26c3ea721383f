"""Sandboxed processes: their certain end, and that nothing of them is left."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from referee.errors import InvalidBotError
from referee.sandbox.bubblewrap import BubblewrapSandbox
from referee.sandbox.bwrap_arguments import TMP
from referee.sandbox.limits import ResourceLimits
from referee.sandbox.process import BotProcess
from referee.sandbox.run import RunReport, run_in_sandbox
from referee.sandbox.sandbox import BotCommand, PlainSandbox, Sandbox
from tests.referee.sandbox.attacking import SMALL, left, play, running, write_bot

HIDES = (
    "import os\nos.mkdir('x', 0o300); open('x/y', 'w').close()\nraise SystemExit",
    "Permission denied",
)
SLEEP = "import time; time.sleep(1000)"


async def run(sandbox: Sandbox, folder: Path, code: str, **options: object) -> RunReport:
    """Run a Python script to its end."""
    writable = bool(options.pop("writable", False))
    limits = options.pop("limits", None)
    seconds = options.pop("seconds", 30)
    assert not options
    command = BotCommand(("python", "-c", code), folder, writable=writable)
    return await run_in_sandbox(
        command,
        sandbox,
        limit=timedelta(seconds=float(str(seconds))),
        limits=limits if isinstance(limits, ResourceLimits) else None,
    )


def start(sandbox: Sandbox, folder: Path, code: str, mark: str) -> BotProcess:
    """Start a Python script."""
    command = BotCommand(("python", "-c", code, mark), folder)
    return BotProcess(command, sandbox, exited=lambda _: None)


async def printed(process: BotProcess) -> None:
    """Wait until a process has printed something."""
    while not process.output_bytes():  # noqa: ASYNC110 -- nobody sets an event
        await asyncio.sleep(0.01)


def new_mark() -> str:
    """Return a word that no other process has in its command."""
    return f"mark-{secrets.token_hex(8)}"


def descriptors() -> set[str]:
    """Return what descriptors of this process lead to."""
    folder = Path("/proc/self/fd")
    found = set()
    for entry in folder.iterdir():
        try:
            found.add(f"{entry.name} {entry.readlink()}")
        except OSError:
            continue  # that of the folder itself
    return {name for name in found if "/proc/" not in name}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(7)", (7, False)),
        ("import os; os.kill(os.getpid(), 11)", (-11, False)),
        ("import os; os.kill(os.getpid(), 9)", (-9, False)),
    ],
)
async def test_exit_codes_and_signals_come_through(
    sandbox: BubblewrapSandbox, folder: Path, code: str, expected: tuple[int, bool]
) -> None:
    """The way in which bubblewrap tells of a signal is translated back."""
    report = (await run(sandbox, folder, code)).exit
    assert (report.code, report.stopped) == expected


async def test_stopping_is_polite_first(sandbox: BubblewrapSandbox, folder: Path) -> None:
    """A bot inside hears SIGTERM and may end by itself."""
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))\n"
        "print('up', flush=True)\n"
        "time.sleep(1000)"
    )
    process = start(sandbox, folder, code, new_mark())
    await printed(process)
    report = await process.stop(grace=20)
    assert (report.code, report.stopped) == (4, True)


async def test_whoever_ignores_sigterm_is_killed(sandbox: BubblewrapSandbox, folder: Path) -> None:
    """After the grace the namespace ends, with all that is in it."""
    mark = new_mark()
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "os.fork()\n"
        "os.setsid() if os.getpid() != 2 else None\n"
        "print('up', flush=True)\n"
        "time.sleep(1000)"
    )
    process = start(sandbox, folder, code, mark)
    await printed(process)
    report = await process.stop(grace=0.05)
    assert report.stopped
    assert running(mark) == []


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.003, 0.006, 0.01, 0.02, 0.04])
async def test_a_bot_can_be_ended_while_its_walls_are_built(
    sandbox: BubblewrapSandbox, folder: Path, delay: float
) -> None:
    """At whatever moment: nothing stays behind."""
    mark = new_mark()
    processes = [start(sandbox, folder, SLEEP, mark) for _ in range(4)]
    await asyncio.sleep(delay)
    await asyncio.gather(*(process.stop(grace=0) for process in processes))
    assert await left(mark) == []


async def test_a_daemon_that_outlives_its_bot_is_ended(
    sandbox: BubblewrapSandbox, folder: Path
) -> None:
    """The bot's own exit is reported as it was, and the rest of the namespace goes with it."""
    mark = new_mark()
    code = "import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(1000)\n"
    process = start(sandbox, folder, code, mark)
    report = await process.wait(30)
    assert report is not None
    assert report.code == 0
    await process.stop()
    assert running(mark) == []


async def test_nothing_is_left_behind(
    sandbox: BubblewrapSandbox, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process, no folder, no descriptor, no borrowed user; also when the start fails."""
    temporary = folder / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    mark = new_mark()
    await start(sandbox, folder, "pass", mark).stop()
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
    before = descriptors()
    for grace in (0.0, 5.0) * 3:
        await start(sandbox, folder, "pass", mark).stop(grace=grace)
    for words in (("nowhere",), ("./missing",)):
        with pytest.raises(InvalidBotError):
            sandbox.launch(BotCommand(words, folder))
    assert await left(mark) == []
    assert descriptors() == before
    assert list(temporary.iterdir()) == []


async def test_processes_are_counted(sandbox: BubblewrapSandbox, folder: Path) -> None:
    """There are as many as the limit says, bubblewrap's own among them, whatever the host runs."""
    code = (
        "import os, signal\n"
        "count = 1\n"
        "try:\n"
        "    while True:\n"
        "        if os.fork() == 0: signal.pause()\n"
        "        count += 1\n"
        "except BlockingIOError: print(count)"
    )
    assert int((await run(sandbox, folder, code)).stdout) == SMALL.processes - 1


_ARENA = """
import asyncio, json, sys
from pathlib import Path
from referee.sandbox.bubblewrap import BubblewrapSandbox
from referee.sandbox.process import BotProcess
from referee.sandbox.sandbox import BotCommand

async def main():
    command = BotCommand(("python", "-c", sys.argv[2], sys.argv[3]), Path(sys.argv[1]))
    process = BotProcess(command, BubblewrapSandbox(), exited=lambda _: None)
    while not process.output_bytes():
        await asyncio.sleep(0.01)
    print("up", flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


async def test_bots_end_when_their_arena_is_killed(folder: Path) -> None:
    """Nobody is there to end them: the kernel does."""
    mark = new_mark()
    bot = (
        "import os, signal, time\n"
        "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]\n"
        "if os.fork() == 0: os.setsid()\n"
        "print('up', flush=True); time.sleep(1000)"
    )
    words = [sys.executable, "-c", _ARENA, str(folder), bot, mark]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as arena:  # noqa: ASYNC220 -- it ends
        assert arena.stdout is not None
        assert arena.stdout.readline() == b"up\n"
        assert len(running(mark)) > 2
        arena.send_signal(signal.SIGKILL)
    assert await left(mark) == []


async def test_a_bare_bot_is_watched_too(folder: Path) -> None:
    """Without a sandbox, memory is bounded all the same, with the children's."""
    code = (
        "import os, time\nfor _ in range(4): os.fork()\nhoard = b'x' * (30 << 20); time.sleep(1000)"
    )
    report = await run(PlainSandbox(limits=SMALL), folder, code)
    assert "MiB of memory" in report.exit.overuse
    assert not report.succeeded


async def test_a_match_between_bots_of_all_kinds(sandbox: BubblewrapSandbox, folder: Path) -> None:
    """The tier is stored with the match, and what each process took is reported."""
    bots = [
        write_bot(folder / name, "from referee.sdk import Bot, run\n" + code)
        for name, code in (
            ("first", "class First(Bot):\n    def act(self, turn): return turn.legal_actions[0]\n"),
            ("last", "class First(Bot):\n    def act(self, turn): return turn.legal_actions[-1]\n"),
        )
    ]
    for bot in bots:
        with (bot.path / "bot.py").open("a") as file:
            file.write("run(First())\n")
    result = await play(sandbox, *bots)
    assert result.replay.tier == sandbox.tier
    assert all(game.forfeits == () for game in result.replay.games)
    for record in result.processes:
        assert record.report.peak_memory > 20 << 20
        assert record.report.cpu_seconds > 0


async def test_a_command_has_a_time_limit(sandbox: BubblewrapSandbox, folder: Path) -> None:
    """A build that never ends is ended."""
    report = await run(sandbox, folder, SLEEP, seconds=0.3)
    assert report.timed_out
    assert str(report) == "it took too long"


async def test_a_build_writes_its_folder_and_nothing_else(
    sandbox: BubblewrapSandbox, folder: Path
) -> None:
    """What it made is ours afterwards, and its output is kept."""
    (folder / "source").mkdir()
    code = (
        "from pathlib import Path\n"
        "Path('/bot/made').write_text('1'); Path('/bot/source/made').write_text('2')\n"
        "try: Path('/usr/made').touch()\n"
        "except OSError: print('no')"
    )
    report = await run(sandbox, folder, code, writable=True)
    assert report.succeeded, report.stderr
    assert report.stdout == "no\n"
    made = [folder / "made", folder / "source" / "made", folder]
    assert {path.stat().st_uid for path in made} == {os.geteuid()}


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("for n in range(10**6): open(f'/bot/{n}', 'w').close()", "files in its folder"),
        ("import os\nfor n in range(10**4): os.mkdir('x'); os.chdir('x')", "files in its folder"),
        HIDES,
        (
            "for n in range(1000):\n open(f'/bot/{n}', 'wb').write(bytes(1 << 20))",
            "No space left",
        ),
        (
            (
                "import os\nhidden = []\nfor n in range(100):\n"
                " hidden.append(open('/bot/x', 'wb'))\n"
                " os.unlink('/bot/x')\n hidden[-1].write(bytes(1 << 20))"
            ),
            "No space left",
        ),
        (
            (
                "import os\nfor n in range(100):\n os.truncate(os.open(f'/bot/{n}', 66), 2 << 20)\n"
                "raise SystemExit"
            ),
            "MiB in its folder",
        ),
    ],
    ids=["many", "deep", "hidden", "large", "unlinked", "holes"],
)
async def test_a_build_cannot_fill_the_disk(
    sandbox: BubblewrapSandbox, folder: Path, code: str, what: str
) -> None:
    """It has a file system of its own size."""
    folder = folder / "bot"
    folder.mkdir()
    limits = replace(SMALL, folder_bytes=8 << 20, folder_files=500)
    report = await run(sandbox, folder, code + "\nimport time; time.sleep(1000)",
                       writable=True, limits=limits)  # fmt: skip
    assert not report.succeeded
    assert what in report.exit.overuse + report.stderr


if os.geteuid() == 0:  # only root runs bots as other users

    async def test_every_running_bot_is_a_user_of_its_own(
        sandbox: BubblewrapSandbox, folder: Path
    ) -> None:
        """As root, no bot is root on the host, and no two are the same user."""
        mark = new_mark()
        processes = [
            start(sandbox, folder, "print(1, flush=True);" + SLEEP, mark) for _ in range(3)
        ]
        for process in processes:
            await printed(process)
        users = _users(mark)
        await asyncio.gather(*(process.stop(grace=0) for process in processes))
        assert 0 not in users
        assert len(users) == 3


def _users(mark: str) -> set[int]:
    """Return the users of processes that sleep inside, by what is in their commands."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words and b"--" not in words:
            found.add(entry.stat().st_uid)
    return found


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may read, and enter all folders above."""
    with tempfile.TemporaryDirectory(dir=TMP) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


async def test_no_view_is_built_where_everything_can_be_read(
    sandbox: BubblewrapSandbox, public: Path
) -> None:
    """A program of the system, in a readable folder, needs no outer bubblewrap."""
    command = BotCommand(("sh", "-c", "id -u; awk 'BEGIN {print 6 * 7}'; echo /*"), public)
    launch = sandbox.launch(command)
    launch.close_all()
    assert sum(word.endswith("/bwrap") for word in launch.argv) == 1
    report = await run_in_sandbox(command, sandbox, limit=timedelta(seconds=30))
    user, product, names = report.stdout.splitlines()
    assert (user, product) == ("65534", "42")
    assert set(names.split()) >= {"/bot", "/dev", "/etc", TMP, "/usr"}
    assert "/proc" not in names


async def test_without_a_view_bots_end_when_they_are_told(
    sandbox: BubblewrapSandbox, public: Path
) -> None:
    """Politely first, and for certain then."""
    mark = new_mark()
    script = "trap 'exit 4' TERM; echo up; while :; do sleep 0.05; done"
    for words, grace, code in ((script, 20.0, 4), ("trap '' TERM;" + script, 0.0, -9)):
        command = BotCommand(("sh", "-c", words, mark), public)
        process = BotProcess(command, sandbox, exited=lambda _: None)
        await printed(process)
        assert (await process.stop(grace=grace)).code == code
        assert await left(mark) == []
