"""Runs the steps of a check in a referee's sandbox."""

from __future__ import annotations

import asyncio
import hashlib
import io
import shutil
import stat
import time
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from arena.check import judging
from arena.check.judging import Finding, ok
from arena.check.report import CheckReport, Step, StepState, shorten
from arena.errors import InputError
from arena.sample_bots import shipped_bot
from arena.uploads import pack_folder, unpack_archive
from referee.bot_folder import load_bot_folder
from referee.clock import TimeControl
from referee.errors import InvalidBotError, VoidMatchError
from referee.games import parse_ruleset
from referee.match.runner import MatchPlan
from referee.match.settings import TableSettings
from referee.sandbox.limits import ResourceLimits
from referee.sandbox.run import run_in_sandbox
from referee.sandbox.sandbox import BotCommand
from referee.sandbox.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from referee.bot_folder import BotFolder
    from referee.games.replay import ReplayGame
    from referee.match.runner import MatchResult, Referee
    from referee.sandbox.sandbox import Sandbox

    OnStep = Callable[[Step], Awaitable[None]]

VOIDS: Final = 3
"""How often a match is played again that our own lag made void."""

MODULES: Final = "node_modules"
"""What npm installs: never sent, since the arena has the packages that the SDK needs."""

_BUILD_LIMITS: Final = ResourceLimits(
    memory=2 << 30, processes=256, open_files=1024, tmp_bytes=256 << 20, cpu_seconds=600
)
_OPPONENTS: Final = ("first_legal", "random")
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """The clock and the time limits of a check.

    ``start_limit`` is from the start of a process to Ready, ``goodbye`` from MatchOver to its end,
    both in seconds.
    """

    control: TimeControl = field(default_factory=lambda: TimeControl.parse("5+0.05"))
    start_limit: float = 10.0
    goodbye: float = 2.0
    build_limit: timedelta = timedelta(seconds=120)


async def check_folder(
    folder: Path,
    referee: Referee,
    *,
    options: CheckOptions | None = None,
    on_step: OnStep | None = None,
) -> CheckReport:
    """Check an author's folder as the arena would: packed, unpacked and built; it stays unchanged.

    ``on_step`` is called with each step as it ends.

    Raises:
        InputError: there is no such folder.
        VoidMatchError: this machine is too busy to judge.
    """
    check = _Check(referee, options or CheckOptions(), on_step)
    if not await asyncio.to_thread(folder.is_dir):
        raise InputError(f"{folder} is not a folder; name the folder that holds bot.toml")
    # Bots run as another user.
    scratch = await asyncio.to_thread(Scratch, "check", readable=True)
    try:
        if await check.reads(folder):
            copy = scratch.path / check.name
            if await check.packs(folder, copy) and await check.builds(copy):
                await check.plays(copy)
    finally:
        await asyncio.to_thread(scratch.remove)
    return check.report()


async def check_upload(
    folder: Path,
    referee: Referee,
    *,
    options: CheckOptions | None = None,
    on_step: OnStep | None = None,
) -> CheckReport:
    """Check a folder that was unpacked and built already; see `check_folder`."""
    check = _Check(referee, options or CheckOptions(), on_step)
    if await check.reads(folder):
        await check.plays(folder)
    return check.report()


async def run_build(bot: BotFolder, sandbox: Sandbox, *, limit: timedelta) -> Finding:
    """Run a bot's build command in its folder, writable and without a network."""
    before = (bot.path / "bot.toml").read_bytes()
    try:
        command = BotCommand(words=bot.build, folder=bot.path, writable=True)
        report = await run_in_sandbox(command, sandbox, limit=limit, limits=_BUILD_LIMITS)
    except InvalidBotError as error:
        return Finding(StepState.FAIL, str(error), "name a program that the arena has")
    words = " ".join(bot.build)
    if not report.succeeded:
        output = shorten("\n".join(text for text in (report.stderr, report.stdout) if text))
        advice = "see what it printed; the build has no network and may write /tmp and its folder"
        return Finding(StepState.FAIL, f"{words} failed: {report}", advice, output)
    if not _is_same(bot.path / "bot.toml", before):
        return Finding(StepState.FAIL, f"{words} changed bot.toml", "leave bot.toml as it was sent")
    return ok(f"{words} took {report.exit.cpu_seconds:.1f} s of processor time")


def _is_same(file: Path, content: bytes) -> bool:
    """Return whether a file that a bot may have replaced is unchanged; follows no link."""
    try:
        facts = file.lstat()
    except OSError:
        return False
    plain = stat.S_ISREG(facts.st_mode) and facts.st_size == len(content)
    return plain and file.read_bytes() == content


@dataclass(frozen=True, slots=True, kw_only=True)
class _Games:
    """The match of one step; an opponent of None is a house bot."""

    parallel: int
    boards: int = 1
    rotations: int | None = None
    opponent: BotFolder | None = None


_ONE_BY_ONE: Final = _Games(parallel=1)
_TOGETHER: Final = _Games(parallel=_AT_ONCE, boards=_AT_ONCE, rotations=1)


class _Check:
    """The steps of one check. ``name`` is the bot's; empty before bot.toml is read."""

    def __init__(self, referee: Referee, options: CheckOptions, on_step: OnStep | None) -> None:
        self._referee = referee
        self._options = options
        self._on_step = on_step
        self._steps: list[Step] = []
        self.name = ""
        self._begun = time.monotonic()
        self._results: list[MatchResult] = []

    def report(self) -> CheckReport:
        """Return the report."""
        return CheckReport(bot=self.name, tier=self._referee.sandbox.tier, steps=tuple(self._steps))

    async def reads(self, folder: Path) -> bool:
        """Read bot.toml; return whether the check goes on."""
        try:
            bot = await asyncio.to_thread(load_bot_folder, folder)
        except InvalidBotError as error:
            said = str(error).replace(f"{folder}/", "")
            return await self._note("bot.toml", Finding(StepState.FAIL, said, "correct bot.toml"))
        self.name = bot.name
        return await self._note("bot.toml", ok(f"{bot.name} plays {', '.join(bot.rulesets)}"))

    async def packs(self, folder: Path, copy: Path) -> bool:
        """Pack the folder as a submission would, and unpack it as the arena would."""
        try:
            data = await asyncio.to_thread(pack_folder, folder)
            await asyncio.to_thread(unpack_archive, io.BytesIO(data), copy)
        except InputError as error:
            return await self._note("archive", Finding(StepState.FAIL, str(error), "see above"))
        detail = f"{len(data)} bytes to be sent"
        if (folder / MODULES).is_dir():
            await asyncio.to_thread(
                shutil.copytree, folder / MODULES, copy / MODULES, symlinks=True
            )
            detail += f"; {MODULES} is not: the arena has the packages of the SDK itself"
        return await self._note("archive", ok(detail))

    async def builds(self, folder: Path) -> bool:
        """Run the build command where there is one."""
        bot = load_bot_folder(folder)
        if not bot.build:
            return True
        limit = self._options.build_limit
        return await self._note("build", await run_build(bot, self._referee.sandbox, limit=limit))

    async def plays(self, folder: Path) -> None:
        """Start the bot and play with it."""
        bot = load_bot_folder(folder)
        if not await self._note("command", self._find_command(bot)):
            return
        first = await self._match(bot, bot.rulesets[0], _ONE_BY_ONE)
        started = judging.judge_start(first, limit=self._options.start_limit)
        if not await self._note("start", started):
            return
        whole = True
        for ruleset in bot.rulesets:
            played = first if ruleset == bot.rulesets[0] else None
            played = played or await self._match(bot, ruleset, _ONE_BY_ONE)
            whole &= await self._note(f"plays {ruleset}", judging.judge_play(played))
        if not whole:
            return  # what follows would say the same again
        await self._many_games(bot)
        faulty = load_bot_folder(shipped_bot("faulty"))
        resigning = replace(faulty, command=("python", "bot.py", "--fault", "resign"))
        games = _Games(parallel=2, boards=4, rotations=1, opponent=resigning)
        result = await self._match(bot, bot.rulesets[0], games)
        await self._note("an opponent's forfeit", judging.judge_play(result))
        results, options = self._results, self._options
        memory = self._referee.sandbox.limits.memory
        await self._note("time", judging.judge_time(results, options.control))
        await self._note("end", judging.judge_end(results, limit=options.goodbye))
        await self._note("memory", judging.judge_memory(results, limit=memory))
        await self._note("output", judging.judge_output(results))

    def _find_command(self, bot: BotFolder) -> Finding:
        command = BotCommand(words=bot.command, folder=bot.path, protocol=bot.protocol)
        try:
            self._referee.sandbox.launch(command).close_all()
        except InvalidBotError as error:
            # An upload lies in a folder that is named by what it holds.
            said = str(error).replace(bot.path.name, bot.name)
            return Finding(StepState.FAIL, said, "correct command in bot.toml")
        return ok(" ".join(bot.command))

    async def _many_games(self, bot: BotFolder) -> None:
        ruleset = bot.rulesets[0]
        many = await self._match(bot, ruleset, _TOGETHER)
        found = judging.judge_play(many)
        if found.state is StepState.OK and bot.parallel_games == 1:
            found = Finding(
                StepState.WARN,
                "bot.toml allows one game at a time, which makes matches take longer",
                "raise parallel_games if the bot keeps nothing between turns, or keeps it by game",
            )
        await self._note("several games at once", found)
        await self._note("answers in order", judging.judge_order(self._results))
        again = await self._match(bot, ruleset, replace(_TOGETHER, parallel=3))
        await self._note("same seed, same actions", judging.judge_determinism(many, again))

    async def _match(self, bot: BotFolder, ruleset: str, games: _Games) -> MatchResult:
        game = parse_ruleset(ruleset)
        house = [load_bot_folder(shipped_bot(name)) for name in _OPPONENTS]
        others = [house[number % len(house)] for number in range(game.entrants - 1)]
        if games.opponent is not None:
            others[0] = games.opponent
        plan = MatchPlan(
            game=game,
            seed=hashlib.sha256(f"check {ruleset} {games.boards}".encode()).digest(),
            boards=games.boards,
            entrants=(bot, *others),
            settings=TableSettings(
                control=self._options.control,
                parallel_games=games.parallel,
                start_limit=self._options.start_limit,
                goodbye=self._options.goodbye,
            ),
            rotations=games.rotations or game.rotations,
        )
        result = await play_valid(self._referee, plan)
        self._results.append(result)
        return result

    async def _note(self, name: str, found: Finding) -> bool:
        """Append a step; return whether it did not fail."""
        now = time.monotonic()
        step = Step(
            number=len(self._steps) + 1,
            name=name,
            **asdict(found),
            elapsed=timedelta(seconds=now - self._begun),
        )
        self._begun = now
        self._steps.append(step)
        if self._on_step is not None:
            await self._on_step(step)
        return found.state is not StepState.FAIL


async def play_valid(
    referee: Referee,
    plan: MatchPlan,
    *,
    progress: Callable[[ReplayGame], None] | None = None,
    on_void: Callable[[VoidMatchError], None] = lambda _: None,
) -> MatchResult:
    """Play a match, again with the same seed while it is void.

    Raises:
        VoidMatchError: it was void `VOIDS` times.
    """
    for _ in range(VOIDS - 1):
        try:
            return await referee.play(plan, progress=progress)
        except VoidMatchError as error:
            on_void(error)
    return await referee.play(plan, progress=progress)
