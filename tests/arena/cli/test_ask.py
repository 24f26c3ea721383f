"""``arena replay ask`` puts one stored turn to a local bot."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from arena.matches import replay_file as replay_files
from referee.clock import SeatClock, TimeControl
from referee.errors import InputError
from referee.match.stored_turn import turns_until

if TYPE_CHECKING:
    from referee.games.replay import Replay

ROOT = Path(__file__).parents[3]
RANDOM, FAULTY = ROOT / "sample_bots/random", ROOT / "sample_bots/faulty"
PATIENCE = 60.0


def arena(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "arena", *map(str, words)],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def make_bot(folder: Path, code: str, *, protocol: str = "grpc") -> Path:
    """Write a bot of Quäsenbö; the code is the body of `act`."""
    folder.mkdir()
    (folder / "bot.toml").write_text(
        'name = "asked"\nrulesets = ["quasenbo"]\ncommand = ["python", "bot.py"]\n'
        f'protocol = "{protocol}"\n'
    )
    body = "\n".join(f"        {line}" for line in code.splitlines())
    (folder / "bot.py").write_text(
        "import sys\nfrom referee.sdk import Bot, run\n\n\nclass Asked(Bot):\n    seen = ()\n\n"
        f"    def act(self, turn):\n{body}\n\n\nrun(Asked())\n"
    )
    return folder


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the replay of a match between two random bots."""
    folder = tmp_path_factory.mktemp("asked")
    words = ("--boards", "2", "--seed", "7", "--replays", "r")
    done = arena("play", "quasenbo", RANDOM, RANDOM, *words, folder=folder)
    assert done.returncode == 0, done.stderr
    (found,) = (folder / "r").glob("*.replay")
    return found


@pytest.fixture(scope="module")
def forfeited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the replay of a match that one bot lost by illegal actions."""
    folder = tmp_path_factory.mktemp("forfeited")
    words = ("--boards", "1", "--seed", "7", "--replays", "r")
    done = arena("play", "quasenbo", RANDOM, FAULTY, *words, folder=folder)
    assert done.returncode == 0, done.stderr
    (found,) = (folder / "r").glob("*.replay")
    return found


def question(file: Path, bot: Path, *words: str, game: int = 0, ply: int) -> dict[str, Any]:
    """Ask, and return the JSON."""
    place = ("--game", str(game), "--ply", str(ply))
    done = arena("replay", "ask", file, bot, *place, "--json", *words, folder=file.parent)
    assert done.returncode in {0, 1}, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return {**document, "exit": done.returncode}


def asked_plies(replay: Replay, game: int = 0) -> list[int]:
    """Return the plies at which a bot was asked."""
    return [ply for ply, times in enumerate(replay.games[game].times) if times is not None]


def test_a_bot_answers_a_stored_turn_as_it_did(file: Path) -> None:
    """The seed, the seat, the ply and the legal actions are those of the match."""
    replay = replay_files.read(file)
    ply = asked_plies(replay)[-1]
    answer = question(file, RANDOM, ply=ply)
    assert answer["exit"] == 0
    assert answer["action"] == answer["stored_action"] == replay.games[0].actions[ply]
    assert answer["observation"]["hand"]


def test_what_the_bot_sees_is_rebuilt(file: Path) -> None:
    """The bank holds what the earlier turns left, the events are those since the last one."""
    replay = replay_files.read(file)
    game = replay.games[0]
    ply = asked_plies(replay)[-1]
    turns = turns_until(replay, game=0, ply=ply)
    clock = SeatClock(TimeControl.parse(replay.time_control))
    for turn in turns[:-1]:
        assert turn.times is not None
        assert turn.seat == turns[-1].seat
        clock.charge(turn.times.charged / 1e6)
    assert turns[-1].time_left == clock.bank != 5.0
    told = [event for turn in turns for event in turn.events]
    assert tuple(told) == turns[-1].state.events
    assert turns[-1].action == game.actions[ply]


def test_what_a_bot_prints_is_shown(file: Path, tmp_path: Path) -> None:
    """Both streams of the process stand under the turn."""
    bot = make_bot(
        tmp_path / "bot",
        "print('time left', turn.time_left)\nprint('woe', file=sys.stderr)\n"
        "return turn.legal_actions[0]",
    )
    ply = asked_plies(replay_files.read(file))[0]
    done = arena("replay", "ask", file, "--game", "0", "--ply", str(ply), bot, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "stdout: time left 0:00:05" in done.stdout
    assert "stderr: woe" in done.stdout
    assert "legal actions:" in done.stdout
    assert "answer: " in done.stdout


def test_a_bot_that_dies_says_why(file: Path, tmp_path: Path) -> None:
    """A crash is told with the exit code and what was printed, and exits with 1."""
    bot = make_bot(tmp_path / "bot", "raise LookupError('no such card')")
    answer = question(file, bot, ply=0)
    assert answer["exit"] == 1
    assert answer["action"] is None
    assert answer["problem"] == "crash: the process ended early: exit code 1"
    assert "LookupError: no such card" in answer["stderr"]


def test_a_bot_that_remembers_is_told_its_earlier_turns(file: Path, tmp_path: Path) -> None:
    """``--history`` puts all turns of the seat, in order; answers before the last do not count."""
    bot = make_bot(
        tmp_path / "bot",
        "self.seen = (*self.seen, turn.ply)\nprint('seen', *self.seen)\n"
        "return turn.legal_actions[-1]",
    )
    replay = replay_files.read(file)
    ply = asked_plies(replay)[-1]
    expected = [turn.ply for turn in turns_until(replay, game=0, ply=ply)]
    answer = question(file, bot, "--history", ply=ply)
    assert answer["stdout"].splitlines()[-1].split()[1:] == [str(each) for each in expected]
    assert question(file, bot, ply=ply)["stdout"].split()[-1] == str(ply)


def test_a_ply_that_the_referee_played_can_be_asked(file: Path) -> None:
    """Where there was no choice nobody was asked; the answer says so."""
    replay = replay_files.read(file)
    number, ply = next(
        (number, ply)
        for number, game in enumerate(replay.games)
        for ply, times in enumerate(game.times)
        if times is None
    )
    answer = question(file, RANDOM, game=number, ply=ply)
    assert answer["played_by_referee"]
    assert answer["action"] == answer["stored_action"]
    done = arena(
        *("replay", "ask", file, "--game", str(number), "--ply", str(ply), RANDOM),
        folder=file.parent,
    )
    assert "by the referee, which does not ask where there is no choice" in done.stdout


def test_the_turn_that_lost_the_game_can_be_asked(forfeited: Path) -> None:
    """The answer that was never stored is judged again: illegal, which exits with 1."""
    replay = replay_files.read(forfeited)
    ply = len(replay.games[0].actions)
    answer = question(forfeited, FAULTY, ply=ply)
    assert answer["exit"] == 1
    assert answer["stored_action"] is None
    assert answer["action"] == "the best one"
    assert answer["problem"].startswith("illegal_action: 'the best one' is no action")
    turn = turns_until(replay, game=0, ply=ply)[-1]
    assert turn.forfeit is not None
    assert turn.forfeit.reason == "illegal_action"


@pytest.mark.parametrize(("game", "ply"), [(0, 1000), (4, 0), (99, 0)])
def test_what_is_not_in_the_replay_is_bad_input(file: Path, game: int, ply: int) -> None:
    """The sentence says which games and plies there are."""
    with pytest.raises(InputError, match=r"holds the games 0 to 3|has the plies 0 to \d+"):
        turns_until(replay_files.read(file), game=game, ply=ply)


def test_a_bot_that_speaks_json_lines_cannot_have_the_terminal(file: Path, tmp_path: Path) -> None:
    """Its stdin and stdout carry the protocol; the sentence says what to do instead."""
    bot = make_bot(tmp_path / "bot", "return turn.legal_actions[0]", protocol="jsonl")
    done = arena(
        *("replay", "ask", file, "--game", "0", "--ply", "0", bot, "--debug"), folder=tmp_path
    )
    assert done.returncode == 2
    assert "without --debug" in done.stderr


def test_a_debugger_has_the_terminal(file: Path, tmp_path: Path) -> None:
    """Under ``--debug`` breakpoint() stops in the bot, and what is typed reaches it."""
    bot = make_bot(tmp_path / "bot", "choice = turn.legal_actions[0]\nbreakpoint()\nreturn choice")
    words = ("replay", "ask", str(file), "--game", "0", "--ply", "0", str(bot), "--debug")
    terminal, end = pty.openpty()
    asking = subprocess.Popen(
        [sys.executable, "-m", "arena", *words],
        stdin=end, stdout=end, stderr=end, cwd=tmp_path, env={**os.environ, "TERM": "dumb"},
        start_new_session=True,
    )  # fmt: skip
    os.close(end)
    with asking:
        shown = read_until(terminal, "(Pdb) ")
        assert "return choice" in shown
        os.write(terminal, b"p 'ply', turn.ply\n")
        assert "('ply', 0)" in read_until(terminal, "(Pdb) ")
        os.write(terminal, b"c\n")
        assert "answer: " in read_until(terminal, "took")
        assert asking.wait(PATIENCE) == 0
    os.close(terminal)
    assert "fork" not in shown, "the library notes how the bot was started"


def read_until(terminal: int, text: str) -> str:
    """Read what a program prints on its terminal until a text has come."""
    found, end = "", time.monotonic() + PATIENCE
    while text not in found:
        ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"{text!r} did not come: {found}"
        found += os.read(terminal, 4096).decode()
    return found
