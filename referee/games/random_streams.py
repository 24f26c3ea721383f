"""Shuffle so that any language can rebuild it: SHA-256 counter streams and Fisher-Yates.

The bytes are normative and stand in proto/README.md with test vectors: block i of a stream is
SHA-256(key || name || 0x00 || i as 8 bytes big endian); its words are the 4-byte big-endian words
of block 0, 1, ...; the key is the seed if it has 32 bytes, else SHA-256 of the seed.
"""

from __future__ import annotations

import hmac
import re
from hashlib import sha256
from struct import unpack
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

SEED_BYTES = 32
_WORD_VALUES = 1 << 32
_SHORT = 1 << 16
_ALWAYS_FAIR = _WORD_VALUES - _SHORT  # for every limit up to _SHORT
_HEX_SEED = re.compile(r"[0-9a-fA-F]{64}")

_Item = TypeVar("_Item")


class RandomStream:
    """Generate 32-bit words without end, fixed by a seed and the name of a purpose.

    Args:
        seed: the key when it has 32 bytes; otherwise its SHA-256 is.
        name: ASCII, without a zero byte, for example ``deal/0``.
    """

    __slots__ = ("_block", "_prefix", "_words")

    def __init__(self, seed: bytes, name: str) -> None:
        key = seed if len(seed) == SEED_BYTES else sha256(seed).digest()
        self._prefix = key + name.encode("ascii") + b"\0"
        self._block = 0
        self._words: list[int] = []

    def word(self) -> int:
        """Return the next word, 0 to 2**32 - 1."""
        return (self._words or self._more_words(1)).pop()

    def below(self, limit: int) -> int:
        """Return a number from 0 to ``limit - 1``, each equally likely.

        Words that would favour small numbers are skipped; ``below(1)`` takes no word.

        Raises:
            ValueError: a limit outside 1 to 2**32.
        """
        if limit == 1:
            return 0
        if not 1 < limit <= _WORD_VALUES:
            raise ValueError(f"a limit is 1 to {_WORD_VALUES}, not {limit}")
        fair = _WORD_VALUES - _WORD_VALUES % limit
        while (word := self.word()) >= fair:
            pass
        return word % limit

    def shuffle(self, cards: list[Any]) -> None:
        """Shuffle in place: Fisher-Yates from the last index down to 1, each with `below`."""
        last = len(cards) - 1
        while last > 0:
            words = self._words or self._more_words((last + 7) // 8)
            if last < _SHORT and max(words) < _ALWAYS_FAIR:
                # `below`, in line, as long as these words last: it would skip none of them.
                for _ in range(min(last, len(words))):
                    other = words.pop() % (last + 1)
                    cards[last], cards[other] = cards[other], cards[last]
                    last -= 1
            else:
                other = self.below(last + 1)
                cards[last], cards[other] = cards[other], cards[last]
                last -= 1

    def _more_words(self, blocks: int) -> list[int]:
        """Replace the words, all used, by those of the next blocks; return them, the next last."""
        numbers = range(self._block, self._block + blocks)
        self._block += blocks
        prefix = self._prefix
        block_bytes = [sha256(prefix + number.to_bytes(8, "big")).digest() for number in numbers]
        self._words = words = list(unpack(f">{8 * blocks}I", b"".join(block_bytes)))
        words.reverse()
        return words


def shuffled(items: Iterable[_Item], stream: RandomStream) -> list[_Item]:
    """Return the items in the order that `RandomStream.shuffle` gives them."""
    cards = list(items)
    stream.shuffle(cards)
    return cards


def board_seed(match_seed: bytes, index: int) -> bytes:
    """Return the 32-byte seed of a match's board ``index`` (from 0): HMAC-SHA256 of the index.

    Args:
        match_seed: the HMAC's key, as it is.
        index: the message, as 8 bytes big endian.
    """
    return hmac.digest(match_seed, index.to_bytes(8, "big"), "sha256")


def seed_from_text(text: str) -> bytes:
    """Return the 32 bytes that 64 hexadecimal digits spell; any other text is hashed (UTF-8)."""
    if _HEX_SEED.fullmatch(text):
        return bytes.fromhex(text)
    return sha256(text.encode()).digest()
