"""Names every key in Redis.

All keys of a ladder carry its hash tag, ``{l:<ruleset>}``, those of a competition or a league
``{c:<id>}``, and all others the tag ``{arena}``, so that a script's keys share one slot of a
cluster.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

LADDER_KEYS: Final = (
    "ready",  # ZSET match -> start tag of fair queueing
    "lease",  # ZSET match -> deadline, ms
    "spec",  # HASH match -> JSON
    "state",  # HASH match -> state line, see arena/db/lua/lib/states.lua
    "done",  # HASH match -> sequence and fence of the commit
    "delayed",  # ZSET match -> when it is ready again, ms; paused matches far in the future
    "dead",  # ZSET match -> since when, ms
    "flows",  # HASH flow -> "finish weight paused"
    "log",  # STREAM of results, entries and annulments, id "<sequence>-0"
    "rating",  # HASH bot -> micro-Elo
    "games",  # HASH version -> rated matches
    "ladder",  # ZSET bot -> micro-Elo
    "meta",  # HASH: sequence, bank, schema, epoch, vtime, archived
    "strengths",  # HASH bot -> JSON, the batch column as it was last published
    "strength-sums",  # compressed JSON that the column is made of
)
"""The keys of a ladder."""

COMPETITION_KEYS: Final = (
    "meta",  # HASH: rules, state, divisions, how far the ladder's log is folded in
    "entries",  # HASH bot or version -> number; who enters, before the start
    "gone",  # HASH version -> reason; who left after it
    "results",  # HASH match of the plan -> JSON
    "spent",  # HASH id of a match that counts no more -> why
    "rounds",  # HASH round -> "commitment seed time"
    "holds",  # HASH match that is being annulled -> until when at the latest, ms
)
"""The keys of a competition; a league has ``meta`` and ``entries``."""

ARENA_KEYS: Final = (
    "ladders",  # SET of rulesets
    "ladder-numbers",  # ZSET ruleset -> number of its next matches
    "share",  # HASH ruleset -> finish tag of the sharing between ladders; "" -> virtual time
    "leader",  # HASH: holder, epoch, deadline
    "housekeeping",  # whose turn it is
    "housekeeping-bots",  # likewise, for the folders of bots
    "processes",  # SET of names
    "owners",  # HASH owner -> when it was registered
    "tokens",  # HASH SHA-256 of a secret -> JSON
    "token-ids",  # HASH id of a token -> SHA-256 of its secret
    "bots",  # HASH bot -> JSON
    "versions",  # HASH version -> JSON
    "digests",  # HASH "bot digest" -> version
    "steps",  # HASH version -> JSON of the steps of its trial
    "trials",  # ZSET version that is to be tried -> when it may be claimed, ms
    "trial-claims",  # HASH version -> "token attempts"
    "placements",  # SET of bots whose ladders have to be updated
    "followed",  # HASH ruleset -> sequence up to which its log was followed
    "streaks",  # HASH version -> faulty rated matches in a row
    "webhooks",  # HASH owner -> JSON
    "events",  # ZSET id -> when it may be claimed, ms
    "event-claims",  # HASH id -> "token attempts"
    "event-bodies",  # HASH id -> JSON
    "event-counts",  # HASH owner -> how many events wait
    "competitions",  # SET of ids
    "leagues",  # SET of ids
)
"""Keys of which the arena has one each."""

ITEM_KEYS: Final = (
    "process",  # JSON of an announcement, expires
    "tokens-of",  # SET of ids of an owner's tokens
    "uploads-of",  # ZSET of an owner's uploads -> when, ms
    "bots-of",  # ZSET of an owner's bots that are being stored -> since when, ms
    "challenges-of",  # ZSET of an owner's challenges -> since when, ms
)
"""Keys of which there is one for each owner or process."""

ROLE_KEYS: Final = ("due", "claims", "held")
"""Placeholders in scripts for one of several keys; the caller names which."""

KEY_NAMES: Final = frozenset({*LADDER_KEYS, *COMPETITION_KEYS, *ARENA_KEYS, *ITEM_KEYS, *ROLE_KEYS})
"""Every name that a script may declare."""


def ladder_key(ruleset: str, name: str) -> str:
    """Return a key (one of `LADDER_KEYS`) of a ruleset's ladder."""
    return f"{{l:{ruleset}}}:{_known(name, LADDER_KEYS)}"


def competition_key(competition: str, name: str) -> str:
    """Return a key (one of `COMPETITION_KEYS`) of a competition or a league."""
    return f"{{c:{competition}}}:{_known(name, COMPETITION_KEYS)}"


def arena_key(name: str) -> str:
    """Return a key of `ARENA_KEYS`."""
    return f"{{arena}}:{_known(name, ARENA_KEYS)}"


def item_key(item: str, name: str) -> str:
    """Return a key (one of `ITEM_KEYS`) of an owner or a process, else one of the arena."""
    return f"{{arena}}:{name}:{item}" if name in ITEM_KEYS else arena_key(name)


def _known(name: str, names: Collection[str]) -> str:
    if name not in names:
        raise ValueError(f"no key is called {name}")
    return name


def milliseconds(duration: timedelta) -> int:
    """Return a duration in whole milliseconds, for scripts."""
    return round(duration / timedelta(milliseconds=1))
