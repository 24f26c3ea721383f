"""Validates the names of an archive's entries.

A name must mean the same file on every system, and nothing outside of the bot's folder.
"""

import re
import unicodedata
from typing import Final

from arena.uploads.archive_limits import DEPTH, ENTRIES, PATH_CHARACTERS, SEGMENT_CHARACTERS, refuse

_DEVICE: Final = re.compile(
    r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])( *\..*)? *", re.IGNORECASE
)
_DRIVE: Final = re.compile(r"[A-Za-z]:")


def segments_of(name: str) -> tuple[str, ...]:
    """Return the parts of an entry's path, or raise `UploadRefusedError`.

    A leading ``./`` and the ``/`` behind a folder's name are stripped; () is the bot's folder.
    """
    _judge_characters(name)
    if len(name) > PATH_CHARACTERS:
        raise refuse(name, f"is longer than {PATH_CHARACTERS} characters")
    path = name.removeprefix("./").removesuffix("/")
    if path in {"", "."}:
        return ()
    segments = tuple(path.split("/"))
    if len(segments) > DEPTH:
        raise refuse(name, f"lies more than {DEPTH} folders deep")
    for segment in segments:
        _judge_segment(name, segment)
    return segments


def _judge_characters(name: str) -> None:
    if name.startswith("/"):
        raise refuse(name, "is an absolute path; paths start in the bot's folder")
    if "\\" in name:
        raise refuse(name, "has a backslash; folders are parted by /")
    for character in name:
        # Cc: control characters, NUL among them; Cs: what was no UTF-8; Cf: invisible ones.
        if unicodedata.category(character) in {"Cc", "Cs", "Cf"}:
            raise refuse(name, "has a character that cannot be shown; rename the file")


def _judge_segment(name: str, segment: str) -> None:
    if segment == "..":
        raise refuse(name, "has a .. in its path; paths stay in the bot's folder")
    if segment in {"", "."}:
        raise refuse(name, "has an empty part in its path")
    if len(segment) > SEGMENT_CHARACTERS or len(segment.encode()) > 2 * SEGMENT_CHARACTERS:
        raise refuse(name, f"has a part of more than {SEGMENT_CHARACTERS} characters")
    plain = unicodedata.normalize("NFKC", segment)
    if "/" in plain or "\\" in plain or plain in {".", ".."}:
        raise refuse(name, "has a character that looks like one of a path; rename the file")
    if _DEVICE.fullmatch(plain) or _DRIVE.match(plain):
        raise refuse(name, "is the name of a device on some systems; rename it")


class Names:
    """The names of one archive, unique on case-insensitive and normalizing systems, too."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[tuple[str, ...], bool]] = {}

    def add(self, segments: tuple[str, ...], *, is_folder: bool) -> list[tuple[str, ...]]:
        """Add an entry and its parent folders; return the folders that are new, outermost first.

        Raises:
            UploadRefusedError: a name that is taken, differs from another in letter case or form
                alone, or is a file's and a folder's at once; or too many entries.
        """
        above = (segments[:length] for length in range(1, len(segments)))
        fresh = [folder for folder in above if self._note(folder, is_folder=True)]
        if self._note(segments, is_folder=is_folder):
            if is_folder:
                fresh.append(segments)
        elif not is_folder:
            raise refuse("/".join(segments), "is there twice")
        if len(self._known) > ENTRIES:
            raise refuse("/".join(segments), f"is one too many: {ENTRIES} files and folders is all")
        return fresh

    def _note(self, segments: tuple[str, ...], *, is_folder: bool) -> bool:
        """Return whether a name is new."""
        folded = tuple(_folded(segment) for segment in segments)
        known = self._known.get(folded)
        if known is None:
            self._known[folded] = (segments, is_folder)
            return True
        if known[0] != segments:
            raise refuse(
                "/".join(segments),
                f"and {'/'.join(known[0])!r} are the same name on some systems; rename one",
            )
        if known[1] is not is_folder:
            raise refuse("/".join(segments), "is a file and a folder at once")
        return False


def _folded(segment: str) -> str:
    """Return a form that is equal for names that some file system cannot tell apart."""
    plain = unicodedata.normalize("NFKC", segment).casefold()
    # Folding can leave a form that is not normal, and Windows drops what stands last.
    return unicodedata.normalize("NFKC", plain).rstrip(". ")
