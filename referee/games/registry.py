"""Find games by name, and parse rulesets, which name a game with its options.

A ruleset reads ``NAME`` or ``NAME:option=value,option=value``. Its canonical text sorts the options
and leaves out those that have their default. A game's module is imported when it is asked for.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from referee.errors import InvalidRulesetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from referee.games.base import Game, GameInfo, Option


# name: the module, and there the `GameInfo` and the function that builds the game from options
_ENTRIES = {
    "quasenbo": ("referee.games.quasenbo", "QUASENBO", "build_quasenbo"),
    "quasenbo-magnus": ("referee.games.quasenbo", "QUASENBO_MAGNUS", "build_quasenbo_magnus"),
    "pese-katesh": ("referee.games.pese_katesh", "INFO", "build"),
}


def games() -> list[GameInfo]:
    """Return the description of every game, in the order to be shown."""
    return [_load(name)[0] for name in _ENTRIES]


def _load(name: str) -> tuple[GameInfo, Callable[[Mapping[str, str]], Game]]:
    module, info, build = _ENTRIES[name]
    loaded = import_module(module)
    return getattr(loaded, info), getattr(loaded, build)


@lru_cache(maxsize=64)
def parse_ruleset(text: str) -> Game:
    """Return the game that a ruleset text names; its `Game.ruleset` is the canonical text.

    Games are values, and their tables take a millisecond to build: the latest are cached.

    Raises:
        InvalidRulesetError: an unknown name, option or value, an option given twice, or values
            that exclude each other; the message lists what exists.
    """
    name, colon, rest = text.strip().partition(":")
    if name not in _ENTRIES:
        raise InvalidRulesetError(f"there is no game {name!r}; there are {_listed(_ENTRIES)}")
    info, build = _load(name)
    return build(info.with_defaults(_parse_options(info, rest) if colon else {}))


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
