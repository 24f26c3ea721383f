"""The call that uploads a bot.

An archive is received whole into a file that nobody else sees, and judged only then: what was cut
off leaves nothing behind. From there on it is stored whether its caller waits for it or not.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
from datetime import timedelta
from typing import TYPE_CHECKING, BinaryIO, Final

from arena.api.gate import call, owner
from arena.api.messages import version_message
from arena.bots.registry import BotState
from arena.errors import InputError, NotFoundError
from arena.owners.tokens import Scope
from arena.uploads.limits import ARCHIVE_BYTES
from arena.v1 import bots_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from arena.api.backend import Backend
    from arena.bots.registry import Added

CHUNK: Final = 64 << 10
"""Bytes of a chunk."""

AT_ONCE: Final = 64
"""Archives that are received at the same time; others wait."""

STORED_AT_ONCE: Final = 8
"""Archives that are unpacked and stored at the same time, so that other calls go on meanwhile."""

SILENCE: Final = timedelta(seconds=20)
"""The longest wait for the next chunk."""

_LIMIT: Final = timedelta(minutes=5)
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class SubmissionCalls:
    """Answers the call that uploads a bot.

    Args:
        backend: the arena.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._room = asyncio.Semaphore(AT_ONCE)
        self._shelf = asyncio.Semaphore(STORED_AT_ONCE)
        self._storing: set[asyncio.Task[Added]] = set()

    @call(scope=Scope.AUTHOR, limit=_LIMIT)
    async def submit_version(
        self, requests: AsyncIterator[bots_pb2.SubmitVersionRequest]
    ) -> bots_pb2.SubmitVersionResponse:
        """Store an uploaded archive as a version."""
        await self._backend.limits.take_upload(owner())
        async with self._room:
            file: BinaryIO = tempfile.TemporaryFile(prefix="upload-")  # noqa: SIM115 -- `_store` closes it
            try:
                await _receive(requests, file)
            except BaseException:
                file.close()
                raise
            storing = asyncio.create_task(self._store(file))
            self._storing.add(storing)
            storing.add_done_callback(self._stored)
            added = await asyncio.shield(storing)
        return bots_pb2.SubmitVersionResponse(
            version=version_message(added.version, added.bot), is_new=added.is_new
        )

    async def finish(self) -> None:
        """Wait until everything that was received whole is stored."""
        await asyncio.gather(*self._storing, return_exceptions=True)

    async def _store(self, file: BinaryIO) -> Added:
        with file:
            async with self._shelf:
                file.seek(0)
                return await self._backend.submissions.store_upload(
                    file, owner=owner(), admit=self._admit, fit=self._fit
                )

    def _stored(self, storing: asyncio.Task[Added]) -> None:
        self._storing.discard(storing)
        if not storing.cancelled():
            # Its caller may be gone, and then nobody else asks for the error.
            storing.exception()

    async def _admit(self, name: str) -> None:
        """Hold a place among its owner's bots; another owner's bot is refused by the store."""
        registry = self._backend.registry
        try:
            if (await registry.bot(name)).owner != owner():
                return
        except NotFoundError:
            pass
        bots = await registry.bots(owner=owner())
        present = [bot.name for bot in bots if bot.state is not BotState.RETIRED]
        await self._backend.limits.hold_bot(owner(), name, present=present)

    async def _fit(self, name: str, digest: str) -> None:
        await self._backend.quota.fit(owner(), name, digest)


async def _receive(requests: AsyncIterator[bots_pb2.SubmitVersionRequest], file: BinaryIO) -> None:
    """Write an archive to a file.

    Raises:
        InputError: it is not what its header says, or too large.
        TimeoutError: nothing came for too long.
    """
    header = await _header(requests)
    sha256, size = hashlib.sha256(), 0
    while (request := await _next(requests)) is not None:
        if request.WhichOneof("content") != "chunk" or not 0 < len(request.chunk) <= CHUNK:
            raise InputError(
                f"behind the header come chunks of 1 to {CHUNK} bytes", reason="CHUNK_SIZE"
            )
        size += len(request.chunk)
        if size > header.size_bytes:
            raise InputError(
                f"more than the {header.size_bytes} bytes came that the header says",
                reason="UPLOAD_SIZE",
            )
        sha256.update(request.chunk)
        file.write(request.chunk)
    if size < header.size_bytes:
        raise InputError(
            f"the upload was cut off after {size} of {header.size_bytes} bytes; submit again",
            reason="UPLOAD_CUT_OFF",
        )
    if sha256.hexdigest() != header.sha256:
        raise InputError(
            f"the archive was changed on its way: its SHA-256 is {sha256.hexdigest()}, the header "
            f"says {header.sha256}; submit again",
            reason="DIGEST_MISMATCH",
        )


async def _header(
    requests: AsyncIterator[bots_pb2.SubmitVersionRequest],
) -> bots_pb2.UploadHeader:
    request = await _next(requests)
    if request is None or request.WhichOneof("content") != "header":
        raise InputError("an upload begins with its header", reason="HEADER_MISSING")
    header = request.header
    if not _SHA256.fullmatch(header.sha256):
        raise InputError("sha256 is 64 hexadecimal digits in lower case", reason="HEADER")
    if header.size_bytes > ARCHIVE_BYTES:
        raise InputError(
            f"an archive has at most {ARCHIVE_BYTES >> 20} MiB; leave out what the bot does not "
            "need",
            reason="UPLOAD_TOO_LARGE",
            facts={"limit_bytes": str(ARCHIVE_BYTES)},
        )
    if header.size_bytes < 1:
        raise InputError("size_bytes is the size of the archive", reason="HEADER")
    return header


async def _next(
    requests: AsyncIterator[bots_pb2.SubmitVersionRequest],
) -> bots_pb2.SubmitVersionRequest | None:
    async with asyncio.timeout(SILENCE.total_seconds()):
        return await anext(requests, None)
