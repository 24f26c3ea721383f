"""Plays a tournament on a local arena that runs for as long as it lasts."""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from arena.api import competition_messages as messages
from arena.backend import competitions
from arena.cli.competition import CompetitionView
from arena.cli.console import progress_console
from arena.cli.demo import HOUSE, add_bot, own_arena, own_settings, sample_bots
from arena.competitions import entry as competition_entry
from arena.competitions.records import CompetitionState
from arena.competitions.report import reports
from arena.competitions.store import CompetitionStore
from arena.context import Arena
from arena.errors import ArenaError, InputError
from arena.processes.lifecycle import run_until_told
from arena.scheduler.scheduler import FLOW
from arena.v1 import competitions_pb2
from referee.bot_folder import load_bot_folder
from referee.games import parse_ruleset
from referee.sandbox.scratch import Scratch
from referee.tasks import cancel

_NAME = re.compile(r'^name\s*=\s*".*"', re.MULTILINE)
HERE: Final = "t-here"
"""The id of the tournament of an arena of its own."""

_OVER: Final = {CompetitionState.ENDED, CompetitionState.CANCELLED}


def play_tournament(  # noqa: PLR0913 -- what the command is told
    wanted: competitions_pb2.CompetitionRules,
    *,
    seed: str,
    folders: Sequence[Path] | None,
    clones: int,
    options: Mapping[str, Any],
    quiet: bool,
) -> CompetitionView:
    """Run an arena until a tournament on it is over, and return how it ended.

    Args:
        wanted: the rules, with any spelling of the ruleset.
        seed: text that all boards follow from; "" for random ones.
        folders: of bots; None for the sample bots that play the ruleset.
        clones: how many of each enter.
        options: of the arena's settings.
        quiet: whether progress is not printed.

    Raises:
        ArenaError: it was interrupted.
    """
    canonical = parse_ruleset(wanted.ruleset).ruleset
    chosen = [load_bot_folder(each) for each in folders or sample_bots()]
    playing = [each.path for each in chosen if folders or canonical in each.rulesets]
    if not playing:
        raise InputError(f"no sample bot plays {canonical}; name folders with --bot")
    scratch = Scratch("tournament")
    found: list[CompetitionView] = []

    async def main(stopping: asyncio.Event) -> None:
        entries = [copy for path in playing for copy in _copies(path, scratch.path, clones)]
        async with own_arena(settings, stopping, log="tournament.log") as (arena, watching):
            play = _play(arena, wanted, canonical, entries, seed=seed, quiet=quiet)
            played = asyncio.create_task(play)
            await asyncio.wait({watching, played}, return_when=asyncio.FIRST_COMPLETED)
            if played.done():
                found.append(played.result())
            await cancel(played)

    try:
        with own_settings(**options) as settings:
            run_until_told(main)
    finally:
        scratch.remove()
    if not found:
        raise ArenaError("the tournament was interrupted")
    return found[0]


async def _play(  # noqa: PLR0913 -- what the command is told
    arena: Arena,
    wanted: competitions_pb2.CompetitionRules,
    ruleset: str,
    folders: Sequence[Path],
    *,
    seed: str,
    quiet: bool,
) -> CompetitionView:
    # The bots stand on the ladder, but all workers are the tournament's.
    await arena.queues.open_ladder(ruleset)
    await arena.queues.queue(ruleset).pause(FLOW)
    added = [await add_bot(arena, each, owner=HOUSE, rulesets=[ruleset]) for each in folders]
    store = CompetitionStore(arena.redis)
    record, _ = await competition_entry.create(
        arena,
        HERE,
        messages.rules_of(wanted).settled(ruleset, arena.settings.ladder(ruleset), lot=seed),
        [each.bot.name for each in added],
        seed=hashlib.sha256(seed.encode()).digest() if seed else None,
        at_once=True,
    )
    told = 0
    while record.state not in _OVER:
        await asyncio.sleep(0.3)
        record = await store.get(HERE)
        played = await store.played(HERE)
        if not quiet and played >= told + 10:
            told = played
            progress_console.print(f"{played} matches played")
    return await view_of(arena, HERE)


async def view_of(arena: Arena, competition: str) -> CompetitionView:
    """Return a competition as the API tells it."""
    store = CompetitionStore(arena.redis)
    record, rounds = await store.get(competition), await store.rounds(competition)
    results = await store.results(competition)
    divisions = await asyncio.to_thread(reports, record, results)
    ordered = sorted(rounds.values(), key=lambda each: (each.created_time, each.key))
    answer = competitions_pb2.GetCompetitionResponse(
        competition=messages.competition_message(competitions.CompetitionView(record=record)),
        standings=[messages.standings_message(each, record) for each in divisions],
        rounds=map(messages.round_message, ordered),
    )
    matches = [
        messages.match_message(competitions.CompetitionMatch(record, match, results.get(match.id)))
        for each in divisions
        for match in each.matches
    ]
    meetings = [
        competitions_pb2.Meeting(
            version=one, opponent=other, score=each.score, match_count=each.matches
        )
        for division in divisions
        for (one, other), each in sorted(division.meetings.items())
    ]
    return CompetitionView(answer, matches, meetings)


def _copies(folder: Path, scratch: Path, clones: int) -> list[Path]:
    """Return the folder, and copies of it whose bots have names of their own."""
    name = load_bot_folder(folder).name
    copies = [folder]
    for number in range(2, clones + 1):
        copy = scratch / "clones" / f"{name}-{number}"
        shutil.copytree(folder, copy, symlinks=True)
        toml = copy / "bot.toml"
        text = toml.read_text(encoding="utf-8")
        toml.write_text(_NAME.sub(f'name = "{copy.name}"', text, count=1), encoding="utf-8")
        copies.append(copy)
    return copies
