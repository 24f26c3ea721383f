"""Versions are built and tried behind walls, and play nowhere else."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from arena.bots.registry import VersionState
from arena.metrics import Metrics
from arena.queue.models import MatchPhase
from arena.worker.worker import Worker, WorkerOptions
from referee.sandbox.sandbox import PlainSandbox, Sandbox
from referee.sandbox.selftest import detect_sandbox
from tests.arena.check.making import HONEST, acting
from tests.arena.pipeline.line import TRIAL, Line
from tests.arena.queue.making import enqueue, make_spec
from tests.redis_server import EMBEDDED

pytestmark = [pytest.mark.redis, EMBEDDED]

WALLED = replace(TRIAL, allows_unsandboxed=False)


@pytest.fixture
async def walls() -> Sandbox:
    """The sandbox of this machine."""
    sandbox = await detect_sandbox()
    if sandbox.tier == PlainSandbox.tier:
        pytest.skip(f"no sandbox works here: {sandbox.why}")
    return sandbox


async def test_a_version_is_built_and_accepted_behind_walls(line: Line, walls: Sandbox) -> None:
    """The build may write its folder, and what it made plays."""
    code = f"open('made.py', 'w').write({HONEST!r})"
    lines = 'build = ["python", "bot.py"]'
    async with line.running(sandbox=walls, trial=WALLED):
        version = await line.tried(line.bot(code, lines, command='["python", "made.py"]'))
    assert version.state is VersionState.ACCEPTED, version.reason
    assert version.is_built


async def test_neither_build_nor_bot_see_the_machine(
    line: Line, walls: Sandbox, tmp_path: Path
) -> None:
    """What this user may read or write, they may not."""
    secret, mark = tmp_path / "secret", tmp_path / "mark"
    secret.write_text("hidden")
    tries = (
        "import contextlib\n"
        f"with contextlib.suppress(OSError):\n    print(open({str(secret)!r}).read())\n"
        f"with contextlib.suppress(OSError):\n    open({str(mark)!r}, 'w')\n"
    )
    built = f"{tries}open('made.py', 'w').write({tries + acting('return 1')!r})\nprint('built')\n"
    lines = 'build = ["python", "bot.py"]'
    async with line.running(sandbox=walls, trial=WALLED):
        version = await line.tried(line.bot(built, lines, command='["python", "made.py"]'))
    assert version.state is VersionState.REJECTED
    steps = await line.submissions.steps("it@1")
    assert steps[0].ok, steps[0].detail
    assert not any("hidden" in step.output for step in steps)
    assert not mark.exists()


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_worker_without_walls_plays_trusted_bots_alone(
    line: Line, *, trusted: bool
) -> None:
    """A match of another one is void until an operator sees it."""
    await line.registry.add_owner("ada")
    if trusted:
        await line.registry.add_folder(line.bot(), owner="ada")
    else:
        async with line.running():
            await line.tried(line.bot())
    await line.registry.add_folder(line.bot(name="other"), owner="ada")
    await line.queues.open_ladder("quasenbo")
    queue = line.queues.queue("quasenbo")
    await enqueue(queue, make_spec("m1", "it@1", "other@1", boards=1, time_control="5"))
    stopping = asyncio.Event()
    worker = Worker(
        line.arena,
        sandbox=PlainSandbox(why="none here"),
        metrics=Metrics(),
        metrics_port=0,
        options=WorkerOptions(
            name="w1", slots=2, cores=2, parallel_games=lambda _: 4, grace=timedelta(0)
        ),
    )
    task = asyncio.create_task(worker.run(stopping))
    wanted = {MatchPhase.DONE} if trusted else {MatchPhase.DELAYED, MatchPhase.DEAD}
    async with asyncio.timeout(30):
        while await queue.phase("m1") not in wanted:  # noqa: ASYNC110 -- Redis sets no event
            await asyncio.sleep(0.05)
    stopping.set()
    await task
