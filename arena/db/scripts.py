"""Loads the Lua transitions and runs them by name.

A script's header names its keys, ``-- KEYS: lease spec state``, in their order; that is the only
place where they stand. ``-- USES: states reaping`` puts the named files of ``lua/lib`` in front.
"""

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Self

from redis.asyncio import Redis

from arena.db.keys import ARENA_KEYS, LADDER_KEYS, arena_key, ladder_key
from arena.ratings import elo

if TYPE_CHECKING:
    from redis.commands.core import AsyncScript

_LUA: Final = files("arena.queue") / "lua"
_HEADER: Final = re.compile(r"^-- (KEYS|USES): ?(.*)$", re.MULTILINE)
_ELO_TABLE: Final = "@ELO_TABLE@"


@cache
def source(name: str) -> tuple[str, tuple[str, ...]]:
    """Return a transition's whole Lua text, libraries in front, and the parts of its keys."""
    text = (_LUA / f"{name}.lua").read_text()
    header = dict(_HEADER.findall(text))
    libraries = map(library, header["USES"].split())
    return "\n".join([*libraries, text]), tuple(header["KEYS"].split())


def library(name: str) -> str:
    """Return the text of a file of ``lua/lib``, with the table of expected scores filled in."""
    return (_LUA / "lib" / f"{name}.lua").read_text().replace(_ELO_TABLE, elo.lua_table())


class Scripts:
    """The transitions of one ladder, or of the arena, bound to a client."""

    def __init__(self, redis: Redis, keys: dict[str, str]) -> None:
        self._redis = redis
        self._keys = keys
        self._bound: dict[str, tuple[AsyncScript, list[str]]] = {}

    @classmethod
    def of(cls, redis: Redis, ruleset: str | None = None) -> Self:
        """Return the transitions of a ruleset's ladder; without one, those of the arena."""
        if ruleset is None:
            return cls(redis, {part: arena_key(part) for part in ARENA_KEYS})
        return cls(redis, {part: ladder_key(ruleset, part) for part in LADDER_KEYS})

    async def run(self, name: str, *arguments: str | bytes | int) -> Any:
        """Run a transition and return the server's reply, texts as bytes.

        Raises:
            redis.exceptions.RedisError: the server does not answer, or the script failed.
        """
        if name not in self._bound:
            text, parts = source(name)
            keys = [self._keys[part] for part in parts]
            self._bound[name] = self._redis.register_script(text), keys
        script, keys = self._bound[name]
        return await script(keys=keys, args=arguments)
