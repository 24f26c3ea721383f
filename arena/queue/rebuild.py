"""Replays a ladder's log, to verify its live ratings and to annul matches.

Invariant: the live ratings, counts and bank are what replaying all log entries in their sequence
gives, with the results of annulled matches left out.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from arena.errors import ArenaError, InputError
from arena.queue import log_binary
from arena.queue.ladder import Ladder, Snapshot
from arena.queue.log_entries import Annulled, Entered, LogEntry, LoggedResult
from arena.queue.retention import ResultsArchive, whole_log
from arena.ratings import elo

_TRIES: Final = 1_000


class LadderReplay:
    """Ratings, rated matches and bank of a ladder, computed from its log."""

    def __init__(self, skipped: Collection[int]) -> None:
        self.ratings: dict[str, int] = {}
        self.games: dict[str, int] = {}
        self.bank = 0
        self.sequence = 0
        self._skipped = skipped

    def apply(self, entry: LogEntry) -> None:
        """Apply the next entry."""
        if entry.sequence != self.sequence + 1:
            raise ArenaError(f"log entry {entry.sequence} follows {self.sequence}")
        self.sequence = entry.sequence
        if isinstance(entry, Entered):
            self.ratings[entry.bot] = elo.START
            self.bank -= elo.START
        elif (
            isinstance(entry, LoggedResult) and entry.rated and entry.sequence not in self._skipped
        ):
            self._rate(entry)

    def _rate(self, result: LoggedResult) -> None:
        before = [self.ratings[bot] for bot in result.bots]
        played = [self.games.get(version, 0) for version in result.entrants]
        k = [elo.k_factor(len(before), matches) for matches in played]
        after = elo.update(before, result.scores, k=k)
        self.bank += elo.bank_change(before, after)
        self.ratings.update(zip(result.bots, after, strict=True))
        for version, matches in zip(result.entrants, played, strict=True):
            self.games[version] = matches + 1


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A number that is another one in Redis (``live``) than by the log (``replayed``).

    ``name`` is a bot (its rating), a version (its rated matches), or ``bank``.
    """

    name: str
    live: int | None
    replayed: int | None


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The differences of a live ladder from its log, up to the entry ``sequence``.

    ``annulled`` results were left out; ``balance`` is the sum of the live ratings and the bank in
    micro-Elo, 0 when all is well.
    """

    sequence: int
    annulled: int
    differences: tuple[Mismatch, ...]
    balance: int

    @property
    def equal(self) -> bool:
        """Whether the live ladder is what its log says, and balanced."""
        return not self.differences and self.balance == 0


async def replay(ladder: Ladder, archive: ResultsArchive | None = None) -> ReplayReport:
    """Replay a ladder's log up to this moment and compare it with the live ratings."""
    live = await ladder.snapshot()
    annulled = {each.target for each in await _annulments(ladder, archive)}
    replayed = LadderReplay(annulled)
    if live.sequence:
        async for entry in whole_log(ladder, archive):
            replayed.apply(entry)
            if entry.sequence == live.sequence:
                break
    differences = [
        *_differences(live.ratings, replayed.ratings),
        *_differences(_without_zeros(live.games), replayed.games),
        *_differences({"bank": live.bank}, {"bank": replayed.bank}),
    ]
    balance = sum(live.ratings.values()) + live.bank
    return ReplayReport(live.sequence, len(annulled), tuple(differences), balance)


async def annul(
    ladder: Ladder,
    match_id: str,
    *,
    reason: str,
    archive: ResultsArchive | None = None,
    check: Callable[[], Awaitable[None]] | None = None,
) -> bool:
    """Annul a match: log it, and make the ratings those that follow without the match.

    The log is replayed beside the running ladder; the new ratings are written in one step, and
    only when no other entry has come in between. ``check`` raises where the match must not be
    annulled; nothing is logged between a check and the annulment that follows it. False when the
    match had been annulled before.

    Raises:
        InputError: no such match is done.
        ArenaError: a part of the log is missing, or the ladder never came to rest.
    """
    annulled = {each.target for each in await _annulments(ladder, archive)}
    target = await _sequence_of(ladder, archive, match_id)
    if target in annulled:
        return False
    annulment = log_binary.encode_annulment(target, match_id, reason)
    live, wanted = LadderReplay(annulled), LadderReplay(annulled | {target})
    for _ in range(_TRIES):
        async for entry in whole_log(ladder, archive, after=live.sequence):
            if isinstance(entry, Annulled) and entry.target not in annulled:
                # Another match was annulled meanwhile: what was replayed so far is no longer live.
                return await annul(ladder, match_id, reason=reason, archive=archive, check=check)
            live.apply(entry)
            wanted.apply(entry)
        changes = Snapshot(
            live.sequence,
            wanted.bank,
            _changed(live.ratings, wanted.ratings),
            _changed(live.games, {name: wanted.games.get(name, 0) for name in live.games}),
        )
        if check is not None:
            await check()
        answer = await ladder.annul(match_id, annulment, changes)
        if answer != "moved":
            return answer == "annulled"
    raise ArenaError(f"{ladder.ruleset} is too busy to annul {match_id}; pause its flows first")


async def _annulments(ladder: Ladder, archive: ResultsArchive | None) -> list[Annulled]:
    return [entry async for entry in whole_log(ladder, archive) if isinstance(entry, Annulled)]


async def _sequence_of(ladder: Ladder, archive: ResultsArchive | None, match_id: str) -> int:
    result = await ladder.result(match_id)
    if result is not None:
        return result.sequence
    async for entry in whole_log(ladder, archive):
        if isinstance(entry, LoggedResult) and entry.match_id == match_id:
            return entry.sequence
    raise InputError(f"no match {match_id} of {ladder.ruleset} is done; `arena matches` lists them")


def _differences(live: Mapping[str, int], replayed: Mapping[str, int]) -> list[Mismatch]:
    return [
        Mismatch(name, live.get(name), replayed.get(name))
        for name in sorted(live.keys() | replayed.keys())
        if live.get(name) != replayed.get(name)
    ]


def _changed(live: Mapping[str, int], wanted: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in wanted.items() if live.get(name) != value}


def _without_zeros(games: Mapping[str, int]) -> dict[str, int]:
    return {version: matches for version, matches in games.items() if matches}
