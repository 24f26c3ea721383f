"""Creates and starts tournaments and leagues, and checks who may enter them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.bots.registry import BotState, VersionState
from arena.competitions.leagues import LeagueStore, checked_bot
from arena.competitions.records import (
    CompetitionRecord,
    CompetitionRules,
    CompetitionState,
    Seeding,
)
from arena.competitions.store import CompetitionStore, checked_name
from arena.errors import ArenaError, InputError, NotFoundError, PreconditionError
from arena.formats.model import Competition
from arena.ratings.elo import START
from arena.version_id import VersionId, bot_of, is_version

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from arena.competitions.leagues import LeagueRecord, LeagueRules
    from arena.context import Arena

_TRIES = 20
_LIVE = {CompetitionState.RUNNING, CompetitionState.PAUSED}


@dataclass(frozen=True, slots=True)
class Frozen:
    """Entrants as they are at a moment.

    Attributes:
        versions: of those who can play, in order of seeding.
        left_out: why the others cannot, by entry.
    """

    versions: tuple[VersionId, ...]
    left_out: dict[str, str]


async def check_entry(arena: Arena, entry: str, rules: CompetitionRules) -> VersionId:
    """Return the version that an entry stands for today.

    Args:
        arena: whose bots.
        entry: a bot, which plays with the version that is active at the start, or one version.
        rules: of the competition.

    Raises:
        NotFoundError: there is no such bot or version.
        PreconditionError: it cannot play in this competition.
    """
    bot = await arena.registry.bot(bot_of(entry))
    if bot.state is not BotState.ACTIVE:
        raise PreconditionError(f"the bot {bot.name} is {bot.state}", reason="BOT_NOT_ACTIVE")
    version = await arena.registry.version(entry if is_version(entry) else bot.active_version)
    if version.state is not VersionState.ACCEPTED:
        raise PreconditionError(
            f"the version {version.id} is {version.state}; only an accepted one plays",
            reason="NOT_ACCEPTED",
        )
    if rules.ruleset not in version.rulesets:
        raise PreconditionError(
            f"{version.id} does not play {rules.ruleset}; it plays {', '.join(version.rulesets)}",
            reason="RULESET_NOT_PLAYED",
        )
    return version.id


async def freeze(arena: Arena, entries: Iterable[str], rules: CompetitionRules) -> Frozen:
    """Return the versions that entries stand for, in order of seeding.

    Args:
        arena: whose ladder seeds them, when the rules say so.
        entries: bots and versions in the order in which they entered.
        rules: of the competition.
    """
    versions: list[VersionId] = []
    left_out: dict[str, str] = {}
    for entry in entries:
        try:
            version = await check_entry(arena, entry, rules)
        except (NotFoundError, PreconditionError) as error:
            left_out[entry] = str(error)
        else:
            if version in versions:
                left_out[entry] = f"{version} has entered twice"
            else:
                versions.append(version)
    if rules.seeding is Seeding.RATING:
        bots = [version.bot for version in versions]
        ratings = await arena.queues.ladder(rules.ruleset).ratings(bots)
        # A stable sort: between equals who entered first is seeded first.
        versions.sort(key=lambda version: -ratings.get(version.bot, START))
    return Frozen(tuple(versions), left_out)


async def create(  # noqa: PLR0913 -- all that a tournament begins with
    arena: Arena,
    competition: str,
    rules: CompetitionRules,
    entries: Iterable[str],
    *,
    seed: bytes | None = None,
    is_open: bool = False,
) -> CompetitionRecord:
    """Create a tournament and enter bots, all in one step.

    Args:
        arena: where it goes.
        competition: ``t-NAME``.
        rules: what is played.
        entries: bots and versions.
        seed: 32 bytes that the rounds' seeds follow from; None for random ones.
        is_open: whether owners may enter their own bots.

    Raises:
        InputError: no possible name, no such bot, or one that cannot play.
        PreconditionError: there is a tournament of this name, or more enter than may.
    """
    competitions = CompetitionStore(arena.redis)
    wanted = await _checked(arena, competition, rules, entries)
    state = CompetitionState.OPEN if is_open else CompetitionState.DRAFT
    if not await competitions.create(competition, rules, state=state, seed=seed, entries=wanted):
        raise _taken(competition)
    return await competitions.get(competition)


async def create_started(
    arena: Arena,
    competition: str,
    rules: CompetitionRules,
    entries: Iterable[str],
    *,
    seed: bytes | None = None,
) -> tuple[CompetitionRecord, Frozen]:
    """Create a tournament that has started, or none at all when it cannot start.

    Args:
        arena: where it goes; the ladder is opened, if nobody did before.
        competition: ``t-NAME``.
        rules: what is played.
        entries: bots and versions.
        seed: 32 bytes that the rounds' seeds follow from; None for random ones.

    Raises:
        InputError, PreconditionError: as `create` and `start`.
    """
    competitions = CompetitionStore(arena.redis)
    wanted = await _checked(arena, competition, rules, entries)
    frozen = await _settled(arena, competition, rules, wanted)
    cursor = await _cursor(arena, rules)
    if not await competitions.create(
        competition,
        rules,
        state=CompetitionState.RUNNING,
        seed=seed,
        entries=wanted,
        divisions=[frozen.versions],
        cursor=cursor,
    ):
        raise _taken(competition)
    return await competitions.get(competition), frozen


async def start(arena: Arena, competition: str) -> tuple[CompetitionRecord, Frozen]:
    """Start a tournament: from now on its entrants and their versions are settled.

    Args:
        arena: where it is; the ladder is opened, if nobody did before.
        competition: a draft, or one that is open.

    Raises:
        NotFoundError, PreconditionError: there is none, or it has started.
        InputError: its format cannot be played by those who have entered.
    """
    competitions = CompetitionStore(arena.redis)
    for _ in range(_TRIES):
        record = await competitions.get(competition)
        entries, revision = await competitions.entries_and_revision(competition)
        frozen = await _settled(arena, competition, record.rules, entries)
        cursor = await _cursor(arena, record.rules)
        if await competitions.start(
            competition, [frozen.versions], cursor=cursor, revision=revision
        ):
            return await competitions.get(competition), frozen
    raise ArenaError(f"the entries of {competition} change too fast to start it")


async def _checked(
    arena: Arena, competition: str, rules: CompetitionRules, entries: Iterable[str]
) -> list[str]:
    """Return who enters, each once, when all may."""
    name = checked_name(competition.partition("-")[2])
    wanted = list(dict.fromkeys(entries))
    for entry in wanted:
        await check_entry(arena, entry, rules)
    require_capacity(name, rules, wanted)
    return wanted


def require_capacity(name: str, rules: CompetitionRules, entries: Collection[str]) -> None:
    """Refuse more entries than there may be.

    Raises:
        PreconditionError: there are more.
    """
    if 0 < rules.capacity < len(entries):
        raise PreconditionError(
            f"{name} takes {rules.capacity} entrants at most, not {len(entries)}", reason="FULL"
        )


async def _settled(
    arena: Arena, competition: str, rules: CompetitionRules, entries: Iterable[str]
) -> Frozen:
    """Return the entrants as they are now, when the format can be played by them."""
    frozen = await freeze(arena, entries, rules)
    try:
        Competition(competition, rules.format, frozen.versions, rules.options)
    except InputError as error:
        name = competition.partition("-")[2]
        away = "".join(f"; left out {entry}: {why}" for entry, why in frozen.left_out.items())
        raise InputError(f"{name} cannot start: {error}{away}") from error
    return frozen


async def _cursor(arena: Arena, rules: CompetitionRules) -> int:
    """Open the ladder, and return where its log ends."""
    await arena.queues.open_ladder(rules.ruleset)
    return (await arena.queues.ladder(rules.ruleset).ends()).sequence


def _taken(competition: str) -> PreconditionError:
    name = competition.partition("-")[2]
    return PreconditionError(
        f"there is a tournament {name}; choose another name", reason="NAME_TAKEN"
    )


async def create_league(
    arena: Arena,
    league: str,
    rules: LeagueRules,
    bots: Iterable[str],
    *,
    seed: bytes | None = None,
) -> LeagueRecord:
    """Create a league and enter bots, all in one step.

    Args:
        arena: where it goes.
        league: ``l-NAME``.
        rules: what is played.
        bots: who enters.
        seed: 32 bytes that the seasons' seeds follow from; None for random ones.

    Raises:
        InputError: no possible name, no such bot, or one that cannot play.
        PreconditionError: there is a league of this name, or more enter than may.
    """
    name = checked_name(league.partition("-")[2])
    leagues = LeagueStore(arena.redis)
    wanted = list(dict.fromkeys(bots))
    for bot in wanted:
        await check_entry(arena, checked_bot(bot), rules.matches)
    require_capacity(name, rules.matches, wanted)
    if not await leagues.create(league, rules, seed=seed, entries=wanted):
        raise PreconditionError(
            f"there is a league {name}; choose another name", reason="NAME_TAKEN"
        )
    return await leagues.get(league)


async def change_league(arena: Arena, league: str, verb: str) -> LeagueRecord:
    """Pause, resume or cancel, as the verb says, a league and the season that it is in.

    Raises:
        NotFoundError, PreconditionError: there is no such league, or its state forbids it.
    """
    leagues, competitions = LeagueStore(arena.redis), CompetitionStore(arena.redis)
    await getattr(leagues, verb)(league)
    record = await leagues.get(league)
    present = await competitions.find(record.season_id()) if record.season else None
    if present is not None and present.state in _LIVE:
        await getattr(competitions, verb)(present.id)
    return record
