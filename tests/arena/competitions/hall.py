"""Plays competitions on the real queue, ladder and registry, but without processes of bots.

Who wins follows from the bots' strengths, the match's seed and its entrants alone, as it does with
real bots that use nothing but the seeds that they are given.
"""

import hashlib
import json
import math
import random
import secrets
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from arena.bots.registry import BotState
from arena.competitions import entry as competition_entry
from arena.competitions.records import CompetitionRecord, CompetitionRules, CompetitionState
from arena.competitions.runner import CompetitionRunner
from arena.competitions.store import CompetitionStore
from arena.config import Settings
from arena.context import Arena
from arena.formats.model import Format, Options
from arena.queue.models import LadderResult, Lease, Luck, MatchSpec
from arena.ratings.elo import scores_from_places
from arena.ratings.half_points import half_points
from arena.scheduler.leadership import Leadership
from arena.version_id import bot_of
from referee.games import parse_ruleset
from referee.outcome import Termination

SEED = hashlib.sha256(b"cup").digest()
LONG = timedelta(seconds=60)
RULESETS = ("quasenbo", "pese-katesh")


class Hall:
    """A scheduler's competitions, a registry and a worker that plays in no time.

    Args:
        redis: a client of an empty server.
        slots: tables that the worker would have.
    """

    def __init__(self, redis: Redis, *, slots: int = 8) -> None:
        self.redis = redis
        self.slots = slots
        self._folder = Path(tempfile.mkdtemp(prefix="hall-"))
        weakref.finalize(self, shutil.rmtree, self._folder)
        self.arena = Arena.over(redis, Settings(data_dir=self._folder))
        self.registry = self.arena.registry
        self.queues = self.arena.queues
        self.competitions = CompetitionStore(redis)
        self.runner = self.new_runner()
        self.epoch = 0
        self.strengths: dict[str, float] = {}
        self.played: list[MatchSpec] = []

    def bot_folder(self, name: str, edition: str = "") -> Path:
        """Write the folder of a bot that nobody starts; another edition is another version."""
        folder = self._folder / f"{name}{edition}"
        folder.mkdir(exist_ok=True)
        (folder / "bot.toml").write_text(
            f'name = "{name}"\nrulesets = {json.dumps(RULESETS)}\ncommand = ["bot{edition}"]\n'
        )
        return folder

    def new_runner(self, **parts: Any) -> CompetitionRunner:
        """Return what another scheduler would drive competitions with."""
        self.runner = CompetitionRunner(replace(self.arena, **parts))
        return self.runner

    async def lead(self) -> None:
        """Become the active scheduler, with a new epoch."""
        leadership = Leadership(self.redis, secrets.token_hex(16))
        epoch = await leadership.acquire(duration=timedelta(milliseconds=1))
        while epoch is None:
            epoch = await leadership.acquire(duration=timedelta(milliseconds=1))
        self.epoch = epoch

    async def add_bots(self, names: Iterable[str], *, owner: str = "", house: bool = False) -> None:
        """Register bots, the first the strongest, 60 Elo between neighbours.

        Without an owner, each belongs to one of its own.
        """
        for number, name in enumerate(names):
            await self.registry.add_owner(owner or name)
            await self.registry.add_folder(self.bot_folder(name), owner=owner or name, house=house)
            self.strengths[name] = -60.0 * number
            for ruleset in RULESETS:
                await self.queues.open_ladder(ruleset)
                await self.queues.ladder(ruleset).enter(name)

    async def create(self, bots: Sequence[str], format: Format, **facts: Any) -> CompetitionRecord:  # noqa: A002 -- the rules' own word
        """Create a tournament of these bots, seeded as given, and start it."""
        name = facts.pop("name", "cup")
        options = facts.pop("options", {})
        ruleset = facts.setdefault("ruleset", "quasenbo")
        size = parse_ruleset(ruleset).entrants
        rules = CompetitionRules(
            format=format,
            options=Options(**{"table_size": size, "boards": 8, "lot": "lot", **options}),
            time_control="5",
            **{"seeding": "given", **facts},
        )
        await self.competitions.create(f"t-{name}", rules, seed=SEED)
        for bot in bots:
            await self.competitions.enter(f"t-{name}", bot, as_operator=True)
        record, _ = await competition_entry.start(self.arena, f"t-{name}")
        return record

    async def tick(self) -> int:
        """Let the runner look at everything and queue what comes next."""
        if not self.epoch:
            await self.lead()
        self.runner._refreshed = 0.0
        return await self.runner.tick(self.epoch, slots=self.slots)

    async def lease(self) -> Lease | None:
        """Take the next match of any ladder."""
        return await self.queues.lease("w", token=secrets.token_hex(16), duration=LONG)

    async def play(self, *, most: int = 10**9) -> int:
        """Play what is queued; return how many matches."""
        count = 0
        while count < most and (lease := await self.lease()) is not None:
            await self.commit(lease)
            count += 1
        return count

    async def commit(self, lease: Lease) -> None:
        """Commit what comes of a match."""
        self.played.append(lease.spec)
        queue = self.queues.queue(lease.spec.ruleset)
        await queue.commit(lease, outcome(lease.spec, self.strengths))

    async def state(self, competition: str = "t-cup") -> CompetitionState:
        """Return how far a competition is."""
        return (await self.competitions.get(competition)).state

    async def run(self, competition: str = "t-cup", *, rounds: int = 10_000) -> CompetitionRecord:
        """Play a competition to its end."""
        for _ in range(rounds):
            await self.tick()
            record = await self.competitions.get(competition)
            if record.state in {CompetitionState.ENDED, CompetitionState.CANCELLED}:
                return record
            await self.play()
        raise AssertionError(f"{competition} never ended")

    async def suspend(self, bot: str, state: BotState = BotState.SUSPENDED) -> None:
        """Suspend or retire a bot, as the commands do."""
        await self.registry.set_state(bot, state)
        for ruleset in RULESETS:
            await self.queues.queue(ruleset).cancel_bot(bot)


def outcome(spec: MatchSpec, strengths: dict[str, float]) -> LadderResult:
    """Return a result that follows from seed, entrants and strengths."""
    rotations = spec.cost // spec.boards
    boards = [_places(spec, strengths, board, rotations) for board in range(spec.boards)]
    places = [game for board in boards for game in board]
    scores = scores_from_places(places)
    text = json.dumps([spec.seed.hex(), spec.entrants, spec.boards])
    pairs = list(combinations(range(len(spec.entrants)), 2))
    halves = [
        [sum(half_points(game[0], other) for other in game[1:]) for game in b] for b in boards
    ]
    return LadderResult(
        scores=tuple(map(tuple, scores)),
        digest=hashlib.sha256(text.encode()).digest(),
        terminations=Counter({Termination.FINISHED: len(places)}),
        sets=tuple(
            sum(half_points(game[i], game[j]) for game in board)
            for board in boards
            for i, j in pairs
        ),
        luck=Luck(
            first_seat=len(places),
            first_seat_most=2 * len(places),
            sets=len(boards),
            rotations=rotations,
            total=sum(map(sum, halves)),
            squares=sum(half**2 for board in halves for half in board),
            set_squares=sum(sum(board) ** 2 for board in halves),
        ),
        played=timedelta(seconds=1),
    )


def _places(
    spec: MatchSpec, strengths: dict[str, float], board: int, rotations: int
) -> list[list[int]]:
    games = []
    for rotation in range(rotations):
        values = []
        for version in spec.entrants:
            text = f"{spec.seed.hex()} {board} {rotation} {version}"
            drawn = random.Random(text).random()
            gumbel = -math.log(-math.log(drawn)) * 400 / math.log(10)
            values.append(strengths[bot_of(version)] + gumbel)
        games.append([sum(other > value for other in values) for value in values])
    return games
