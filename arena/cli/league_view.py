"""How commands show a league: who plays, what its next season waits for, where everybody came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from arena.cli.console import out
from arena.cli.tables import Column, show, table
from arena.competitions.leagues import AT_ONCE, LeagueStore
from arena.competitions.records import CompetitionState
from arena.competitions.store import CompetitionStore
from arena.version_id import bot_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from arena.competitions.leagues import LeagueRecord
    from arena.competitions.records import CompetitionRecord
    from arena.context import Arena

_LIVE = {CompetitionState.RUNNING, CompetitionState.PAUSED}

Place = tuple[int, int, int, str]
"""Season, division and place, each from 1, and the version."""


@dataclass(frozen=True, slots=True)
class LeagueView:
    """A league as commands show it.

    Attributes:
        league: the league.
        entries: the bots that play from the next season on.
        seasons: all that have begun, in their order.
    """

    league: LeagueRecord
    entries: Sequence[str]
    seasons: Sequence[CompetitionRecord]

    @property
    def places(self) -> list[Place]:
        """Where everybody came, by season."""
        return [
            (number, division, place, version)
            for number, season in enumerate(self.seasons, start=1)
            for division, ranked in enumerate(season.ranking, start=1)
            for place, version in enumerate(ranked, start=1)
        ]

    @property
    def next_season(self) -> str:
        """When the next season begins, in words; "" when none will."""
        league = self.league
        is_last = 0 < league.rules.seasons <= league.season
        if league.state not in _LIVE or is_last:
            return ""
        if league.state is CompetitionState.PAUSED:
            return f"the next one begins after `arena league resume {league.name}`"
        is_playing = bool(self.seasons) and self.seasons[-1].state in _LIVE
        first = "when the present one has ended" if is_playing else "at once"
        if league.rules.schedule == AT_ONCE or league.called:
            return f"the next one begins {first}, with {league.wanted} bots or more"
        if league.next_time is not None:
            return f"the next one is due {league.next_time:%Y-%m-%d %H:%M} UTC"
        return f"the next one begins by `arena league season {league.name} --start`"

    def document(self) -> dict[str, Any]:
        """Return the view as JSON."""
        league = self.league
        keys = ("season", "division", "place", "entrant")
        return {
            "name": league.name,
            "state": league.state,
            "ruleset": league.rules.matches.ruleset,
            "schedule": league.rules.schedule,
            "season": league.season,
            "season_state": self.seasons[-1].state if self.seasons else None,
            "season_note": self.seasons[-1].note if self.seasons else "",
            "seasons": league.rules.seasons,
            "next_season": self.next_season,
            "next_time": league.next_time and league.next_time.isoformat(),
            "note": league.note,
            "entries": list(self.entries),
            "places": [dict(zip(keys, each, strict=True)) for each in self.places],
        }

    def print(self, *, history: bool) -> None:
        """Print the view, with where everybody came if that is wanted."""
        league = self.league
        season = f"season {league.season}" if league.season else "no season yet"
        of = f" of {league.rules.seasons}" if league.rules.seasons and league.season else ""
        parts = [f"{season}{of}", self.next_season, f"{len(self.entries)} bots"]
        out.print(
            f"{league.name}: {league.rules.matches.ruleset}, {league.state}; "
            + "; ".join(filter(None, parts)),
            markup=False,
        )
        season_note = self.seasons[-1].note if self.seasons else ""
        for note in filter(None, [season_note and f"{season}: {season_note}", league.note]):
            out.print(note, markup=False)
        if history and (places := self.places):
            show(history_table(places))


async def view_of(arena: Arena, league: LeagueRecord) -> LeagueView:
    """Return a league as it stands."""
    store = CompetitionStore(arena.redis)
    numbers = range(1, league.season + 1)
    seasons = [await store.find(league.season_id(number)) for number in numbers]
    entries = await LeagueStore(arena.redis).entries(league.id)
    return LeagueView(league, entries, [each for each in seasons if each is not None])


def history_table(places: Sequence[Place]) -> RenderableType:
    """Return each bot's division and place by season, the best of the last season first."""
    seasons = sorted({each[0] for each in places})
    where = {(bot_of(each[3]), each[0]): each[1:3] for each in places}
    bots = {bot for bot, _ in where}
    last = seasons[-1]
    rows = []
    for bot in sorted(bots, key=lambda bot: (where.get((bot, last), (99, 0)), bot)):
        cells = [where.get((bot, number)) for number in seasons]
        rows.append((bot, *("-" if cell is None else f"{cell[0]}.{cell[1]}" for cell in cells)))
    # On a narrow terminal the oldest seasons go first.
    columns = [
        Column("bot", shortens=True),
        *(Column(f"season {number}", right=True, leaves=last - number) for number in seasons),
    ]
    return table(columns, rows)
