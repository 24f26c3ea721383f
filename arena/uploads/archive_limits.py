"""Limits an archive's sizes and counts."""

from typing import Final

from arena.errors import InputError

ARCHIVE_BYTES: Final = 10 << 20
TOTAL_BYTES: Final = 64 << 20
FILE_BYTES: Final = 32 << 20
ENTRIES: Final = 1000
"""Files and folders together, those that only a path names included."""

DEPTH: Final = 12
SEGMENT_CHARACTERS: Final = 100
PATH_CHARACTERS: Final = 240
RATIO: Final = 200
"""Unpacked bytes to one of the archive; what is smaller than `RATIO_FREE_BYTES` is not asked."""

RATIO_FREE_BYTES: Final = 1 << 20


class UploadRefusedError(InputError):
    """An archive is refused; the message names the entry and the rule."""


def refuse(entry: str, what: str) -> UploadRefusedError:
    """Return the error for one entry; its name is cut off if need be."""
    shown = entry if len(entry) <= PATH_CHARACTERS else f"{entry[:PATH_CHARACTERS]}..."
    return UploadRefusedError(f"{shown!r} {what}")


class Meter:
    """Counts the bytes unpacked from an archive of ``archive_bytes``."""

    def __init__(self, archive_bytes: int) -> None:
        self.total = 0
        self._archive_bytes = archive_bytes

    def add(self, count: int) -> None:
        """Count bytes, or raise `UploadRefusedError` beyond the size or the ratio."""
        self.total += count
        if self.total > TOTAL_BYTES:
            raise UploadRefusedError(
                f"the archive holds more than {TOTAL_BYTES >> 20} MiB; leave out what the bot "
                "does not need"
            )
        if self.total > max(RATIO_FREE_BYTES, RATIO * self._archive_bytes):
            raise UploadRefusedError(
                f"the archive unpacks to more than {RATIO} times its own size, which no bot needs"
            )
