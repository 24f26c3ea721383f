"""Drain a bot's output, and keep a bounded head and tail of it."""

from __future__ import annotations

import asyncio
import os

HEAD_BYTES = 64 << 10
TAIL_BYTES = 64 << 10
FREE_BYTES = 1 << 20
"""Bytes of output after which reads are throttled, so that a flood slows the bot alone."""

_CHUNK = 64 << 10
_PAUSE = 0.020
_LAST_READS = 16
"""A pipe holds at most 1 MiB, 16 chunks."""


class OutputRing:
    """Keep the first and the last bytes of a stream, and count the ``total``."""

    __slots__ = ("_head", "_tail", "total")

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Add bytes to the end of the stream."""
        self.total += len(data)
        room = HEAD_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        del self._tail[:-TAIL_BYTES]

    def text(self) -> str:
        """Return the head and tail, with a line that tells how many bytes are left out."""
        lost = self.total - len(self._head) - len(self._tail)
        gap = f"\n[... {lost} bytes left out ...]\n".encode() if lost else b""
        return (bytes(self._head) + gap + bytes(self._tail)).decode("utf-8", errors="replace")


class OutputPipe:
    """Drain a bot's stdout or stderr into ``ring``; the child inherits ``write_end``.

    Never waits for the end of the file: a grandchild may hold the other end for ever.
    """

    def __init__(self) -> None:
        self.ring = OutputRing()
        self._read_end, self.write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(self.write_end, True)
        self._loop = asyncio.get_running_loop()
        self._resume: asyncio.TimerHandle | None = None
        self._open = True
        self._loop.add_reader(self._read_end, self._readable)

    def close_write_end(self) -> None:
        """Close our copy of the child's end, once the child has it."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def close(self) -> None:
        """Read the rest of the pipe, then close it."""
        if not self._open:
            return
        self.close_write_end()
        # Bounded: an orphan may hold the other end and go on writing.
        for _ in range(_LAST_READS):
            if not (self._open and self._read()):
                break
        self._close_read_end()

    def _readable(self) -> None:
        self._read()
        if self._open and self.ring.total > FREE_BYTES:
            self._loop.remove_reader(self._read_end)
            self._resume = self._loop.call_later(_PAUSE, self._read_again)

    def _read_again(self) -> None:
        if self._open:
            self._loop.add_reader(self._read_end, self._readable)

    def _read(self) -> bool:
        """Read once; return whether there may be more now. Closes at the end of the stream."""
        try:
            data = os.read(self._read_end, _CHUNK)
        except BlockingIOError:
            return False
        self.ring.add(data)
        if not data:
            self._close_read_end()
        return len(data) == _CHUNK

    def _close_read_end(self) -> None:
        if self._open:
            self._open = False
            if self._resume is not None:
                self._resume.cancel()
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
