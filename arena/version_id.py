"""The id of a bot's version, ``BOT@NUMBER``; an entry names either a bot or one of its versions."""

from __future__ import annotations

import re
from typing import Final, Self

from arena.errors import InputError

PATTERN: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,39})@([1-9][0-9]{0,8})")


class VersionId(str):
    """A version's id, ``greedy@3``: text, which is believed; `parse` checks it."""

    __slots__ = ()

    @classmethod
    def of(cls, bot: str, number: int) -> Self:
        """Return the id of a bot's version, counted from 1."""
        return cls(f"{bot}@{number}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the id that a text is.

        Raises:
            InputError: it is none.
        """
        if not PATTERN.fullmatch(text):
            raise InputError(f"{text!r} is no version; possible: {PATTERN.pattern}")
        return cls(text)

    @property
    def bot(self) -> str:
        """The name of the bot."""
        return bot_of(self)

    @property
    def number(self) -> int:
        """The version's number, from 1."""
        return int(self.partition("@")[2])


def bot_of(entry: str) -> str:
    """Return the name of the bot that an entry names, itself or by one of its versions."""
    return entry.partition("@")[0]


def is_version(entry: str) -> bool:
    """Return whether an entry names a version, not a bot."""
    return "@" in entry
