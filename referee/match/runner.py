"""Play a whole match: every table, at the same time or one after another."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from referee.errors import InputError
from referee.games.replay import Replay, ReplayGame
from referee.match.health import LagMonitor
from referee.match.permits import PermitPool
from referee.match.table import Table
from referee.sandbox.scratch import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from referee.bot_folder import BotFolder
    from referee.games import Game
    from referee.match.connection import ProcessRecord
    from referee.match.settings import TableSettings
    from referee.sandbox.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """Describe a match to play.

    Attributes:
        game: its rules.
        seed: 32 bytes; board i has HMAC(seed, i).
        boards: how many boards.
        entrants: one folder per entrant, in entrant order; the same folder may stand twice.
        settings: limits and clock of its tables.
        rotations: how many rotations of each board, normally all (see `Game.rotations`).
    """

    game: Game
    seed: bytes
    boards: int
    entrants: tuple[BotFolder, ...]
    settings: TableSettings
    rotations: int

    def __post_init__(self) -> None:
        """Check what the caller gave."""
        if len(self.entrants) != self.game.entrants:
            raise InputError(
                f"{self.game.ruleset} is played by {self.game.entrants} bots, "
                f"not {len(self.entrants)}"
            )
        if self.boards < 1:
            raise InputError(f"a match has at least one board, not {self.boards}")
        if not 1 <= self.rotations <= self.game.rotations:
            raise InputError(
                f"{self.game.ruleset} has 1 to {self.game.rotations} rotations, "
                f"not {self.rotations}"
            )


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Hold a match that was played.

    Attributes:
        replay: of all games.
        processes: every bot process, by table, then by entrant.
        seconds: from the start of the first process to the end of the last.
    """

    replay: Replay
    processes: tuple[ProcessRecord, ...]
    seconds: float


class Referee:
    """Play matches that share the thinking permits and the lag monitor of one process."""

    def __init__(self, *, sandbox: Sandbox, cores: int, tables: int) -> None:
        """Create the referee inside the running loop, and remove killed ones' scratch folders.

        Args:
            sandbox: isolates the bots.
            cores: how many bots may think at the same time.
            tables: how many tables are played at the same time.
        """
        sweep()
        self.sandbox = sandbox
        self.monitor = LagMonitor()
        self._permits = PermitPool(cores)
        self._tables = asyncio.Semaphore(tables)
        self._matches = 0

    async def play(
        self, plan: MatchPlan, *, progress: Callable[[ReplayGame], None] | None = None
    ) -> MatchResult:
        """Play a match; ``progress`` is called with each game as it ends.

        Raises:
            VoidMatchError: our own failure; every process has been ended.
        """
        begun = time.monotonic()
        self._matches += 1
        self.monitor.start_sampling()
        tables = [
            asyncio.create_task(self._play_table(plan, rotation, progress))
            for rotation in range(plan.rotations)
        ]
        try:
            results = await asyncio.gather(*tables)
        finally:
            for table in tables:
                table.cancel()
            try:
                await asyncio.gather(*tables, return_exceptions=True)
            finally:  # cancelled once more meanwhile
                self._matches -= 1
                if not self._matches:
                    self.monitor.stop_sampling()
        return MatchResult(
            replay=_replay(plan, (games for games, _ in results), self.sandbox.tier),
            processes=tuple(record for _, records in results for record in records),
            seconds=time.monotonic() - begun,
        )

    async def _play_table(
        self, plan: MatchPlan, rotation: int, progress: Callable[[ReplayGame], None] | None
    ) -> tuple[list[ReplayGame], list[ProcessRecord]]:
        async with self._tables:
            table = Table(
                plan,
                number=rotation,
                sandbox=self.sandbox,
                permits=self._permits,
                monitor=self.monitor,
                progress=progress,
            )
            return await table.play()


def _replay(plan: MatchPlan, tables: Iterable[list[ReplayGame]], tier: str) -> Replay:
    games = chain.from_iterable(tables)
    return Replay(
        ruleset=plan.game.ruleset,
        seed=plan.seed,
        time_control=str(plan.settings.control),
        entrants=tuple(folder.name for folder in plan.entrants),
        games=tuple(sorted(games, key=lambda game: (game.board, game.table))),
        tier=tier,
    )
