"""Loads the Lua transitions of what belongs to no ladder, and runs them by name.

A script's header names the parts of its keys, ``-- KEYS: versions claims``, in their order; that is
the only place where they stand. ``-- USES: events`` puts the named files of ``lua/lib`` in front.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from redis.asyncio import Redis

from arena.db.keys import arena_key

if TYPE_CHECKING:
    from redis.commands.core import AsyncScript

_LUA: Final = files("arena") / "lua"
_HEADER: Final = re.compile(r"^-- (KEYS|USES): ?(.*)$", re.MULTILINE)


@cache
def source(name: str) -> tuple[str, tuple[str, ...]]:
    """Return a transition's whole Lua text, libraries in front, and the parts of its keys."""
    text = (_LUA / f"{name}.lua").read_text()
    header = dict(_HEADER.findall(text))
    libraries = [
        (_LUA / "lib" / f"{library}.lua").read_text() for library in header["USES"].split()
    ]
    return "\n".join([*libraries, text]), tuple(header["KEYS"].split())


class Transitions:
    """The transitions, bound to a client.

    Args:
        redis: a client made by `arena.db.connection.connect`.
        key: makes a key of its part; by default one that belongs to the whole arena.
    """

    def __init__(self, redis: Redis, key: Callable[[str], str] = arena_key) -> None:
        self._redis = redis
        self._key = key
        self._bound: dict[str, tuple[AsyncScript, list[str]]] = {}

    async def run(self, name: str, *arguments: str | bytes | int) -> Any:
        """Run a transition and return the server's reply, texts as bytes.

        Raises:
            redis.exceptions.RedisError: the server does not answer, or the script failed.
        """
        if name not in self._bound:
            text, parts = source(name)
            self._bound[name] = self._redis.register_script(text), list(map(self._key, parts))
        script, keys = self._bound[name]
        return await script(keys=keys, args=arguments)
