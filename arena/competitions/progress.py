"""Writes a competition's progress, fenced by the scheduler's epoch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from arena.competitions.store import StaleEpochError, now_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.competitions.annulment import Consequences
    from arena.competitions.records import RetiredMatchId
    from arena.competitions.results import CompetitionResult
    from arena.competitions.store import CompetitionStore

_FOLDED: Final = 200
"""Results stored in one step."""


class CompetitionProgress:
    """Stores results, annulments, rounds and the ranking.

    Args:
        competitions: where competitions are.
        epoch: of the right to schedule.

    Every method raises `StaleEpochError` when another scheduler has become active.
    """

    def __init__(self, competitions: CompetitionStore, *, epoch: int) -> None:
        self._competitions = competitions
        self.epoch = epoch

    async def _run(self, competition: str, name: str, *arguments: str | int) -> str | None:
        answer = await self._competitions.run(competition, name, self.epoch, *arguments)
        if answer == "stale_epoch":
            raise StaleEpochError(f"epoch {self.epoch} is over")
        return answer

    async def claim(self, competition: str) -> None:
        """Fence out older schedulers."""
        await self.fold(competition, [], cursor=0)

    async def fold(
        self, competition: str, results: Sequence[CompetitionResult], *, cursor: int
    ) -> bool:
        """Store results and the log's cursor; False when the competition is not under way."""
        starts = range(0, max(1, len(results)), _FOLDED)
        for start in starts:
            batch = results[start : start + _FOLDED]
            pairs = [text for each in batch for text in (each.match_id, each.to_json())]
            known = cursor if start == starts[-1] else 0
            if await self._run(competition, "fold", known, *pairs) != "folded":
                return False
        return True

    async def annul(
        self,
        competition: str,
        match_id: str,
        following: Consequences,
        *,
        retired: Mapping[str, RetiredMatchId],
        cursor: int,
    ) -> bool:
        """Delete an annulled result and what follows from it; False when that was done before.

        Args:
            competition: that is under way.
            match_id: as it was played.
            following: what its annulment changes.
            retired: the ids that count no more, this one among them.
            cursor: the sequence of the annulment.
        """
        paired = json.dumps(following.paired) if following.paired else ""
        pairs = [text for each, why in retired.items() for text in (each, why.to_text())]
        going = [str(len(following.results)), *following.results]
        answer = await self._run(competition, "annul", cursor, match_id, paired, *going, *pairs)
        return answer == "annulled"

    async def note_rounds(
        self, competition: str, rounds: Mapping[str, tuple[str, bytes | None]]
    ) -> None:
        """Publish the commitments of rounds, and the seeds of those that have ended.

        Args:
            competition: whose.
            rounds: commitment, and seed where it is to be told, by key.
        """
        rows = [
            text
            for key, (commitment, seed) in rounds.items()
            for text in (key, commitment, "-" if seed is None else seed.hex())
        ]
        if rows:
            await self._run(competition, "rounds", now_text(), *rows)

    async def end(self, competition: str, ranking: Sequence[Sequence[str]]) -> bool:
        """Store the end and the ranking.

        Returns:
            False when it was cancelled, or when a match of it is just being annulled.
        """
        fields = ("ended", now_text(), "ranking", json.dumps(ranking))
        return await self._run(competition, "end", *fields) == "ended"
