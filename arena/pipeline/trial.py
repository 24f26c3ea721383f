"""Tries one submitted version."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from arena.bots.registry import BotState, RejectionCause, VersionState
from arena.bots.steps import VersionStep
from arena.bots.trials import Trials, TrialVerdict
from arena.check import judging
from arena.check.judging import Finding
from arena.check.report import StepState
from arena.check.run import CheckOptions, check_upload, play_valid, run_build
from arena.errors import ArenaError, InputError
from arena.sample_bots import shipped_bot
from arena.version_id import bot_of
from arena.webhooks.events import verdict_event
from referee.bot_folder import load_bot_folder
from referee.errors import SandboxUnavailableError
from referee.games import parse_ruleset
from referee.match.runner import MatchPlan
from referee.match.settings import TableSettings
from referee.sandbox.scratch import Scratch
from referee.tasks import run_to_end

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from arena.bots.registry import Version
    from arena.check.report import CheckReport, Step
    from arena.context import Arena
    from arena.db.claim_queue import Claim
    from arena.webhooks.events import Event
    from referee.bot_folder import BotFolder
    from referee.clock import TimeControl
    from referee.games import Game
    from referee.match.runner import Referee

REASON_CHARACTERS: Final = 500

_FILL: Final = ("first_legal", "random")
"""Sample bots that play where there are too few house bots."""


class TrialFailedError(ArenaError):
    """The arena itself failed, and would again: do not retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationPlan:
    """The validation match of a ruleset."""

    boards: int
    control: TimeControl
    parallel_games: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOptions:
    """The options of a trial.

    Attributes:
        plan: returns the validation match of a ruleset.
        allows_unsandboxed: whether bots that nobody trusts may run outside the sandbox.
        claim: how long a claim lives from each step on.
    """

    plan: Callable[[str], ValidationPlan]
    check: CheckOptions = field(default_factory=CheckOptions)
    allows_unsandboxed: bool = False
    claim: timedelta = timedelta(seconds=30)


class Trial:
    """Builds, checks and validates one submitted version."""

    def __init__(
        self, arena: Arena, claim: Claim, *, referee: Referee, options: TrialOptions
    ) -> None:
        self._claim = claim
        self._trials = Trials(arena.redis)
        self._registry = arena.registry
        self._archive = arena.archive
        self._referee = referee
        self._options = options
        self._steps: list[VersionStep] = []
        self._digests: list[str] = []

    async def run(self) -> TrialVerdict:
        """Build, check and validate the version, and settle what becomes of it.

        Raises:
            TrialFailedError: it cannot be tried here.
            VoidMatchError: this machine is too busy to judge.
            ArenaError: the archive does not answer.
        """
        self._require_isolation()
        version = await self._registry.version(self._claim.id)
        folder = await self._built(version)
        if folder is None or not await self._passes_check(folder):
            return await self._finish()
        await self._renew(state=VersionState.VALIDATING)
        bot = load_bot_folder(folder)
        for ruleset in bot.rulesets:
            if not await self._passes_validation(bot, ruleset):
                break
        return await self._finish()

    async def give_up(self, reason: str) -> TrialVerdict:
        """Reject the version for a fault of ours."""
        reason = f"the arena failed: {reason}"
        self._steps.append(VersionStep(name="trial", ok=False, detail=reason))
        return await self._finish(RejectionCause.ARENA, reason)

    def _require_isolation(self) -> None:
        if self._options.allows_unsandboxed:
            return
        try:
            self._referee.sandbox.require_isolation()
        except SandboxUnavailableError as error:
            raise TrialFailedError(str(error)) from error

    # The build.

    async def _built(self, version: Version) -> Path | None:
        """Return the folder that plays; None when its build failed."""
        self._digests.append(version.digest)
        folder = await asyncio.to_thread(self._archive.unpack_bot, version.digest)
        bot = load_bot_folder(folder)
        if not bot.build or version.is_built:
            return folder
        await self._renew(state=VersionState.BUILDING)
        async with _copy_of(bot) as copy:
            digest = await self._build(copy)
        if not digest:
            return None
        self._digests.append(digest)
        await self._renew(digest=digest)
        return await asyncio.to_thread(self._archive.unpack_bot, digest)

    async def _build(self, bot: BotFolder) -> str:
        """Run the build command and archive what it made; return its digest, or nothing."""
        begun, digest = time.monotonic(), ""
        found = await run_build(bot, self._referee.sandbox, limit=self._options.check.build_limit)
        if found.state is not StepState.FAIL:
            try:
                digest = await asyncio.to_thread(self._archive_built, bot.path)
            except InputError as error:
                said = str(error).replace(f"{bot.path}/", "").replace(f"{bot.path}", "the folder")
                found = Finding(StepState.FAIL, said, "leave less, and no links, in the folder")
        await self._note("build", found, begun)
        return digest

    def _archive_built(self, folder: Path) -> str:
        try:
            for parent, folders, files in os.walk(folder):
                for name in (*folders, *files):
                    # Dangling links and links in a circle raise here.
                    Path(parent, name).resolve(strict=True)
            return self._archive.put_bot(folder)
        except (OSError, RuntimeError) as error:
            raise InputError(f"what the build made cannot be read: {error}") from error

    # The check.

    async def _passes_check(self, folder: Path) -> bool:
        await self._renew(state=VersionState.CHECKING)
        report: CheckReport = await check_upload(
            folder, self._referee, options=self._options.check, on_step=self._note_step
        )
        return report.passed

    async def _note_step(self, step: Step) -> None:
        found = Finding(step.state, step.detail, step.advice, step.output)
        await self._note(step.name, found, time.monotonic() - step.elapsed.total_seconds())

    # The validation.

    async def _passes_validation(self, bot: BotFolder, ruleset: str) -> bool:
        begun = time.monotonic()
        game, plan = parse_ruleset(ruleset), self._options.plan(ruleset)
        match = MatchPlan(
            game=game,
            seed=secrets.token_bytes(32),
            boards=plan.boards,
            entrants=(bot, *await self._opponents(game)),
            settings=TableSettings(control=plan.control, parallel_games=plan.parallel_games),
            rotations=game.rotations,
        )
        found = judging.judge_play(await play_valid(self._referee, match))
        return await self._note(f"validation in {ruleset}", found, begun)

    async def _opponents(self, game: Game) -> list[BotFolder]:
        """Return house bots of a ladder, filled up with sample bots."""
        own = bot_of(self._claim.id)
        house = [
            bot.active_version
            for bot in await self._registry.bots(ruleset=game.ruleset)
            if bot.house and bot.state is BotState.ACTIVE and bot.name != own
        ]
        count = game.entrants - 1
        chosen = secrets.SystemRandom().sample(house, min(count, len(house)))
        versions = await self._registry.versions(chosen)
        folders = [
            load_bot_folder(await asyncio.to_thread(self._archive.unpack_bot, version.digest))
            for version in versions
        ]
        while len(folders) < count:
            folders.append(load_bot_folder(shipped_bot(_FILL[len(folders) % len(_FILL)])))
        return folders

    # What is noted.

    async def _note(self, name: str, found: Finding, begun: float) -> bool:
        """Note a step; return whether the version passed it."""
        ok = found.state is not StepState.FAIL
        detail = f"{found.detail}; {found.advice}" if found.advice else found.detail
        step = VersionStep(
            name=name,
            ok=ok,
            detail=detail,
            output=found.output,
            elapsed=timedelta(seconds=round(time.monotonic() - begun, 3)),
        )
        self._steps.append(step)
        await self._renew()
        return ok

    async def _renew(self, *, state: VersionState | None = None, digest: str = "") -> None:
        # That a claim was lost, its keeper finds out, and cancels this.
        duration = self._options.claim
        await self._trials.note(
            self._claim, duration=duration, state=state, digest=digest, steps=self._steps
        )

    async def _finish(self, cause: RejectionCause | None = None, reason: str = "") -> TrialVerdict:
        """Accept the version if it passed every step, else reject it."""
        failed = next((step for step in self._steps if not step.ok), None)
        if failed is not None and cause is None:
            cause, reason = RejectionCause.BOT, f"{failed.name}: {failed.detail}"
        reason = reason[:REASON_CHARACTERS]
        bot = await self._registry.bot(bot_of(self._claim.id))
        event = verdict_event(version=self._claim.id, owner=bot.owner, reason=reason)
        return await run_to_end(self._settle(cause, reason, event))

    async def _settle(
        self, cause: RejectionCause | None, reason: str, event: Event
    ) -> TrialVerdict:
        verdict = await self._trials.finish(
            self._claim, cause=cause, reason=reason, steps=self._steps, event=event
        )
        if verdict is TrialVerdict.REJECTED and cause is not RejectionCause.ARENA:
            for digest in self._digests:
                await asyncio.to_thread(self._archive.remove_bot, digest)
        return verdict


@asynccontextmanager
async def _copy_of(bot: BotFolder) -> AsyncIterator[BotFolder]:
    """Yield a bot in a folder of its own that it may write."""
    # Builds run as another user.
    scratch = await asyncio.to_thread(Scratch, "build", readable=True)
    try:
        copy = scratch.path / bot.name
        await asyncio.to_thread(shutil.copytree, bot.path, copy)
        yield replace(bot, path=copy)
    finally:
        await asyncio.to_thread(scratch.remove)
