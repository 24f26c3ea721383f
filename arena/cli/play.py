"""``arena play``: play a local match with the referee of the service, without a server."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from arena.check.run import play_valid
from arena.cli.console import Json, complain, print_json, progress_console
from arena.cli.loop import run_async
from arena.cli.tables import Column, show, table
from arena.files import write_file
from arena.matches import replay_file as replay_files
from arena.matches.log import MatchLog
from arena.matches.process_log import ProcessLog
from arena.matches.report import BotReport, MatchReport, finite, forfeit_lines, numbered, report
from referee.bot_folder import BotFolder, load_bot_folder
from referee.clock import TimeControl
from referee.errors import SandboxUnavailableError, VoidMatchError
from referee.games import Game, parse_ruleset
from referee.games.random_streams import seed_from_text
from referee.games.replay import Replay, seed_commitment
from referee.match.runner import MatchPlan, MatchResult, Referee
from referee.match.settings import TableSettings
from referee.sandbox.sandbox import PlainSandbox
from referee.sandbox.selftest import detect_sandbox

_COLUMNS = (
    Column("bot", shortens=True),
    Column("score", right=True),
    Column("Elo", right=True),
    Column("points", right=True, leaves=2),
    Column("forfeits", right=True, leaves=1),
    Column("turns", right=True, leaves=5),
    Column("mean ms", right=True, leaves=3),
    Column("worst ms", right=True, leaves=4),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchOptions:
    """The clock, the seed and the open games of local matches."""

    parallel: Annotated[
        int, typer.Option(min=1, max=256, help="Games of a table open at the same time.")
    ] = 32
    time: Annotated[str, typer.Option(help="BANK+INCREMENT in seconds.")] = "5+0.05"
    seed: Annotated[str, typer.Option(help="64 hex digits, or any text; random without it.")] = ""

    def plan(
        self, game: Game, entrants: tuple[BotFolder, ...], *, boards: int, rotations: int
    ) -> MatchPlan:
        """Return the plan of a match of bots."""
        control = TimeControl.parse(self.time)
        return MatchPlan(
            game=game,
            seed=seed_from_text(self.seed) if self.seed else secrets.token_bytes(32),
            boards=boards,
            entrants=entrants,
            settings=TableSettings(control=control, parallel_games=self.parallel),
            rotations=rotations,
        )


class Rotations(StrEnum):
    """How often a board is played."""

    FULL = "full"
    SINGLE = "single"


def play(  # noqa: PLR0913 -- a command's options
    ruleset: Annotated[str, typer.Argument(help="For example quasenbo; see `arena games`.")],
    bots: Annotated[list[Path], typer.Argument(help="One bot folder per entrant.")],
    *,
    boards: Annotated[int, typer.Option(min=1, help="Boards to play.")] = 10,
    rotations: Annotated[
        Rotations, typer.Option(help="Every board in all seat rotations, or in one.")
    ] = Rotations.FULL,
    options: MatchOptions,
    tables: Annotated[
        int, typer.Option(min=0, help="Tables played at the same time; 0: one per core.")
    ] = 0,
    replays: Annotated[Path, typer.Option(help="Folder for the replay.")] = Path("replays"),
    logs: Annotated[
        Path | None,
        typer.Option(help="Folder for the log of each turn, and for what each bot printed."),
    ] = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Run the bots as the service would.")
    ] = False,
    json: Json = False,
) -> None:
    """Play a match between local bots, without a server.

    They run as plain processes of your own, or with `--sandbox` as in an arena.
    """
    game = parse_ruleset(ruleset)
    plan = options.plan(
        game,
        tuple(load_bot_folder(path) for path in bots),
        boards=boards,
        rotations=game.rotations if rotations is Rotations.FULL else 1,
    )
    _warn(plan)
    result = run_async(_play(plan, tables or core_count(), quiet=json, walled=sandbox))
    path = _write_replay(result.replay, replays)
    if logs is not None:
        _write_logs(result, logs)
    found = report(result.replay)
    if json:
        print_json(_document(result, found, path))
    else:
        _show(result, found, path)


def _warn(plan: MatchPlan) -> None:
    """Warn about bots whose bot.toml does not name the ruleset."""
    played = plan.game.ruleset
    lacking = dict.fromkeys(bot.name for bot in plan.entrants if played not in bot.rulesets)
    if lacking:
        complain(
            f"bot.toml of {', '.join(lacking)} does not name {played} among its rulesets: played "
            "here all the same, but not on the ladder of an arena"
        )


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


async def _play(plan: MatchPlan, tables: int, *, quiet: bool, walled: bool) -> MatchResult:
    sandbox = await detect_sandbox() if walled else PlainSandbox()
    if walled and sandbox.tier == PlainSandbox.tier:
        raise SandboxUnavailableError(
            f"this machine has no sandbox: {sandbox.why}; without --sandbox, bots run as plain "
            "processes of your own"
        )
    referee = Referee(sandbox=sandbox, cores=core_count(), tables=tables)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("games"),
        TimeElapsedColumn(),
    )
    hidden = quiet or not progress_console.is_terminal
    with Progress(*columns, console=progress_console, transient=True, disable=hidden) as bar:
        shown = bar.add_task(plan.game.ruleset, total=plan.boards * plan.rotations)

        def void(error: VoidMatchError) -> None:
            tell_void(error)
            bar.reset(shown)

        return await play_valid(referee, plan, progress=lambda _: bar.advance(shown), on_void=void)


def tell_void(error: VoidMatchError) -> None:
    """Print that a void match is played again."""
    complain(f"void, played again with the same seed: {error}")


def _write_replay(replay: Replay, folder: Path) -> Path:
    """Write the replay under a name that the play alone determines."""
    names = "-".join((replay.ruleset, *replay.entrants))
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", names)[:120]
    path = folder / f"{plain}-{replay.digest()[:12]}{replay_files.SUFFIX}"
    replay_files.write(path, replay)
    return path


def _write_logs(result: MatchResult, folder: Path) -> None:
    """Write ``match.log``, every turn with its times and what was printed meanwhile.

    Beside it, what each bot process printed, one file per process and stream.

    Raises:
        InputError: the folder cannot be written.
    """
    names = numbered(result.replay.entrants)
    log = MatchLog(result.replay, [ProcessLog.of(record) for record in result.processes])
    text = "".join(f"{line}\n" for line in log.lines())
    write_file(folder / "match.log", text.encode())
    for record in result.processes:
        stem = f"table{record.table}-{names[record.entrant]}"
        if record.member:
            stem += "-partner"
        for stream, text in (("stdout", record.stdout), ("stderr", record.stderr)):
            write_file(folder / f"{stem}.{stream}.txt", text.encode())


def _document(result: MatchResult, found: MatchReport, path: Path) -> dict[str, Any]:
    replay = result.replay
    return {
        "ruleset": replay.ruleset,
        "seed": replay.seed.hex(),
        "commitment": seed_commitment(replay.seed),
        "time_control": replay.time_control,
        "boards": len({game.board for game in replay.games}),
        "games": len(replay.games),
        "decisions": found.decisions,
        "seconds": round(result.seconds, 3),
        "first_seat_score": found.first_seat_score,
        "variance_reduction": found.variance_reduction,
        "sandbox": replay.tier,
        "bots": [_bot_document(bot) for bot in found.bots],
        "digest": replay.digest(),
        "replays": [str(path)],
    }


def _bot_document(bot: BotReport) -> dict[str, Any]:
    values = asdict(bot)
    for key in ("mean_think", "worst_think"):
        values[f"{key}_ms"] = round(values.pop(key) * 1e3, 3)
    return {**values, "elo": finite(bot.elo)}


def _show(result: MatchResult, found: MatchReport, path: Path) -> None:
    rows = [
        (
            bot.name,
            f"{bot.score:.1%}",
            elo_text(bot.elo, bot.elo_error),
            "-" if bot.points is None else f"{bot.points:.2f}",
            str(sum(bot.forfeits.values())),
            str(bot.turns),
            f"{bot.mean_think * 1e3:.2f}",
            f"{bot.worst_think * 1e3:.1f}",
        )
        for bot in sorted(found.bots, key=lambda bot: -bot.score)
    ]
    notes = dict.fromkeys(bot.note for bot in found.bots if bot.note)
    lines = [f"no error bar: {note}" for note in notes]
    lines += [f"forfeit: {line}" for line in forfeit_lines(result.replay)]
    rate = found.decisions / result.seconds
    lines.append(
        f"{len(result.replay.games)} games, {found.decisions} decisions in {result.seconds:.1f} s "
        f"({rate:.0f}/s), sandbox: {result.replay.tier}"
    )
    if found.first_seat_score is not None:
        lines.append(f"the first seat scored {found.first_seat_score:.1%}")
    if found.variance_reduction is not None:
        lines.append(f"variance reduction of duplicate play: {found.variance_reduction:.2f}")
    show(table(_COLUMNS, rows), *lines, f"replay: {path}")


def elo_text(elo: float, error: float | None) -> str:
    """Return an Elo number with its 95 % error for people."""
    if finite(elo) is None:
        return "won all" if elo > 0 else "lost all"
    return f"{elo:+.1f}" if error is None else f"{elo:+.1f} ± {error:.1f}"
