"""What bots print: bounded, and always drained."""

import asyncio
import os
import subprocess
import sys
import time

from hypothesis import given
from hypothesis import strategies as st

from referee.sandbox.output import HEAD_BYTES, TAIL_BYTES, OutputPipe, OutputRing


@given(st.lists(st.binary(max_size=70_000), max_size=8))
def test_a_ring_keeps_the_head_and_the_tail(pieces: list[bytes]) -> None:
    """However the output is cut into pieces, the first and the last bytes are there."""
    ring = OutputRing()
    for piece in pieces:
        ring.add(piece)
    whole = b"".join(pieces)
    assert ring.total == len(whole)
    if len(whole) <= HEAD_BYTES + TAIL_BYTES:
        assert ring.text() == whole.decode("utf-8", errors="replace")
    else:
        lost = len(whole) - HEAD_BYTES - TAIL_BYTES
        kept = whole[:HEAD_BYTES] + f"\n[... {lost} bytes left out ...]\n".encode()
        assert ring.text() == (kept + whole[-TAIL_BYTES:]).decode("utf-8", errors="replace")


async def test_what_is_in_the_pipe_at_the_end_is_kept() -> None:
    """Last words are read when the pipe is closed, even if the loop had no time before."""
    pipe = OutputPipe()
    os.write(pipe.write_end, b"last words")
    pipe.close()
    assert pipe.ring.text() == "last words"


async def test_closing_twice_does_no_harm() -> None:
    """The descriptors are closed once."""
    pipe = OutputPipe()
    pipe.close()
    pipe.close()


async def test_a_flood_is_drained_slowly_and_keeps_the_loop_free() -> None:
    """A bot that prints without end blocks itself, not the referee; memory stays bounded."""
    pipe = OutputPipe()
    with subprocess.Popen(  # noqa: ASYNC220 -- as the referee itself starts bots
        [sys.executable, "-c", "while True: print('x' * 10_000)"],
        stdout=pipe.write_end,
        stderr=subprocess.DEVNULL,
    ) as flood:
        pipe.close_write_end()
        ticks = 0
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            await asyncio.sleep(0.01)
            ticks += 1
        flood.kill()
    pipe.close()
    assert ticks > 20
    assert 1 << 20 < pipe.ring.total < 32 << 20
    assert len(pipe.ring.text()) < HEAD_BYTES + TAIL_BYTES + 100


async def test_closing_does_not_wait_for_somebody_who_goes_on_writing() -> None:
    """A process that got away may hold the other end for ever: the close is bounded."""
    pipe = OutputPipe()
    with subprocess.Popen(  # noqa: ASYNC220 -- likewise
        ["yes"], stdout=pipe.write_end, stderr=subprocess.DEVNULL
    ) as endless:
        pipe.close_write_end()
        await asyncio.sleep(0.05)
        pipe.close()
        assert endless.wait(5) != 0
