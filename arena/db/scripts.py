"""Loads Lua scripts, generates their arguments from their headers, and runs them.

A script ``arena/<package>/lua/<name>.lua`` begins with a sentence, then its header:

- ``-- USES: states``, where it needs any: files of ``arena/db/lua/lib`` that are put in front, each
  behind those that it uses itself.
- ``-- KEYS: lease event-counts``: keys, by their names in `arena.db.keys`; the body finds them in
  the table ``keys``, as ``keys.lease`` and ``keys.event_counts``.
- ``-- ARGV: match duration:number rated:flag rest...``: arguments, locals of the body; a number, or
  1 for true and anything else for false; ``...`` gathers what is left in a table. Lines that are
  indented by two spaces more may tell of units.
- ``-- Returns: ok | lost``.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from redis.asyncio import Redis

from arena.db.keys import KEY_NAMES, arena_key
from arena.ratings import elo

if TYPE_CHECKING:
    from redis.commands.core import AsyncScript

_ARGUMENT: Final = r"([a-z_]+)(:number|:flag|\.\.\.|)"
_HEADER: Final = re.compile(
    r"-- [^\n]+\n(?:-- USES: (?P<uses>[a-z ]+)\n)?"
    r"-- KEYS: (?P<keys>[a-z -]+(?:\n--   [a-z -]+)*)\n"
    r"-- ARGV:(?P<argv>(?: [a-z_]+(?::number|:flag)?)*(?: [a-z_]+\.\.\.)?)\n(?:--   [^\n]+\n)*"
    r"-- Returns: [^\n]+\n(?:--   [^\n]+\n)*"
)
_USES: Final = re.compile(r"^-- USES: (.*)$", re.MULTILINE)
_ELO_TABLE: Final = "@ELO_TABLE@"
_REST: Final = "..."
_LOCALS: Final = {
    "": "local {0} = ARGV[{1}]",
    ":number": "local {0} = tonumber(ARGV[{1}])",
    ":flag": "local {0} = ARGV[{1}] == '1'",
    _REST: "local {0} = {{}}\nfor at = {1}, #ARGV do\n  {0}[#{0} + 1] = ARGV[at]\nend",
}


@dataclass(frozen=True, slots=True)
class Script:
    """A script as it is sent to the server.

    Attributes:
        text: the whole Lua text.
        body: the source behind the header.
        gathers: whether the last argument stands for any number of values.
    """

    text: str
    body: str
    uses: tuple[str, ...]
    keys: tuple[str, ...]
    arguments: tuple[str, ...]
    gathers: bool

    def require_arguments(self, count: int) -> None:
        """Check the number of a call's arguments, or raise `TypeError`."""
        named = len(self.arguments) - self.gathers
        if count < named or (count > named and not self.gathers):
            raise TypeError(f"{count} arguments for {' '.join(self.arguments)}")


@cache
def load(package: str, name: str) -> Script:
    """Load a script of a package of the arena, such as ``queue``.

    Raises:
        ValueError: its header is malformed, or names an unknown key.
    """
    source = (files("arena") / package / "lua" / f"{name}.lua").read_text()
    header = _HEADER.match(source)
    if header is None:
        raise ValueError(f"{package}/lua/{name}.lua has no header of USES, KEYS, ARGV and Returns")
    keys = header["keys"].replace("\n--", "").split()
    if unknown := set(keys) - KEY_NAMES:
        raise ValueError(
            f"{package}/lua/{name}.lua names unknown keys: {', '.join(sorted(unknown))}"
        )
    table = ", ".join(f"{field(key)} = KEYS[{index}]" for index, key in enumerate(keys, start=1))
    arguments = re.findall(_ARGUMENT, header["argv"])
    numbered = enumerate(arguments, start=1)
    locals_ = [_LOCALS[form].format(word, index) for index, (word, form) in numbered]
    uses, body = (header["uses"] or "").split(), source[header.end() :]
    libraries = dict.fromkeys(each for use in uses for each in _closure(use))
    parts = [*map(library, libraries), f"local keys = {{{table}}}", *locals_, body]
    return Script(
        text="\n".join(parts),
        body=body,
        uses=tuple(uses),
        keys=tuple(keys),
        arguments=tuple(word for word, _ in arguments),
        gathers=any(form == _REST for _, form in arguments),
    )


def field(key: str) -> str:
    """Return a key's name in the table ``keys``."""
    return key.replace("-", "_")


def library(name: str) -> str:
    """Return the text of a file of ``lua/lib``, with the table of expected scores filled in."""
    text = (files("arena.db") / "lua" / "lib" / f"{name}.lua").read_text()
    return text.replace(_ELO_TABLE, elo.lua_table())


def _closure(name: str) -> Iterator[str]:
    """Yield the libraries that a library needs, then itself."""
    found = _USES.search(library(name))
    for each in found[1].split() if found else ():
        yield from _closure(each)
    yield name


class Scripts:
    """The scripts of a package, bound to a client and, by the function ``key``, to keys."""

    def __init__(self, redis: Redis, package: str, key: Callable[[str], str] = arena_key) -> None:
        self._redis = redis
        self._package = package
        self._key = key
        self._bound: dict[str, tuple[Script, AsyncScript, list[str]]] = {}

    async def run(self, name: str, *arguments: str | bytes | int) -> Any:
        """Run a script and return the server's reply, texts as bytes."""
        if name not in self._bound:
            script = load(self._package, name)
            keys = [self._key(each) for each in script.keys]
            self._bound[name] = script, self._redis.register_script(script.text), keys
        script, call, keys = self._bound[name]
        script.require_arguments(len(arguments))
        return await call(keys=keys, args=arguments)
