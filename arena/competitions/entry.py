"""Creates and starts tournaments and leagues, and checks who may enter them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from arena.bots.registry import BotState, VersionState
from arena.competitions.leagues import LeagueStore, checked_bot
from arena.competitions.records import (
    CompetitionRecord,
    CompetitionRules,
    CompetitionState,
    Seeding,
    name_of,
    title,
)
from arena.competitions.store import UNDER_WAY, CompetitionStore, checked_name
from arena.errors import ArenaError, InputError, NotFoundError, PreconditionError
from arena.formats.model import Competition
from arena.ratings.elo import START
from arena.version_id import VersionId, bot_of, is_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena.competitions.leagues import LeagueRecord, LeagueRules
    from arena.context import Arena

_TRIES = 20
Verb = Literal["pause", "resume", "cancel"]


@dataclass(frozen=True, slots=True)
class Frozen:
    """A snapshot of the entrants and their versions.

    Attributes:
        versions: of those who can play, in order of seeding.
        left_out: why the others cannot, by entry.
    """

    versions: tuple[VersionId, ...]
    left_out: dict[str, str]


async def check_entry(arena: Arena, entry: str, rules: CompetitionRules) -> VersionId:
    """Check that an entry may play; return its present version.

    Args:
        arena: whose bots.
        entry: a bot, which plays with the version that is active at the start, or one version.
        rules: of the competition.

    Raises:
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
    """Freeze the versions that entries stand for, in order of seeding.

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
    at_once: bool = False,
) -> tuple[CompetitionRecord, Mapping[str, str]]:
    """Create a tournament and enter bots, all in one step.

    Args:
        arena: where it goes.
        competition: ``t-NAME``.
        rules: what is played.
        entries: bots and versions.
        seed: 32 bytes that the rounds' seeds follow from; None for random ones.
        is_open: whether owners may enter their own bots.
        at_once: whether it starts; one that cannot start is not created.

    Returns:
        The tournament, and by entry why some do not play, when it has started.

    Raises:
        InputError: no possible name, no such bot, or one that cannot play.
        PreconditionError: there is a tournament of this name, or more enter than may.
    """
    competitions = CompetitionStore(arena.redis)
    wanted = await _checked(arena, competition, rules, entries)
    creating = partial(competitions.create, competition, rules, seed=seed, entries=wanted)
    left_out: Mapping[str, str] = {}
    if at_once:
        frozen = await _settled(arena, competition, rules, wanted)
        left_out, cursor = frozen.left_out, await _cursor(arena, rules)
        running, divisions = CompetitionState.RUNNING, [frozen.versions]
        is_new = await creating(state=running, divisions=divisions, cursor=cursor)
    else:
        is_new = await creating(state=CompetitionState.OPEN if is_open else CompetitionState.DRAFT)
    _require_new(competition, is_new=is_new)
    return await competitions.get(competition), left_out


async def start(arena: Arena, competition: str) -> tuple[CompetitionRecord, Mapping[str, str]]:
    """Start a tournament that is a draft or open: its entrants and their versions are fixed.

    Returns:
        The tournament, and by entry why some do not play.

    Raises:
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
            return await competitions.get(competition), frozen.left_out
    raise ArenaError(f"the entries of {competition} change too fast to start it")


async def create_league(
    arena: Arena,
    league: str,
    rules: LeagueRules,
    bots: Sequence[str],
    *,
    seed: bytes | None = None,
) -> LeagueRecord:
    """Create a league ``l-NAME`` and enter bots, all in one step; raises as `create`."""
    leagues = LeagueStore(arena.redis)
    for bot in bots:
        checked_bot(bot)
    wanted = await _checked(arena, league, rules.matches, bots)
    is_new = await leagues.create(league, rules, seed=seed, entries=wanted)
    _require_new(league, is_new=is_new)
    return await leagues.get(league)


async def _checked(
    arena: Arena, record: str, rules: CompetitionRules, entries: Iterable[str]
) -> list[str]:
    """Check the name and all entries; return the entries without repetitions."""
    name = checked_name(name_of(record))
    wanted = list(dict.fromkeys(entries))
    for entry in wanted:
        await check_entry(arena, entry, rules)
    if 0 < rules.capacity < len(wanted):
        raise PreconditionError(
            f"{name} takes {rules.capacity} entrants at most, not {len(wanted)}", reason="FULL"
        )
    return wanted


async def _settled(
    arena: Arena, competition: str, rules: CompetitionRules, entries: Iterable[str]
) -> Frozen:
    """Freeze the entrants, and check that they can play the format."""
    frozen = await freeze(arena, entries, rules)
    try:
        Competition(competition, rules.format, frozen.versions, rules.options)
    except InputError as error:
        away = "".join(f"; left out {entry}: {why}" for entry, why in frozen.left_out.items())
        raise InputError(f"{name_of(competition)} cannot start: {error}{away}") from error
    return frozen


async def _cursor(arena: Arena, rules: CompetitionRules) -> int:
    """Open the ladder, and return where its log ends."""
    await arena.queues.open_ladder(rules.ruleset)
    return (await arena.queues.ladder(rules.ruleset).ends()).sequence


def _require_new(record: str, *, is_new: bool) -> None:
    if not is_new:
        raise PreconditionError(
            f"there is a {title(record)}; choose another name", reason="NAME_TAKEN"
        )


async def change_league(arena: Arena, league: str, verb: Verb) -> LeagueRecord:
    """Pause, resume or cancel a league and the season that it is in."""
    leagues, competitions = LeagueStore(arena.redis), CompetitionStore(arena.redis)
    await getattr(leagues, verb)(league)
    record = await leagues.get(league)
    present = await competitions.find(record.season_id()) if record.season else None
    if present is not None and present.state in UNDER_WAY:
        await getattr(competitions, verb)(present.id)
    return record
