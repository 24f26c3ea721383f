"""Forecasts, creates, opens and starts tournaments."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from arena.backend import competitions as shared
from arena.backend.access import Service, authorized
from arena.competitions import entry as competition_entry
from arena.competitions.forecast import forecast, measure
from arena.competitions.records import TOURNAMENT
from arena.db.presence import Presence
from arena.errors import InputError
from arena.formats.model import Competition
from arena.owners.tokens import Scope
from referee.games import parse_ruleset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.backend.access import Caller
    from arena.backend.competitions import CompetitionView, RulesRequest
    from arena.competitions.forecast import Forecast, Measurements

MOST_ENTRANTS: Final = 1024
"""Entrants of a tournament that is forecast: simulating it takes time."""

_LATEST: Final = 500
"""Results of the ladder that a forecast is based on."""


class Tournaments(Service):
    """Plans, creates and starts tournaments."""

    @authorized(Scope.OPERATOR)
    async def plan(
        self, _caller: Caller, rules: RulesRequest, *, entrants: int, slots: int | None = None
    ) -> tuple[Forecast, Measurements]:
        """Forecast a tournament; return the forecast and the measurements that it is based on.

        Args:
            rules: what would be played.
            entrants: how many would play.
            slots: tables that are played at once; None for those of the present workers.
        """
        if not 2 <= entrants <= MOST_ENTRANTS:
            raise InputError(f"entrant_count is 2 to {MOST_ENTRANTS}, not {entrants}")
        if slots is not None and slots < 1:
            raise InputError(f"slots is 1 or more, not {slots}")
        # A ladder need not be there yet.
        ruleset = parse_ruleset(rules.ruleset).ruleset
        settled = rules.settled(ruleset, self._backend.settings.ladder(ruleset), lot="")
        seeds = tuple(f"seed-{number}" for number in range(entrants))
        competition = Competition("t-plan", settled.format, seeds, settled.options)
        ladder = self._backend.queues.ladder(settled.ruleset)
        measured = measure(await ladder.latest(_LATEST))
        there = await Presence(self._backend.redis).slots() if slots is None else slots
        found = await asyncio.to_thread(
            forecast, [competition], rotations=settled.rotations, slots=there, measured=measured
        )
        return found, measured

    @authorized(Scope.OPERATOR)
    async def create(  # noqa: PLR0913 -- all that a tournament begins with
        self,
        _caller: Caller,
        name: str,
        rules: RulesRequest,
        entries: Sequence[str] = (),
        *,
        everybody: bool = False,
        seed: str = "",
        is_open: bool = False,
        start: bool = False,
    ) -> tuple[CompetitionView, Mapping[str, str]]:
        """Create a tournament and enter bots, and start it if that is asked for, all in one step.

        Args:
            name: without its kind: ``cup``.
            rules: what is played.
            entries: bots and versions.
            everybody: whether every active bot of the ladder enters, behind the entries.
            seed: text that all boards follow from; "" for random ones.
            is_open: whether owners may enter their own bots; not after the start.
            start: whether it starts; a tournament that cannot start is not created.

        Returns:
            The tournament, and by entry why some do not play, when it started.
        """
        settled = await shared.settled_rules(self._backend, rules, lot=name)
        wanted = await shared.with_everybody(
            self._backend, entries, settled.ruleset, everybody=everybody
        )
        record, left_out = await competition_entry.create(
            self._backend,
            f"{TOURNAMENT}-{name}",
            settled,
            wanted,
            seed=shared.seed_bytes(seed),
            is_open=is_open,
            at_once=start,
        )
        return await shared.view(self._backend, record), left_out

    @authorized(Scope.OPERATOR)
    async def open(self, _caller: Caller, competition: str) -> CompetitionView:
        """Open a tournament, so that owners may enter their own bots."""
        record = await shared.get(self._backend, competition)
        await self._backend.competitions.open(record.id)
        return await shared.view(self._backend, await self._backend.competitions.get(record.id))

    @authorized(Scope.OPERATOR)
    async def start(
        self, _caller: Caller, competition: str
    ) -> tuple[CompetitionView, Mapping[str, str]]:
        """Start a tournament: its entrants and their versions are fixed from now on.

        Returns:
            The tournament, and by entry why some do not play.

        Raises:
            InputError: its format cannot be played by those who have entered.
        """
        record = await shared.get(self._backend, competition)
        started, left_out = await competition_entry.start(self._backend, record.id)
        return await shared.view(self._backend, started), left_out
