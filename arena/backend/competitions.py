"""Reads tournaments and seasons, enters and withdraws bots, pauses and cancels."""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from arena.backend import pages
from arena.backend.access import Service, authorized
from arena.backend.pages import Page
from arena.bots.registry import BotState
from arena.competitions import entry as competition_entry
from arena.competitions.records import LEAGUE, CompetitionRules, CompetitionState, Seeding
from arena.competitions.report import reports
from arena.errors import DeniedError, NotFoundError
from arena.formats.model import Format, Options
from arena.owners.tokens import Scope
from arena.version_id import bot_of, is_version
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.backend.access import Caller
    from arena.backend.backend import Backend
    from arena.backend.pages import PageRequest
    from arena.competitions.entry import Verb
    from arena.competitions.records import CompetitionRecord, Round
    from arena.competitions.report import Meeting, StandingsReport
    from arena.competitions.results import CompetitionResult
    from arena.config import LadderTerms
    from arena.formats.model import PlannedMatch
    from arena.queue.models import DeadMatch

    _Known = tuple[tuple[str, int, int], list[StandingsReport], dict[str, CompetitionResult]]

_KNOWN: Final = 16
"""Competitions whose standings are kept in memory."""

_DEAD: Final = 200
"""Dead matches that are sent with a competition."""

_ID: Final = re.compile(r"t-[a-z0-9_-]+|l-[a-z0-9_-]+(\.s[1-9][0-9]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesRequest:
    """Rules as they are asked for; 0 and "" leave it to the ladder, or to the format.

    Attributes:
        ruleset: any spelling of a ladder's.
        boards, cycles, rounds, challengers, groups, advance: see `Options`.
        time_control: ``BANK+INCREMENT`` in seconds.
        weight: its share beside the ladder, which has 1.
        capacity: the most entrants; 0 for no bound.
    """

    ruleset: str
    format: Format = Format.ROUND_ROBIN
    boards: int = 0
    cycles: int = 0
    rounds: int = 0
    challengers: int = 0
    groups: int = 0
    advance: int = 0
    time_control: str = ""
    rated: bool = False
    weight: int = 0
    capacity: int = 0
    seeding: Seeding = Seeding.RATING

    def settled(self, ruleset: str, ladder: LadderTerms, *, lot: str) -> CompetitionRules:
        """Return the rules that are played by, with the ladder's settings for what is left open."""
        return CompetitionRules(
            ruleset=ruleset,
            format=self.format,
            options=Options(
                table_size=parse_ruleset(ruleset).entrants,
                boards=self.boards or ladder.boards or 1,
                cycles=self.cycles or 1,
                rounds=self.rounds or None,
                challengers=self.challengers or 1,
                groups=self.groups or 2,
                advance=self.advance or 2,
                lot=lot,
            ),
            time_control=self.time_control or ladder.time_control or "",
            rated=self.rated,
            weight=self.weight or 1,
            seeding=self.seeding,
            capacity=self.capacity,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetitionView:
    """A competition; in lists without reports, rounds and dead matches.

    Attributes:
        entries: who has entered, before the start.
        reports: the standings by division, after it.
        dead: its matches that were given up; () for all but operators.
    """

    record: CompetitionRecord
    entries: Sequence[str] = ()
    reports: Sequence[StandingsReport] = ()
    rounds: Sequence[Round] = ()
    dead: Sequence[DeadMatch] = ()


@dataclass(frozen=True, slots=True)
class CompetitionMatch:
    """A match of a competition's plan, and its result if it has one."""

    record: CompetitionRecord
    planned: PlannedMatch
    result: CompetitionResult | None


class Competitions(Service):
    """Reads, enters and stops competitions of all kinds."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._known: dict[str, _Known] = {}

    # Reading.

    @authorized(is_public=True)
    async def list_competitions(self, _caller: Caller, page: PageRequest) -> Page[CompetitionView]:
        """Return tournaments and seasons by id."""
        size, of = pages.page_size(page.size), ("competitions",)
        start = pages.place(page.token, str, of=of) or ""
        ids = [each for each in await self._backend.competitions.ids() if each >= start]
        found = [await self._backend.competitions.find(each) for each in ids[:size]]
        return Page(
            [await view(self._backend, each) for each in found if each is not None],
            pages.page_token(ids[size], of=of) if len(ids) > size else "",
        )

    @authorized(is_public=True)
    async def get_competition(self, caller: Caller, competition: str) -> CompetitionView:
        """Return a competition with its standings."""
        record = await get(self._backend, competition)
        found, _ = await self._reports(record)
        rounds = await self._backend.competitions.rounds(record.id)
        dead: list[DeadMatch] = []
        if caller.has(Scope.OPERATOR):
            dead = await self._backend.queues.queue(record.rules.ruleset).dead()
        return replace(
            await view(self._backend, record),
            reports=found,
            rounds=sorted(rounds.values(), key=lambda each: (each.created_time, each.key)),
            dead=[each for each in dead if each.spec.flow == record.flow][:_DEAD],
        )

    @authorized(is_public=True)
    async def list_competition_matches(
        self, _caller: Caller, competition: str, page: PageRequest
    ) -> Page[CompetitionMatch]:
        """Return the matches that are known by now, by division, round and table."""
        record = await get(self._backend, competition)
        found, results = await self._reports(record)
        matches = [match for report in found for match in report.matches]
        part = page.cut(matches, of=("matches", record.id))
        return Page(
            [CompetitionMatch(record, each, results.get(each.id)) for each in part.entries],
            part.next_token,
        )

    @authorized(is_public=True)
    async def list_meetings(
        self, _caller: Caller, competition: str, page: PageRequest
    ) -> Page[tuple[tuple[str, str], Meeting]]:
        """Return how each version did against each other, by division and versions."""
        record = await get(self._backend, competition)
        found, _ = await self._reports(record)
        meetings = [pair for report in found for pair in sorted(report.meetings.items())]
        return page.cut(meetings, of=("meetings", record.id))

    async def _reports(
        self, record: CompetitionRecord
    ) -> tuple[list[StandingsReport], dict[str, CompetitionResult]]:
        if not record.divisions:
            return [], {}
        # Anybody may ask, and what many results say takes time: once for each new result.
        played = await self._backend.competitions.played(record.id)
        mark = (record.state.value, played, len(record.retired_ids))
        known = self._known.get(record.id)
        if known is None or known[0] != mark:
            results = await self._backend.competitions.results(record.id)
            found = await asyncio.to_thread(reports, record, results)
            known = mark, found, results
            self._known.pop(record.id, None)
            self._known[record.id] = known
            if len(self._known) > _KNOWN:
                del self._known[next(iter(self._known))]
        return known[1], known[2]

    # Coming and going.

    @authorized(Scope.AUTHOR, Scope.OPERATOR)
    async def enter(self, caller: Caller, competition: str, entry: str) -> bool:
        """Enter a bot into a tournament before its start, or a league from its next season on.

        An owner enters own bots, an operator any, and into a tournament also a single version.
        Returns False when it had entered before.
        """
        as_operator = await self._require_own(caller, entry)
        if _is_league(competition):
            league = await self._backend.leagues.get(competition)
            await competition_entry.check_entry(self._backend, entry, league.rules.matches)
            return await self._backend.leagues.enter(league.id, entry)
        record = await get(self._backend, competition)
        await competition_entry.check_entry(self._backend, entry, record.rules)
        return await self._backend.competitions.enter(record.id, entry, as_operator=as_operator)

    @authorized(Scope.AUTHOR, Scope.OPERATOR)
    async def leave(self, caller: Caller, competition: str, entry: str) -> None:
        """Withdraw a bot; see `enter`."""
        await self._require_own(caller, entry)
        if _is_league(competition):
            await self._backend.leagues.leave(competition, entry)
        else:
            record = await get(self._backend, competition)
            await self._backend.competitions.leave(record.id, entry)

    async def _require_own(self, caller: Caller, entry: str) -> bool:
        """Refuse another owner's bot to all but operators; return whether an operator calls."""
        if caller.has(Scope.OPERATOR):
            return True
        bot = await self._backend.own_bot(caller, bot_of(entry))
        if is_version(entry) and entry != bot.active_version:
            raise DeniedError("only operators enter other versions than the active one")
        return False

    # Going on and stopping.

    @authorized(Scope.OPERATOR)
    async def change(self, _caller: Caller, competition: str, verb: Verb) -> CompetitionState:
        """Pause, resume or cancel a tournament, a season or a league; return the new state."""
        if _is_league(competition):
            league = await competition_entry.change_league(self._backend, competition, verb)
            return league.state
        record = await get(self._backend, competition)
        await getattr(self._backend.competitions, verb)(record.id)
        return (await self._backend.competitions.get(record.id)).state


async def get(backend: Backend, competition: str) -> CompetitionRecord:
    """Return a tournament or a season."""
    return await backend.competitions.get(checked_id(competition))


async def view(backend: Backend, record: CompetitionRecord) -> CompetitionView:
    """Return a competition as lists show it."""
    entries = [] if record.divisions else await backend.competitions.entries(record.id)
    return CompetitionView(record=record, entries=entries)


async def settled_rules(backend: Backend, rules: RulesRequest, *, lot: str) -> CompetitionRules:
    """Return the rules that a new competition is played by; ``lot`` seeds the last tie-break."""
    ruleset = await backend.ruleset(rules.ruleset)
    return rules.settled(ruleset, backend.settings.ladder(ruleset), lot=lot)


async def with_everybody(
    backend: Backend, entries: Sequence[str], ruleset: str, *, everybody: bool
) -> list[str]:
    """Return the entries, and behind them every active bot of a ladder if that is wanted."""
    bots = await backend.registry.bots(ruleset=ruleset) if everybody else []
    return [*entries, *(bot.name for bot in bots if bot.state is BotState.ACTIVE)]


def seed_bytes(text: str) -> bytes | None:
    """Return the 32 bytes that the seeds of all boards follow from; None for random ones."""
    return hashlib.sha256(text.encode()).digest() if text else None


def checked_id(competition: str) -> str:
    """Return an id that may be one of a competition or a league."""
    if not _ID.fullmatch(competition):
        raise NotFoundError(
            f"there is no competition {competition!r}; ids are such as t-cup, l-main.s3, l-main"
        )
    return competition


def _is_league(competition: str) -> bool:
    return checked_id(competition).startswith(f"{LEAGUE}-") and "." not in competition
