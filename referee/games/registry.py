"""Find games by name, and parse rulesets, which name a game with its options.

A ruleset reads ``NAME`` or ``NAME:option=value,option=value``. Its canonical text sorts the options
and leaves out those that have their default. A game's module is imported when it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from referee.errors import InvalidRulesetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from referee.games.base import Game, GameInfo, Option


@dataclass(frozen=True, slots=True)
class _Entry:
    """Locate a game: its module, and there its `GameInfo` and its builder."""

    module: str
    info: str
    build: str

    def load_info(self) -> GameInfo:
        return cast("GameInfo", getattr(import_module(self.module), self.info))

    def load_build(self) -> Callable[[Mapping[str, str]], Game]:
        return cast(
            "Callable[[Mapping[str, str]], Game]", getattr(import_module(self.module), self.build)
        )


_ENTRIES = {
    "quasenbo": _Entry("referee.games.quasenbo", "QUASENBO", "build_quasenbo"),
    "quasenbo-magnus": _Entry("referee.games.quasenbo", "QUASENBO_MAGNUS", "build_quasenbo_magnus"),
    "pese-katesh": _Entry("referee.games.pese_katesh", "INFO", "build"),
}


def games() -> list[GameInfo]:
    """Return what there is to know of every game, in the order to be shown."""
    return [entry.load_info() for entry in _ENTRIES.values()]


@lru_cache(maxsize=64)
def parse_ruleset(text: str) -> Game:
    """Return the game that a ruleset text names; its `Game.ruleset` is the canonical text.

    Games are values, and their tables take a millisecond to make: the latest are remembered.

    Raises:
        InvalidRulesetError: an unknown name, option or value, an option given twice, or values
            that exclude each other; the message lists what exists.
    """
    name, colon, rest = text.strip().partition(":")
    entry = _ENTRIES.get(name)
    if entry is None:
        raise InvalidRulesetError(f"there is no game {name!r}; there are {_listed(_ENTRIES)}")
    info = entry.load_info()
    options = info.with_defaults(_parse_options(info, rest) if colon else {})
    return entry.load_build()(options)


def _parse_options(info: GameInfo, text: str) -> dict[str, str]:
    known = {option.name: option for option in info.options}
    given: dict[str, str] = {}
    for word in text.split(","):
        name, equals, value = (part.strip() for part in word.partition("="))
        if name not in known:
            raise InvalidRulesetError(
                f"{info.name} has no option {name!r}; its options are {_listed(known)}"
            )
        if not equals or value not in known[name].values:
            raise InvalidRulesetError(_value_message(info, known[name], value))
        if name in given:
            raise InvalidRulesetError(
                f"option {name!r} of {info.name} is given twice; each of {_listed(known)} "
                "stands once at most"
            )
        given[name] = value
    return given


def _value_message(info: GameInfo, option: Option, value: str) -> str:
    asked = f"{option.name}={value}" if value else f"{option.name!r} without a value"
    values = _listed(option.values)
    return f"{info.name} does not take {asked}; the values of {option.name} are {values}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
