"""The names of every key in Redis.

All keys of a ladder carry its hash tag, ``{l:<ruleset>}``, and all others the tag ``{arena}``, so
that a script's keys share one slot of a cluster.
"""

from datetime import timedelta
from typing import Final

LADDER_KEYS: Final = (
    "ready",  # ZSET match -> start tag of fair queueing
    "lease",  # ZSET match -> deadline, ms
    "spec",  # HASH match -> JSON
    "state",  # HASH match -> state line, see lua/lib/states.lua
    "done",  # HASH match -> sequence and fence of the commit
    "delayed",  # ZSET match -> when it is ready again, ms; paused matches far in the future
    "dead",  # ZSET match -> since when, ms
    "flows",  # HASH flow -> "finish weight paused"
    "log",  # STREAM of results, entries and annulments, id "<sequence>-0"
    "rating",  # HASH bot -> micro-Elo
    "games",  # HASH version -> rated matches
    "ladder",  # ZSET bot -> micro-Elo
    "meta",  # HASH: sequence, bank, schema, epoch, vtime, archived
)
"""The parts of a ladder's keys, the closed set that scripts declare."""

ARENA_KEYS: Final = (
    "ladders",  # SET of rulesets
    "share",  # HASH ruleset -> finish tag of the sharing between ladders; "" -> virtual time
    "leader",  # HASH: holder, epoch, deadline
)
"""The parts of the queues' keys that belong to no ladder."""


def ladder_key(ruleset: str, part: str) -> str:
    """Return the key of a part (one of `LADDER_KEYS`) of a ruleset's ladder."""
    return f"{{l:{ruleset}}}:{part}"


def arena_key(part: str) -> str:
    """Return the key of a part (one of `ARENA_KEYS`) that belongs to no ladder."""
    return f"{{arena}}:{part}"


def milliseconds(duration: timedelta) -> int:
    """Return a duration as scripts take it, in whole milliseconds."""
    return round(duration / timedelta(milliseconds=1))
