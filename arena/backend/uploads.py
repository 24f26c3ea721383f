"""Receives uploads of bots and stores them.

An archive is received whole into a file that nobody else sees, and judged only then: what was cut
off leaves nothing behind. From there on it is stored whether its caller waits for it or not.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final

from arena.backend.access import Service, authorized
from arena.bots.placement import update_ladders
from arena.bots.registry import BotState
from arena.errors import InputError, NotFoundError
from arena.owners.tokens import Scope
from arena.uploads.archive_limits import ARCHIVE_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from arena.backend.access import Caller
    from arena.backend.backend import Backend
    from arena.bots.registry import AddedVersion

CHUNK: Final = 64 << 10
"""Bytes of a chunk."""

AT_ONCE: Final = 64
"""Archives that are received at the same time; others wait."""

OWNED_AT_ONCE: Final = 4
"""Archives of one owner that are received at the same time; others of that owner wait."""

DURATION: Final = timedelta(minutes=5)
"""The longest time in which an archive may come."""

STORED_AT_ONCE: Final = 8
"""Archives that are unpacked and stored at the same time, so that other calls go on meanwhile."""

SILENCE: Final = timedelta(seconds=20)
"""The longest wait for the next chunk."""

HOUSE: Final = "house"
"""The owner whose bots may meet each other."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What an upload will bring.

    Attributes:
        sha256: of the archive, 64 hexadecimal digits.
        size_bytes: of the archive.
        owner: whose bot an administrator adds; "" for `HOUSE`.
    """

    sha256: str
    size_bytes: int
    owner: str = ""


Piece = Header | bytes
"""What an upload is made of: its header, then chunks of a tar.gz."""


class Uploads(Service):
    """Receives and stores uploaded bots."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._room = asyncio.Semaphore(AT_ONCE)
        self._shelf = asyncio.Semaphore(STORED_AT_ONCE)
        self._shares = defaultdict[str, asyncio.Semaphore](
            partial(asyncio.Semaphore, OWNED_AT_ONCE)
        )
        self._storing: set[asyncio.Task[tuple[AddedVersion, int]]] = set()

    @authorized(Scope.AUTHOR)
    async def submit_version(self, caller: Caller, pieces: AsyncIterator[Piece]) -> AddedVersion:
        """Store an uploaded archive as a version that is tried next.

        Raises:
            InputError: it is not what its header says, or holds no bot that can be played.
            TimeoutError: the next piece did not come.
        """
        owner = caller.owner

        async def store(file: BinaryIO, header: Header) -> tuple[AddedVersion, int]:
            del header
            added = await self._backend.submissions.store_upload(
                file,
                owner=owner,
                admit=lambda name: self._admit(owner, name),
                fit=lambda name, digest: self._backend.quota.fit_upload(owner, name, digest),
            )
            return added, 0

        await self._backend.limits.take_upload(owner)
        return (await self._receive_and_store(owner, pieces, store))[0]

    @authorized(Scope.ADMIN)
    async def add_bot(
        self, caller: Caller, pieces: AsyncIterator[Piece]
    ) -> tuple[AddedVersion, int]:
        """Add an uploaded archive as the active version of its bot, trusted, on its ladders.

        Returns also how many of its matches were cancelled on other ladders.
        """

        async def store(file: BinaryIO, header: Header) -> tuple[AddedVersion, int]:
            owner = header.owner or HOUSE
            await self._backend.registry.add_owner(owner)
            added = await self._backend.submissions.add_upload(
                file, owner=owner, house=owner == HOUSE
            )
            registry, queues = self._backend.registry, self._backend.queues
            return added, await update_ladders(registry, queues, added.bot.name)

        return await self._receive_and_store(caller.owner, pieces, store)

    async def _receive_and_store(
        self,
        sender: str,
        pieces: AsyncIterator[Piece],
        store: Callable[[BinaryIO, Header], Awaitable[tuple[AddedVersion, int]]],
    ) -> tuple[AddedVersion, int]:
        async with self._shares[sender], self._room:
            file: BinaryIO = tempfile.TemporaryFile(prefix="upload-")  # noqa: SIM115 -- `_store` closes it
            try:
                async with asyncio.timeout(DURATION.total_seconds()):
                    header = await _receive(pieces, file)
            except BaseException:
                file.close()
                raise
            storing = asyncio.create_task(self._store(file, header, store))
            self._storing.add(storing)
            storing.add_done_callback(self._stored)
            return await asyncio.shield(storing)

    async def finish(self) -> None:
        """Wait until everything that was received whole is stored."""
        await asyncio.gather(*self._storing, return_exceptions=True)

    async def _store(
        self,
        file: BinaryIO,
        header: Header,
        store: Callable[[BinaryIO, Header], Awaitable[tuple[AddedVersion, int]]],
    ) -> tuple[AddedVersion, int]:
        with file:
            async with self._shelf:
                file.seek(0)
                return await store(file, header)

    def _stored(self, storing: asyncio.Task[tuple[AddedVersion, int]]) -> None:
        self._storing.discard(storing)
        if not storing.cancelled():
            # Its caller may be gone, and then nobody else asks for the error.
            storing.exception()

    async def _admit(self, owner: str, name: str) -> None:
        """Hold a place among its owner's bots; another owner's bot is refused by the store."""
        registry = self._backend.registry
        try:
            if (await registry.bot(name)).owner != owner:
                return
        except NotFoundError:
            pass
        bots = await registry.bots(owner=owner)
        present = [bot.name for bot in bots if bot.state is not BotState.RETIRED]
        await self._backend.limits.hold_bot(owner, name, present=present)


async def _receive(pieces: AsyncIterator[Piece], file: BinaryIO) -> Header:
    """Write an archive to a file and check it against its header; return the header."""
    header = await _header(pieces)
    sha256, size = hashlib.sha256(), 0
    while (chunk := await _next(pieces)) is not None:
        if not isinstance(chunk, bytes) or not 0 < len(chunk) <= CHUNK:
            raise InputError(
                f"behind the header come chunks of 1 to {CHUNK} bytes", reason="CHUNK_SIZE"
            )
        size += len(chunk)
        if size > header.size_bytes:
            raise InputError(
                f"more than the {header.size_bytes} bytes came that the header says",
                reason="UPLOAD_SIZE",
            )
        sha256.update(chunk)
        file.write(chunk)
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
    return header


async def _header(pieces: AsyncIterator[Piece]) -> Header:
    header = await _next(pieces)
    if not isinstance(header, Header):
        raise InputError("an upload begins with its header", reason="HEADER_MISSING")
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


async def _next(pieces: AsyncIterator[Piece]) -> Piece | None:
    async with asyncio.timeout(SILENCE.total_seconds()):
        return await anext(pieces, None)
