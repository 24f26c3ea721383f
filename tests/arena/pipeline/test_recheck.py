"""An operator lets a rejected version be tried again."""

from dataclasses import replace

import pytest

from arena.bots.registry import RejectionCause, VersionState
from arena.errors import NotFoundError, PreconditionError
from referee.sandbox.sandbox import PlainSandbox
from tests.arena.check.making import HONEST
from tests.arena.pipeline.line import TRIAL, Line
from tests.redis_server import EMBEDDED

pytestmark = pytest.mark.redis


async def test_an_operator_lets_a_rejected_version_be_tried_again(line: Line) -> None:
    """Once, when its owner sends the same folder; then what the arena has now counts."""
    with pytest.raises(NotFoundError, match="there is no version it@1"):
        await line.submissions.recheck("it@1")
    tool = line.top.parent / "tool"
    folder = line.bot(f"import sys\nsys.path.append({str(tool)!r})\nimport tool\n{HONEST}")
    async with line.running():
        first = await line.tried(folder)
        assert first.state is VersionState.REJECTED
        tool.mkdir()
        (tool / "tool.py").touch()
        assert (await line.submit(folder)).version == first
        assert not await line.submissions.recheck("it@1")
        assert await line.registry.version("it@1") == first
        again = await line.submit(folder)
        assert (again.is_new, again.version.id) == (False, "it@1")
        assert (await line.settled("it@1")).state is VersionState.ACCEPTED
    assert await line.is_active("it@1")
    assert all(step.ok for step in await line.submissions.steps("it@1"))
    with pytest.raises(PreconditionError, match="it@1 is accepted; only a rejected one"):
        await line.submissions.recheck("it@1")


async def test_a_version_whose_recheck_fails_is_rejected_for_good(line: Line) -> None:
    """One recheck is one trial: the next submission is told its verdict."""
    folder = line.bot("raise SystemExit(1)")
    async with line.running():
        await line.tried(folder)
        await line.submissions.recheck("it@1")
        assert (await line.tried(folder)).state is VersionState.REJECTED
        assert (await line.submit(folder)).version.state is VersionState.REJECTED


@EMBEDDED
async def test_a_version_that_is_still_stored_waits_at_once(line: Line) -> None:
    """What was rejected for our own fault needs no second submission."""
    folder = line.bot()
    async with line.running(sandbox=PlainSandbox(), trial=replace(TRIAL, allows_unsandboxed=False)):
        assert (await line.tried(folder)).cause is RejectionCause.ARENA
    assert await line.submissions.recheck("it@1")
    async with line.running():
        assert (await line.settled("it@1")).state is VersionState.ACCEPTED
