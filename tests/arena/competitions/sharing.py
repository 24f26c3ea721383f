"""A whole tournament beside a ladder: who got how much of the workers while both were waiting."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb

from arena.competitions.records import CompetitionRecord, CompetitionState
from arena.formats.model import Format
from arena.metrics import Metrics
from arena.queue.models import MatchSpec
from arena.scheduler.scheduler import FLOW, LadderPlan, Scheduler, SchedulerOptions
from tests.arena.competitions.hall import Hall

RULESET = "quasenbo"
BATCH = 4
"""Matches between two ticks of the scheduler."""

WINDOW = 500
"""Matches of which the share is looked at on its own, too."""


@dataclass(frozen=True, kw_only=True)
class Rivals:
    """A round robin and a ladder, and what is due to them.

    Attributes:
        entrants: of the tournament; they are the ladder's bots, too.
        weight: of the tournament.
        ladder_weight: of the ladder.
        boards: of a match of the tournament; one of the ladder has one.
    """

    entrants: int
    weight: int
    ladder_weight: int = 1
    boards: int = 1

    @property
    def matches(self) -> int:
        """How many the tournament plays."""
        return comb(self.entrants, 2)

    @property
    def due(self) -> float:
        """The share of all games that is the tournament's."""
        return self.weight / (self.weight + self.ladder_weight)

    def __str__(self) -> str:
        """Return what it is, for people."""
        boards = f", {self.boards} boards to 1" if self.boards > 1 else ""
        return f"{self.matches} matches, weights {self.weight} to {self.ladder_weight}{boards}"


@dataclass(kw_only=True)
class Shared:
    """What was played until the tournament was over.

    Attributes:
        rivals: who shared.
        record: the tournament as it ended.
        played: all matches of the tournament, in order.
        contested: the matches that were leased while both had more waiting.
    """

    rivals: Rivals
    record: CompetitionRecord
    played: Sequence[MatchSpec]
    contested: list[MatchSpec] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The tournament's share of the contested games."""
        return self._share_of(self.contested)

    @property
    def error(self) -> float:
        """How far the share is from what is due, as a part of the smaller of both dues."""
        return self._error_of(self.share)

    @property
    def worst_error(self) -> float:
        """The largest error of any `WINDOW` contested matches in a row, one window at a time."""
        ends = range(WINDOW, len(self.contested) + 1, WINDOW)
        shares = [self._share_of(self.contested[end - WINDOW : end]) for end in ends]
        return max(map(self._error_of, shares))

    def _error_of(self, share: float) -> float:
        return abs(share - self.rivals.due) / min(self.rivals.due, 1 - self.rivals.due)

    def _share_of(self, matches: Sequence[MatchSpec]) -> float:
        games: Counter[str] = Counter()
        for spec in matches:
            games[spec.flow] += spec.cost
        return games[self.record.flow] / games.total()


async def share(hall: Hall, rivals: Rivals) -> Shared:
    """Play a whole tournament beside a ladder that never runs dry, without processes of bots."""
    bots = [f"bot{number:03}" for number in range(rivals.entrants)]
    await hall.add_bots(bots)
    options = {"boards": rivals.boards}
    await hall.create(bots, Format.ROUND_ROBIN, weight=rivals.weight, options=options)
    plan = LadderPlan(boards=1, time_control="5", weight=rivals.ladder_weight)
    scheduler = Scheduler(
        hall.arena,
        metrics=Metrics(),
        metrics_port=0,
        options=SchedulerOptions(name="s", plan=lambda _: plan),
    )
    await hall.lead()
    await scheduler._roster.refresh()
    scheduler._rulesets, scheduler._slots = [RULESET], 16
    contested = []
    while await hall.state() is not CompetitionState.ENDED:
        await scheduler.tick(hall.epoch)
        both_wait = await _both_wait(hall)
        before = len(hall.played)
        await hall.play(most=BATCH)
        if both_wait:
            contested += hall.played[before:]
    record = await hall.competitions.get("t-cup")
    played = [spec for spec in hall.played if spec.flow == record.flow]
    return Shared(rivals=rivals, record=record, played=played, contested=contested)


async def _both_wait(hall: Hall) -> bool:
    """Return whether neither tournament nor ladder can run dry within a batch."""
    flows = await hall.queues.queue(RULESET).flows()
    waiting = [flows[name].waiting if name in flows else 0 for name in (FLOW, "t:cup")]
    return min(waiting) > BATCH
