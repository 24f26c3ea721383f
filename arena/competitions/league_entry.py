"""Founding a league, and stopping it together with the season that it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.competitions.entry import check_entry, require_room
from arena.competitions.leagues import checked_bot
from arena.competitions.records import CompetitionState
from arena.competitions.store import checked_name
from arena.errors import PreconditionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.bots.registry import Registry
    from arena.competitions.leagues import LeagueRecord, LeagueRules, LeagueStore
    from arena.competitions.store import CompetitionStore

_LIVE = {CompetitionState.RUNNING, CompetitionState.PAUSED}


async def found(  # noqa: PLR0913 -- all that a league begins with
    league: str,
    rules: LeagueRules,
    bots: Iterable[str],
    *,
    leagues: LeagueStore,
    registry: Registry,
    seed: bytes | None = None,
) -> LeagueRecord:
    """Create a league and enter bots, all in one step.

    Args:
        league: ``l-NAME``.
        rules: what is played.
        bots: who enters.
        leagues: where it goes.
        registry: the registry.
        seed: 32 bytes that the seasons' seeds follow from; None for random ones.

    Raises:
        InputError: no possible name, no such bot, or one that cannot play.
        PreconditionError: there is a league of this name, or more enter than may.
    """
    name = checked_name(league.partition("-")[2])
    wanted = list(dict.fromkeys(bots))
    for bot in wanted:
        checked_bot(bot)
        await check_entry(bot, rules.matches, registry)
    require_room(name, rules.matches, wanted)
    if not await leagues.create(league, rules, seed=seed, entries=wanted):
        raise PreconditionError(
            f"there is a league {name}; choose another name", reason="NAME_TAKEN"
        )
    return await leagues.get(league)


async def change(
    league: str,
    verb: str,
    *,
    leagues: LeagueStore,
    competitions: CompetitionStore,
) -> LeagueRecord:
    """Do what a verb says, pause, resume or cancel, to a league and the season that it is in.

    Raises:
        NotFoundError, PreconditionError: there is no such league, or its state forbids it.
    """
    await getattr(leagues, verb)(league)
    record = await leagues.get(league)
    present = await competitions.find(record.season_id()) if record.season else None
    if present is not None and present.state in _LIVE:
        await getattr(competitions, verb)(present.id)
    return record
