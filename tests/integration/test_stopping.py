"""A part that is told to stop while it starts, or while Redis is away, ends all the same."""

import os
import signal
import subprocess
import sys

import pytest

from arena.processes.lifecycle import PARENT
from tests.service_kit import Service, eventually

pytestmark = pytest.mark.redis

PARTS = ("scheduler", "worker", "serve", "pipeline")


@pytest.mark.parametrize("part", PARTS)
def test_a_part_whose_parent_is_gone_ends_at_its_start(service: Service, part: str) -> None:
    """Being told to stop before anything has begun ends a part in order."""
    process = service.start(part, **{PARENT: "1"})
    assert process.wait(60) == 0


@pytest.mark.parametrize("part", PARTS)
async def test_a_part_that_waits_for_redis_can_be_stopped(alone: Service, part: str) -> None:
    """Below a supervisor a part waits for its server, but no longer than it shall run."""
    address = f"unix://{alone.folder}/nobody"
    with (alone.folder / "part.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: ASYNC220 -- a fork of another has no such parent
            [sys.executable, "-m", "arena", part, "--redis-url", address],
            env={**alone.environment, PARENT: str(os.getpid())},
            stderr=log,
        )
    alone.processes.append(process)

    async def waits() -> bool:
        return any(line["event"] == "redis not reached" for line in alone.logs())

    await eventually(waits)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 2
