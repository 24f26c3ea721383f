"""Convert bit masks of cards to texts, for every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MEMO_LIMIT = 1 << 15


class MaskTexts(dict[int, tuple[str, ...]]):
    """Map a bit mask to the texts of its bits, lowest bit first; memoized.

    The memory is emptied when it holds 32,768 masks, so that a long-lived process stays small.

    Args:
        texts: the text of each bit.
    """

    __slots__ = ("_texts",)

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        self._texts = texts

    def __missing__(self, mask: int) -> tuple[str, ...]:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        texts = self._texts
        found = []
        rest = mask
        while rest:
            low = rest & -rest
            found.append(texts[low.bit_length() - 1])
            rest ^= low
        self[mask] = told = tuple(found)
        return told
