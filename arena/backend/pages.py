"""Paginates long lists: a page token says where the next page begins.

A token belongs to its list and its filters: another list's is refused.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from arena.errors import InputError

_T = TypeVar("_T")
SIZE: Final = 50
MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Page(Generic[_T]):
    """A part of a list.

    Attributes:
        next_token: asks for the next page; "" when there is none.
    """

    entries: Sequence[_T]
    next_token: str = ""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list is wanted.

    Attributes:
        size: the most entries; 0 leaves it to the arena.
        token: of the page before; "" for the first one.
    """

    size: int = 0
    token: str = ""

    def cut(self, entries: Sequence[_T], *, of: Sequence[str]) -> Page[_T]:
        """Return the wanted part of a whole list, which a token counts into."""
        size, start = page_size(self.size), self.start(of=of)
        more = len(entries) > start + size
        token = page_token(start + size, of=of) if more else ""
        return Page(entries[start : start + size], token)

    def start(self, *, of: Sequence[str]) -> int:
        """Return the number of the first wanted entry of a list that tokens count into."""
        return max(0, place(self.token, int, of=of) or 0)

    def cut_by_name(
        self, entries: Sequence[_T], name: Callable[[_T], str], *, of: Sequence[str]
    ) -> Page[_T]:
        """Return the wanted part of a whole list that is sorted by names, one for each entry."""
        size, after = page_size(self.size), place(self.token, str, of=of) or ""
        left = [entry for entry in entries if name(entry) > after]
        token = page_token(name(left[size - 1]), of=of) if len(left) > size else ""
        return Page(left[:size], token)


def page_size(asked: int) -> int:
    """Return how many entries a page has."""
    if asked < 0:
        raise InputError(f"page_size is 0 to {MOST}, not {asked}", reason="PAGE_SIZE")
    return min(asked or SIZE, MOST)


def page_token(place: Any, *, of: Sequence[str]) -> str:
    """Return the token of the page that begins at a place.

    Args:
        place: anything that JSON can hold.
        of: names the list: the call and its filters.
    """
    text = json.dumps([_mark(of), place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode()


def place(token: str, kind: type[_T], *, of: Sequence[str]) -> _T | None:
    """Return the place that a token stands for; None for the empty token of the first page.

    Args:
        token: as `page_token` made it; it comes from outside.
        kind: what a place of this list is.
        of: as for `page_token`.

    Raises:
        InputError: a token that this list has never given.
    """
    if not token:
        return None
    try:
        mark, where = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        mark, where = "", None
    if mark != _mark(of) or not isinstance(where, kind):
        raise InputError(
            "this page_token belongs to another list; begin with an empty one", reason="PAGE_TOKEN"
        )
    return where


def _mark(of: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(of)).encode()).hexdigest()[:12]
