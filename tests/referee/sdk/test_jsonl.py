"""Bots that speak JSON lines: what they are told, what they may say, and what it costs them."""

from __future__ import annotations

import json
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from referee.bot_folder import BotFolder, load_bot_folder
from referee.outcome import ForfeitReason
from referee.sdk.jsonl import LINE_LIMIT, lines_of
from referee.v1 import referee_pb2 as pb
from tests.referee.real_bots import forfeits, make_plan, play, write_bot

if TYPE_CHECKING:
    from pathlib import Path

    from referee.match.runner import MatchResult

R = ForfeitReason
HEAD = """
import json, os, signal, sys, time

def say(kind, **fields):
    print(json.dumps({kind: fields}), flush=True)

def answer(turn, **other):
    say("action", **{"game": turn["game"], "ply": turn["ply"],
                     "action": turn["legal_actions"][0], **other})

for line in sys.stdin:
    ((kind, fields),) = json.loads(line).items()
    print(kind, file=sys.stderr)
    if kind == "welcome":
        say("ready")
    elif kind == "turn":
        turn = fields
"""


def write_jsonl_bot(folder: Path, act: str = "answer(turn)", *, after: str = "") -> BotFolder:
    """Write a bot in plain Python, without the SDK.

    Args:
        folder: where.
        act: what it does when it is to act.
        after: what it does when its input has ended.
    """
    folder.mkdir()
    lines = [HEAD, *(f"        {line}" for line in act.splitlines()), after]
    (folder / "bot.py").write_text("\n".join(lines), encoding="utf-8")
    (folder / "bot.toml").write_text(
        'name = "lines"\nrulesets = ["quasenbo", "pese-katesh"]\ncommand = ["python", "bot.py"]\n'
        'protocol = "jsonl"\n',
        encoding="utf-8",
    )
    return load_bot_folder(folder)


async def play_lines(tmp_path: Path, act: str = "answer(turn)", **settings: Any) -> MatchResult:
    """Play two boards of such a bot against one of the SDK."""
    after = settings.pop("after", "")
    bots = write_jsonl_bot(tmp_path / "lines", act, after=after), write_bot(tmp_path / "other")
    return await play(make_plan("quasenbo", *bots, rotations=1, start_limit=30.0, **settings))


def reasons(result: MatchResult) -> set[ForfeitReason]:
    """Return why games were forfeited, all of them by the bot of lines."""
    games = zip(result.replay.games, forfeits(result), strict=True)
    assert all(game.seats[forfeit.seat] == 0 for game, lost in games for forfeit in lost)
    return {forfeit.reason for lost in forfeits(result) for forfeit in lost}


async def test_a_bot_of_lines_plays_like_any_other(tmp_path: Path) -> None:
    """It hears of every game's start and end, and goes home with code 0."""
    result = await play_lines(tmp_path)
    assert reasons(result) == set()
    (process,) = (record for record in result.processes if record.entrant == 0)
    assert (process.report.code, process.report.stopped) == (0, False)
    heard = process.stderr.split()
    assert heard[0] == "welcome"
    assert heard[-1] == "match_over"
    assert heard.count("game_started") == heard.count("game_over") == 2


async def test_think_times_are_the_bots_own(tmp_path: Path) -> None:
    """The bridge measures each turn from its line to its answer.

    A turn that waits behind another is told less, in the bot's favour, when the bridge is kept from
    reading for a moment; most are told right.
    """
    result = await play_lines(tmp_path, "time.sleep(0.03)\nanswer(turn)", parallel_games=2)
    turns = [
        times
        for game in result.replay.games
        for times in game.times
        if times is not None and game.seats[times.seat] == 0
    ]
    assert median(times.think for times in turns) >= 29_000
    assert median(times.charged for times in turns) >= 20_000


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        ("print('5YK', flush=True)", R.INVALID_MESSAGE),
        ("say('nonsense')", R.INVALID_MESSAGE),
        ("print('{}', flush=True)", R.INVALID_MESSAGE),
        ("print('[1]', flush=True)", R.INVALID_MESSAGE),
        ("print('[' * 50_000, flush=True)", R.INVALID_MESSAGE),
        ("say('action', game=0)", R.INVALID_MESSAGE),
        ("answer(turn, game='0')", R.INVALID_MESSAGE),
        ("answer(turn, game=True)", R.INVALID_MESSAGE),
        ("answer(turn, ply=-1)", R.INVALID_MESSAGE),
        ("answer(turn, ply=1 << 40)", R.INVALID_MESSAGE),
        ("answer(turn, ply=turn['ply'] + 1)", R.INVALID_MESSAGE),
        ("answer(turn, action=7)", R.INVALID_MESSAGE),
        ("answer(turn, action=chr(0xd800))", R.INVALID_MESSAGE),
        (f"answer(turn, action='A' * {LINE_LIMIT})", R.INVALID_MESSAGE),
        ("say('ready')", R.INVALID_MESSAGE),
        ("answer(turn, action='the best one')", R.ILLEGAL_ACTION),
        ("say('resign', game=turn['game'])", R.RESIGN),
        ("sys.exit(3)", R.CRASH),
        ("os.kill(os.getpid(), signal.SIGSEGV)", R.CRASH),
        ("os.close(1); sys.exit(4)", R.CRASH),
    ],
)
async def test_a_fault_is_judged_like_any_other_bots(
    tmp_path: Path, act: str, reason: ForfeitReason
) -> None:
    """A line that is no message is an invalid message, and an exit is a crash."""
    result = await play_lines(tmp_path, act)
    assert reasons(result) == {reason}


async def test_how_the_bot_ended_is_told(tmp_path: Path) -> None:
    """The bridge ends as its bot did."""
    result = await play_lines(tmp_path, "os.kill(os.getpid(), signal.SIGSEGV)")
    assert "killed by SIGSEGV" in forfeits(result)[0][0].detail


async def test_what_was_wrong_with_a_line_is_in_the_log(tmp_path: Path) -> None:
    """The author finds the line there."""
    result = await play_lines(tmp_path, "print('5YK', flush=True)")
    (process,) = (record for record in result.processes if record.entrant == 0)
    assert "This line is no message: b'5YK\\n'" in process.stderr


async def test_silence_costs_time(tmp_path: Path) -> None:
    """The clock runs through the bridge."""
    result = await play_lines(tmp_path, "time.sleep(60)", control="0.2+0.05", stall=0.2)
    assert reasons(result) == {R.TIMEOUT, R.STALL}


def test_lines_hold_every_field_under_its_own_name() -> None:
    """Zeros and empty lists are written, absent observations are not, seeds are hexadecimal."""
    turns = pb.Turns()
    turns.games_started.add(game=1, seat=1, seed=b"\x01\xff")
    over = turns.games_over.add(game=0, termination=pb.TERMINATION_FORFEIT, points=[0, -1])
    over.forfeits.add(seat=1, reason=pb.FORFEIT_REASON_TIMEOUT)
    turn = turns.turns.add(game=1, time_left_us=5_000_000, legal_actions=["5YK"])
    turn.quasenbo.hand.append("5YK")
    ended, started, asked = map(json.loads, lines_of(pb.PlayResponse(turns=turns)))
    assert started == {"game_started": {"game": 1, "seat": 1, "seed": "01ff"}}
    assert ended["game_over"]["termination"] == "TERMINATION_FORFEIT"
    assert ended["game_over"]["forfeits"] == [
        {"seat": 1, "reason": "FORFEIT_REASON_TIMEOUT", "detail": ""}
    ]
    assert asked["turn"]["ply"] == 0
    assert asked["turn"]["events"] == []
    assert asked["turn"]["time_left_us"] == 5_000_000
    assert asked["turn"]["quasenbo"]["decree"] == ""
    assert "pese_katesh" not in asked["turn"]


def test_a_game_that_ends_at_once_starts_before_it_ends() -> None:
    """Otherwise an end comes before the start that it made room for."""
    turns = pb.Turns()
    turns.games_started.add(game=1)
    turns.games_over.add(game=1)
    turns.games_over.add(game=0)
    kinds = [(kind, fields["game"]) for line in lines_of(pb.PlayResponse(turns=turns))
             for kind, fields in json.loads(line).items()]  # fmt: skip
    assert kinds == [("game_over", 0), ("game_started", 1), ("game_over", 1)]
