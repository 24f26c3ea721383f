"""The connection to Redis: a task that is cancelled while it writes ends."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from redis.asyncio.connection import AbstractConnection

from arena.db.connection import connect
from tests.redis_server import RedisServer


async def test_a_cancellation_as_the_write_ends_is_not_lost(
    shared_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task ends, and the next command gets its own answer and not the one left behind."""
    redis = await connect(shared_server.url)
    written: Any = AbstractConnection._send_packed_command

    async def cancelled_at_the_end(self: Any, command: Iterable[bytes]) -> None:
        await written(self, command)
        monkeypatch.undo()
        task.cancel()

    async def ask() -> None:
        await redis.set("key", "first")
        monkeypatch.setattr(AbstractConnection, "_send_packed_command", cancelled_at_the_end)
        await redis.set("key", "second")
        await asyncio.Event().wait()

    task = asyncio.ensure_future(ask())
    try:
        done, _ = await asyncio.wait({task}, timeout=10)
        assert done
        assert task.cancelled()
        assert await redis.echo("mine") == b"mine"
    finally:
        task.cancel()
        await redis.aclose()
