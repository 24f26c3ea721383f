"""``arena replay ask``: put one stored turn to a bot, under a debugger if wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli.console import EXIT_FAILED, Json, print_json, progress_console
from arena.cli.loop import run_async
from arena.cli.tables import show
from arena.errors import InputError
from arena.matches import replay_file as replay_files
from arena.matches.report import numbered
from referee.errors import InputError as RefereeInputError

if TYPE_CHECKING:
    from referee.games.replay import Replay
    from referee.match.question import Reply
    from referee.match.stored_turn import StoredTurn


def ask(  # noqa: PLR0913 -- a command's options
    file: Annotated[Path, typer.Argument(help="A replay file.")],
    bot: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the bot.")],
    *,
    game: Annotated[int, typer.Option(min=0, help="The game, from 0; see `arena replay show`.")],
    ply: Annotated[int, typer.Option(min=0, help="How many actions came before the turn.")],
    history: Annotated[
        bool,
        typer.Option(
            "--history",
            help="Put all the seat's turns up to this one, for a bot that remembers.",
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Give the bot this terminal, so that breakpoint() works there."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Put one stored turn to a local bot and show its answer.

    The bot gets the seed, the seat and the time left that the bot in that seat had; no clock runs.
    It is a plain process of your own. Exit code 1 when it does not answer with a legal action.
    """
    # gRPC and the referee are slow to load.
    from referee.bot_folder import load_bot_folder  # noqa: PLC0415
    from referee.clock import TimeControl  # noqa: PLC0415
    from referee.match import question, stored_turn  # noqa: PLC0415
    from referee.sandbox.sandbox import PlainSandbox  # noqa: PLC0415

    if debug and json:
        raise InputError("--debug shares the terminal with the bot: leave --json out")
    replay = replay_files.read(file)
    turns = stored_turn.turns_until(replay, game=game, ply=ply)
    folder = load_bot_folder(bot)
    if not json:
        show(*_turn_lines(replay, game, turns[-1]))
    if replay.ruleset not in folder.rulesets:
        progress_console.print(
            f"{bot}/bot.toml does not name {replay.ruleset}; it is asked all the same"
        )
    reply = run_async(
        question.ask_bot(
            turns if history else turns[-1:],
            folder,
            control=TimeControl.parse(replay.time_control),
            sandbox=PlainSandbox(),
            terminal=debug,
        )
    )
    problem = _problem(turns[-1], reply)
    if json:
        print_json(_document(replay, game, turns[-1], reply, problem))
    else:
        show(*_reply_lines(turns[-1], reply, problem))
    if problem:
        raise typer.Exit(EXIT_FAILED)


def _problem(turn: StoredTurn, reply: Reply) -> str:
    """Return why the reply is no legal action; empty when it is one."""
    if reply.action is None:
        return f"{reply.reason}: {reply.detail}"
    try:
        turn.state.apply(reply.action)
    except RefereeInputError as error:
        return f"illegal_action: {error}"
    return ""


def _turn_lines(replay: Replay, number: int, turn: StoredTurn) -> Iterator[str]:
    name = numbered(replay.entrants)[turn.game.seats[turn.seat]]
    yield (
        f"{replay.ruleset}, game {number} (board {turn.game.board}, table {turn.game.table}), "
        f"ply {turn.ply}: {name} in seat {turn.seat}, {turn.time_left:.3f} s left"
    )
    for key, value in asdict(turn.state.observe(turn.seat)).items():
        words = map(str, value) if isinstance(value, (list, tuple)) else [str(value)]
        yield f"  {key}: {' '.join(words)}"
    yield from (f"  event: {event}" for event in turn.events)
    yield f"  legal actions: {' '.join(turn.legal_actions)}"
    yield f"  stored action: {_stored(name, turn)}"


def _stored(name: str, turn: StoredTurn) -> str:
    """Return what was done in the match, and who did it."""
    lost = turn.forfeit
    why = "" if lost is None else f"{lost.reason}: {lost.detail}"
    if turn.action is None:
        return f"none, the game ended here{f': {name} forfeited, {why}' if lost else ''}"
    if turn.times is not None:
        times = turn.times
        spent = f"{times.think / 1e3:.3f} ms ({times.charged / 1e3:.3f} ms charged)"
        return f"{turn.action} after {spent}"
    if lost is not None:
        return f"{turn.action}, by the house, since {name} forfeited at ply {lost.ply}, {why}"
    return f"{turn.action}, by the referee, which does not ask where there is no choice"


def _reply_lines(turn: StoredTurn, reply: Reply, problem: str) -> Iterator[str]:
    for stream, text in (("stdout", reply.stdout), ("stderr", reply.stderr)):
        yield from (f"  {stream}: {line}" for line in text.splitlines())
    if reply.action is None:
        yield f"no answer, {problem}"
        return
    compared = "" if turn.action is None else ", as stored"
    if turn.action is not None and turn.action != reply.action:
        compared = f", where {turn.action} is stored"
    spent = f"it thought {reply.think * 1e3:.3f} ms and took {reply.took * 1e3:.3f} ms"
    yield f"answer: {reply.action}{compared}; {spent}"
    if problem:
        yield f"that is not legal and would lose the game, {problem}"


def _document(
    replay: Replay, number: int, turn: StoredTurn, reply: Reply, problem: str
) -> dict[str, Any]:
    return {
        "ruleset": replay.ruleset,
        "game": number,
        "board": turn.game.board,
        "table": turn.game.table,
        "ply": turn.ply,
        "seat": turn.seat,
        "time_left_seconds": turn.time_left,
        "observation": asdict(turn.state.observe(turn.seat)),
        "events": list(turn.events),
        "legal_actions": list(turn.legal_actions),
        "stored_action": turn.action,
        "played_by_referee": turn.played_by_referee,
        "action": reply.action,
        "problem": problem,
        "think_ms": round(reply.think * 1e3, 3),
        "took_ms": round(reply.took * 1e3, 3),
        "stdout": reply.stdout,
        "stderr": reply.stderr,
    }
