"""Long lists in pages: a page token says where the next one begins.

A token belongs to its list and its filters: another list's is refused.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from arena.errors import InputError

_T = TypeVar("_T")
SIZE: Final = 50
MOST: Final = 100


def page_size(asked: int) -> int:
    """Return how many entries a page has.

    Raises:
        InputError: a negative number.
    """
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
