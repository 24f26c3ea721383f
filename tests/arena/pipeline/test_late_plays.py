"""A worker that lost the lease of a match after it had played it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arena.archive.archive import Archive
from arena.metrics import Metrics
from arena.queue.models import Committed, Lease
from arena.worker.worker import Worker, WorkerOptions
from referee.sandbox.sandbox import PlainSandbox
from tests.arena.pipeline.line import Line
from tests.arena.queue.making import enqueue, make_result, make_spec, take
from tests.redis_server import EMBEDDED

pytestmark = [pytest.mark.redis, EMBEDDED]


class LateArchive(Archive):
    """Stores a replay only after something else has happened."""

    def __init__(self, folder: Path, before: Callable[[], Awaitable[None]]) -> None:
        super().__init__(str(folder / "archive"), cache=folder / "cache")
        self._before = before
        self._loop = asyncio.get_running_loop()

    def put_replay(self, ruleset: str, match_id: str, data: bytes) -> bytes:
        """Store it late."""

        async def wait() -> None:
            await self._before()

        asyncio.run_coroutine_threadsafe(wait(), self._loop).result()
        return super().put_replay(ruleset, match_id, data)


@pytest.mark.parametrize("left", [[b"committed"], []], ids=["played elsewhere", "cancelled"])
async def test_a_play_that_does_not_count_is_removed(
    left: list[bytes], line: Line, tmp_path: Path
) -> None:
    """The archive holds what was committed and nothing else."""
    await line.registry.add_owner("ada")
    for name in ("it", "other"):
        await line.registry.add_folder(line.bot(name=name), owner="ada")
    await line.queues.open_ladder("quasenbo")
    queue = line.queues.queue("quasenbo")
    await enqueue(queue, make_spec("m1", "it@1", "other@1", boards=1, time_control="5"))
    stopping, leases = asyncio.Event(), list[Lease]()

    async def intervene() -> None:
        stopping.set()
        if not left:
            await queue.cancel("m1")
            return
        await queue.release(leases[0], reason="as if it had expired")
        digest = line.archive.put_replay("quasenbo", "m1", b"committed")
        reply = await queue.commit(await take(queue), replace(make_result(), digest=digest))
        assert reply.answer is Committed.COMMITTED

    worker = Worker(
        replace(line.arena, archive=LateArchive(tmp_path, intervene)),
        sandbox=PlainSandbox(why="none here"),
        metrics=Metrics(),
        metrics_port=0,
        options=WorkerOptions(name="w1", slots=2, cores=2, parallel_games=lambda _: 4),
    )
    start = worker._start

    def note(lease: Lease) -> None:
        leases.append(lease)
        start(lease)

    worker._start = note  # type: ignore[method-assign]
    async with asyncio.timeout(25):
        await worker.run(stopping)
    archived = [path.read_bytes() for path in (tmp_path / "archive").rglob("m1@*")]
    assert archived == left
