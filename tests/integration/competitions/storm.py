"""Two real arenas that play the same tournament: one in peace, one whose processes are killed."""

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arena.cli.demo import HOUSE, add_bot
from arena.cli.tournament_play import view_of
from arena.competitions import entry as competition_entry
from arena.competitions.records import CompetitionRules, CompetitionState, Seeding
from arena.competitions.store import CompetitionStore
from arena.config import load
from arena.context import Arena, connected
from arena.errors import PreconditionError
from arena.formats.model import Format, Options
from arena.scheduler.scheduler import FLOW
from referee.games import parse_ruleset
from tests.arena.competitions.hall import SEED
from tests.redis_server import BINARIES, RedisServer
from tests.service_kit import Process, Service, eventually, results_of

RULESETS = ("quasenbo", "pese-katesh:floors=1")
"""The tables seat two, and four."""

BOT = """\
import time

from referee.sdk import Bot, Turn, run


class StormBot(Bot):
    def act(self, turn: Turn) -> str:
        time.sleep(0.04 / turn.seats**2)
        return [turn.rng.choice(turn.legal_actions) for _ in range({number})][-1]


run(StormBot())
"""
PATIENT = {
    "ARENA_LEASE": "PT2S",
    "ARENA_SILENCE": "PT1.5S",
    "ARENA_RENEWAL": "PT0.3S",
    "ARENA_ATTEMPTS": "100",
    "ARENA_VOIDS": "100",
}
"""What a killed worker held is soon played again, and no match is given up for its many deaths."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A tournament to play twice.

    Attributes:
        ruleset: one of `RULESETS`.
        format: how it finds its matches.
        entrants: the first so many bots.
        matches: the least that the format plays with them.
        options: of the format.
    """

    ruleset: str = RULESETS[0]
    format: Format
    entrants: int
    matches: int
    options: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for the test and the tournament."""
        cycles = self.options.get("cycles", 1)
        return f"{self.ruleset.partition(':')[0]}-{self.format}{'-twice' * (cycles - 1)}"


class House:
    """An arena of real processes on an embedded server, where the same bots live.

    Args:
        folder: everything that it writes.
        bots: how many.
    """

    def __init__(self, folder: Path, *, bots: int) -> None:
        self.server = RedisServer(BINARIES["valkey"], durable=True)
        folder.mkdir()
        self.service = Service(folder, self.server.url)
        self.bots = [f"bot{number}" for number in range(bots)]
        self._settings = load(data_dir=folder / "data", redis_url=self.server.url)

    async def settle_in(self) -> None:
        """Register the bots; all workers are the tournaments'."""
        async with self.opened() as arena:
            for number, name in enumerate(self.bots, start=1):
                folder = _make_bot(self.service.folder / name, number)
                await add_bot(arena, folder, owner=HOUSE)
            for ruleset in RULESETS:
                await arena.queues.queue(ruleset).pause(FLOW)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Arena]:
        """Connect to the arena."""
        async with connected(self._settings) as arena:
            yield arena

    def start(self, part: str) -> Process:
        """Start a scheduler or a worker."""
        return self.service.start(part, **PATIENT)

    def times_led(self) -> int:
        """Return how often a scheduler has become active here."""
        return sum(each["event"] == "scheduler became active" for each in self.service.logs())

    def close(self) -> None:
        """End everything."""
        self.service.close()
        self.server.close()


def _make_bot(folder: Path, number: int) -> Path:
    """Write a bot that plays as no other does, and always the same with the same seeds."""
    folder.mkdir()
    (folder / "bot.py").write_text(BOT.format(number=number))
    (folder / "bot.toml").write_text(
        f'name = "{folder.name}"\nrulesets = ["quasenbo", "pese-katesh:floors=1"]\n'
        'command = ["python", "bot.py"]\n'
    )
    return folder


class Tournament:
    """A case's tournament in one of the arenas.

    Args:
        arena: a connection to it.
        case: what is played.
    """

    def __init__(self, arena: Arena, case: Case) -> None:
        self.arena = arena
        self.id = f"t-{case.name}"
        self._case = case
        self._registry = CompetitionStore(arena.redis)
        self._queue = arena.queues.queue(case.ruleset)

    async def start(self, bots: Sequence[str]) -> None:
        """Create and start it, seeded as given."""
        size = parse_ruleset(self._case.ruleset).entrants
        rules = CompetitionRules(
            ruleset=self._case.ruleset,
            format=self._case.format,
            options=Options(table_size=size, boards=1, lot="lot", **self._case.options),
            time_control="60",
            seeding=Seeding.GIVEN,
        )
        arena, entries = self.arena, bots[: self._case.entrants]
        await competition_entry.create(arena, self.id, rules, entries, seed=SEED)
        await competition_entry.start(arena, self.id)

    async def abandon(self) -> None:
        """Cancel it, unless it is over, so that no other has to wait for it."""
        with suppress(PreconditionError):
            await self._registry.cancel(self.id)

    async def has_ended(self) -> bool:
        """Return whether it is over."""
        return (await self._registry.get(self.id)).state is CompetitionState.ENDED

    async def played(self) -> list[str]:
        """Return its matches in the ladder's log, once for each time that they count."""
        results = await results_of(self.arena.queues, self._case.ruleset)
        return [each.match_id for each in results if each.match_id.startswith(f"{self.id}.")]

    async def is_leased(self) -> bool:
        """Return whether a worker holds a match."""
        return (await self._queue.counts()).leased > 0

    async def left_over(self) -> int:
        """Return how many matches are still in the queue, wherever they stand."""
        counts = await self._queue.counts()
        return counts.ready + counts.delayed + counts.paused + counts.leased + counts.dead

    async def told(self) -> dict[str, Any]:
        """Return everything that it says of itself, but for when."""
        document = (await view_of(self.arena, self.id)).document()
        document["rounds"].sort(key=lambda each: str(each["id"]))
        for each in document["rounds"]:
            assert each.pop("create_time")
            assert each["seed"]
        for key in ("create_time", "start_time", "end_time"):
            assert document["competition"].pop(key)
        results = await self._registry.results(self.id)
        games = {
            match: (each.entrants, each.pair_scores, each.sets, each.forfeits, each.points)
            for match, each in sorted(results.items())
        }
        ranking = (await self._registry.get(self.id)).ranking
        return {**document, "results": games, "ranking": ranking}


class Storm:
    """Plays a tournament while its scheduler and its worker are killed at random.

    Args:
        house: where; its processes are this storm's.
        tournament: has started.
        fate: draws the moments.

    Attributes:
        leases_lost: matches that were being played by a worker when it died.
    """

    def __init__(self, house: House, tournament: Tournament, fate: random.Random) -> None:
        self._house = house
        self._tournament = tournament
        self._fate = fate
        self._processes: dict[str, Process] = {}
        self.leases_lost = 0

    async def rage(self, *, matches: int) -> None:
        """Kill the worker at two moments, and at one of them the scheduler, too.

        Args:
            matches: the least that the tournament plays.
        """
        parts = ("scheduler", "worker")
        self._processes = {part: self._house.start(part) for part in parts}
        moments = sorted(self._fate.choices(range(matches - 1), k=2))
        victims = self._fate.sample([("worker",), parts], 2)
        for results, killed in zip(moments, victims, strict=True):
            await eventually(lambda results=results: self._has_played(results))  # type: ignore[misc]
            await self._kill(killed)
        await eventually(self._tournament.has_ended)

    async def _has_played(self, results: int) -> bool:
        return len(await self._tournament.played()) >= results

    async def _kill(self, parts: Sequence[str]) -> None:
        """Kill parts at a random moment at which the worker holds a match, and start others."""
        await eventually(self._caught)
        for part in parts:
            self._processes[part].kill()
            self._processes[part].wait()
        for part in parts:
            self._processes[part] = self._house.start(part)

    async def _caught(self) -> bool:
        """Stop the worker at a random moment; return whether it holds a match or it is too late."""
        worker = self._processes["worker"]
        await asyncio.sleep(self._fate.uniform(0.0, 0.5))
        worker.send_signal(signal.SIGSTOP)
        if await self._tournament.is_leased():
            self.leases_lost += 1
            return True
        worker.send_signal(signal.SIGCONT)
        return await self._tournament.has_ended()

    def settle(self) -> None:
        """End what was started; the scheduler gives its right back, for the next storm's."""
        for part, process in self._processes.items():
            process.send_signal(signal.SIGTERM if part == "scheduler" else signal.SIGKILL)
            process.wait(60)
