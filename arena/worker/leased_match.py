"""The state of a match that a worker has leased."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from referee.errors import InvalidRulesetError
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from arena.queue.models import Lease


@dataclass(eq=False, slots=True)
class MatchInPlay:
    """A match that a worker has leased.

    Attributes:
        tables: those that are not finished, by how many games each still has.
        played: whether only its result remains to be committed.
        renewed: when the lease was last known to be ours, by `time.monotonic`.
        let_go: set when the lease shall be released.
        digests: of the bots that play it.
    """

    lease: Lease
    tables: dict[int, int] = field(default_factory=dict)
    played: bool = False
    renewed: float = field(default_factory=time.monotonic)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    digests: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Open every table; one if the match cannot be played at all."""
        try:
            tables = parse_ruleset(self.lease.spec.ruleset).rotations
        except InvalidRulesetError:
            tables = 1
        self.tables = dict.fromkeys(range(tables), self.lease.spec.boards)
