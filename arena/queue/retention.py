"""Moves the oldest log entries to the archive, and reads a whole log back."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final, Protocol

from arena.errors import ArenaError
from arena.queue import log_json
from arena.queue.ladder import Ladder
from arena.queue.log_entries import LogEntry, LoggedResult

KEEP: Final = 200_000
"""Entries of a ladder's log that stay in Redis."""

SEGMENT: Final = 5_000
"""Entries of one object in the archive."""

_BATCH: Final = 1_000
"""Entries dropped in one step, so that the server does not pause."""


class ResultsArchive(Protocol):
    """Stores old log entries; `arena.archive.archive.Archive` is one."""

    def put_results(self, ruleset: str, *, first: int, last: int, lines: bytes) -> None:
        """Store the entries ``first``..``last``; idempotent."""

    def results_segments(self, ruleset: str) -> list[tuple[int, int]]:
        """Return first and last sequence of every stored object, in order."""

    def get_results(self, ruleset: str, *, first: int, last: int) -> bytes:
        """Return what `put_results` stored."""


async def archive_old(
    ladder: Ladder, archive: ResultsArchive, *, keep: int = KEEP, segment: int = SEGMENT
) -> int:
    """Move whole segments of the oldest entries to the archive; return how many entries.

    An entry is dropped from Redis only after its segment was stored; after a crash in between the
    same segment is stored again.
    """
    moved = 0
    while True:
        ends = await ladder.ends()
        if ends.sequence - ends.archived - segment < keep:
            return moved
        last = ends.archived + segment
        entries = await _between(ladder, ends.archived, last)
        await asyncio.to_thread(
            archive.put_results,
            ladder.ruleset,
            first=ends.archived + 1,
            last=last,
            lines=log_json.encode(entries),
        )
        for start in range(0, segment, _BATCH):
            batch = entries[start : start + _BATCH]
            matches = [each.match_id for each in batch if isinstance(each, LoggedResult)]
            await ladder.trim(batch[-1].sequence, matches)
        moved += segment


async def _between(ladder: Ladder, after: int, last: int) -> list[LogEntry]:
    entries: list[LogEntry] = []
    while after < last:
        page = await ladder.entries(after=after, count=min(_BATCH, last - after))
        if not page or page[0].sequence != after + 1:
            raise ArenaError(f"entry {after + 1} of {ladder.ruleset}'s log is missing")
        entries += page
        after = page[-1].sequence
    return entries


async def whole_log(
    ladder: Ladder, archive: ResultsArchive | None, *, after: int = 0
) -> AsyncIterator[LogEntry]:
    """Yield every entry whose sequence is above ``after``, from the archive and then from Redis.

    Raises:
        ArenaError: an entry is in neither; nothing was archived under ``archive`` None.
    """
    while True:
        page = await ladder.entries(after=after)
        if not page:
            return
        if page[0].sequence != after + 1:
            page = await _archived(ladder, archive, after + 1)
        for entry in page:
            yield entry
        after = page[-1].sequence


async def _archived(
    ladder: Ladder, archive: ResultsArchive | None, sequence: int
) -> list[LogEntry]:
    """Return the entries from ``sequence`` to the end of its archived segment."""
    segments = [] if archive is None else archive.results_segments(ladder.ruleset)
    for first, last in segments:
        if archive is not None and first <= sequence <= last:
            text = await asyncio.to_thread(
                archive.get_results, ladder.ruleset, first=first, last=last
            )
            return [entry for entry in log_json.decode(text) if entry.sequence >= sequence]
    raise ArenaError(
        f"entry {sequence} of {ladder.ruleset}'s log is neither in Redis nor in the archive"
    )


def archived_result(archive: ResultsArchive, ruleset: str, match_id: str) -> LoggedResult | None:
    """Return the archived result of a match, if any; blocking; scans the log from its end."""
    mark = f'"match":"{match_id}"'.encode()
    for first, last in reversed(archive.results_segments(ruleset)):
        text = archive.get_results(ruleset, first=first, last=last)
        # Only the lines that name it are worth parsing.
        lines = b"\n".join(line for line in text.splitlines() if mark in line)
        for entry in log_json.decode(lines):
            if isinstance(entry, LoggedResult) and entry.match_id == match_id:
                return entry
    return None
