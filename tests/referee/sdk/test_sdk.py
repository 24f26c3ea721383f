"""The author's side: what the SDK loads, says and does when a bot fails."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from referee.errors import IllegalActionError, InputError, InvalidActionError
from referee.games import Board, parse_ruleset
from referee.outcome import ForfeitReason, Termination
from referee.sdk import Bot, GameEnd, GameStart, Turn, Welcome
from referee.sdk.stream import RequestQueue
from referee.sdk.testing import make_turn, play_game
from referee.v1 import referee_pb2 as pb
from tests.referee.real_bots import FIRST, make_plan, play, write_bot, write_script
from tests.referee.scripted import control


class FirstBot(Bot):
    """Plays the first legal action, and notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.events: list[str] = []
        self.end: GameEnd | None = None

    def prepare(self, welcome: Welcome) -> None:
        """Note it."""
        self.heard.append(f"{welcome.ruleset} {welcome.seats}")

    def game_started(self, start: GameStart) -> None:
        """Note it."""
        self.heard.append(f"start {start.seat}")

    def act(self, turn: Turn) -> str:
        """Play the first legal action."""
        self.events.extend(turn.events)
        return turn.legal_actions[0]

    def game_over(self, end: GameEnd) -> None:
        """Note it."""
        self.end = end


class RandomBot(Bot):
    """Plays any legal action."""

    def act(self, turn: Turn) -> str:
        """Let the turn's own generator choose."""
        return turn.rng.choice(turn.legal_actions)


class SayingBot(Bot):
    """Always answers the same."""

    def __init__(self, text: str) -> None:
        self.text = text

    def act(self, turn: Turn) -> str:
        """Do not even look."""
        del turn
        return self.text


def python(
    *words: str, folder: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the interpreter, in a folder when the program writes there."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


def test_importing_the_sdk_loads_nothing_heavy() -> None:
    """A bot starts fast and fits into a small sandbox."""
    heavy = ["redis", "typer", "numpy", "rich", "zstandard", "uvloop", "pydantic", "structlog"]
    heavy.append("importlib.metadata")  # a seventh of the whole start
    done = python("-c", f"import sys, referee.sdk; print(set({heavy}) & set(sys.modules))")
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_outside_the_arena_run_says_what_to_do(tmp_path: Path) -> None:
    """An author who starts the script by hand reads the command that plays it."""
    bot = write_bot(tmp_path / "bot")
    done = python(str(bot.path / "bot.py"), folder=bot.path)
    assert done.returncode == 1
    assert "the arena starts it. Try: arena play quasenbo" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_referee_that_is_not_there_ends_the_bot_with_a_sentence(tmp_path: Path) -> None:
    """No traceback of a library, but why the stream ended."""
    bot = write_bot(tmp_path / "bot")
    done = python(
        str(bot.path / "bot.py"),
        folder=bot.path,
        ARENA_BOT_ADDRESS=f"unix:{tmp_path}/nobody",
        ARENA_BOT_TOKEN="any",
    )
    assert done.returncode == 1
    assert done.stderr.startswith("The stream to the referee ended: UNAVAILABLE")
    assert "Traceback" not in done.stderr


FAILURES = {
    "act": ("if self.asked == 1: 1 / 0\n" + FIRST, "", "ZeroDivisionError: division by zero"),
    "prepare": (FIRST, "def prepare(self, welcome): 1 / 0", "ZeroDivisionError"),
    "game_over": (FIRST, "def game_over(self, end): 1 / 0", "ZeroDivisionError"),
    "a number": ("return 7", "", "TypeError: act returned 7, a int; it must return a text, one of"),
    "nothing": ("pass", "", "TypeError: act returned None, a NoneType; it must return a text"),
    "no text of the wire": (r"return '\ud800'", "", "The stream to the referee ended"),
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_bot_that_fails_crashes_at_once_with_a_traceback(
    tmp_path: Path, failure: str
) -> None:
    """It never hangs: the author finds the reason in stderr, the opponent wins without waiting."""
    act, rest, sentence = FAILURES[failure]
    failing = write_bot(tmp_path / "failing", act, rest=rest)
    plan = make_plan(
        "quasenbo",
        failing,
        write_bot(tmp_path / "other"),
        boards=3,
        rotations=1,
        parallel_games=1,
        control=control(bank=600),
    )
    async with asyncio.timeout(60):
        result = await play(plan)
    record = result.processes[0]
    assert sentence in record.stderr
    assert (record.report.code, record.report.stopped) == (1, False)
    reasons = [forfeit.reason for game in result.replay.games for forfeit in game.forfeits]
    assert reasons
    assert set(reasons) == {ForfeitReason.CRASH}
    assert result.replay.games[2].forfeits[0].detail == "the process ended early: exit code 1"


async def test_a_bot_that_failed_leaves_no_thread_behind(tmp_path: Path) -> None:
    """A thread of the library that the interpreter's end cut off could hang the process."""
    script = (
        "import pathlib, threading, time\n"
        "from referee.sdk import Bot, run, stream\n"
        "class SlowToEnd(stream.RequestQueue):\n"
        "    def __iter__(self):\n"
        "        yield from super().__iter__()\n"
        "        time.sleep(0.3)\n"
        "stream.RequestQueue = SlowToEnd\n"
        "class TestBot(Bot):\n"
        "    def act(self, turn): 1 / 0\n"
        "try:\n"
        "    run(TestBot())\n"
        "except ZeroDivisionError:\n"
        "    pathlib.Path('threads').write_text(str(threading.active_count()))\n"
    )
    failing = write_script(tmp_path / "failing", script)
    await play(make_plan("quasenbo", failing, write_bot(tmp_path / "other"), rotations=1))
    assert (failing.path / "threads").read_text(encoding="utf-8") == "1"


async def test_an_end_is_heard_before_the_start_that_it_made_room_for(tmp_path: Path) -> None:
    """A bot that plays one game at a time never has two."""
    notes = (
        "parallel_games = 1\n"
        "def game_started(self, start): print('start', start.game)\n"
        "def game_over(self, end): print('over', end.game, end.termination)"
    )
    bot = write_bot(tmp_path / "bot", rest=notes)
    result = await play(
        make_plan("quasenbo", bot, write_bot(tmp_path / "other"), boards=4, rotations=1)
    )
    expected = [line for game in range(4) for line in (f"start {game}", f"over {game} finished")]
    assert result.processes[0].stdout.splitlines() == expected


async def test_a_bot_is_told_what_it_will_play(tmp_path: Path) -> None:
    """Ruleset, seats, clock; and each turn knows the bank and the increment."""
    bot = write_bot(
        tmp_path / "bot",
        "if self.asked == 0: print(turn.time_left, turn.increment, turn.ruleset, turn.seats)\n"
        + FIRST,
        rest="def prepare(self, welcome): print(welcome.time_control)",
    )
    result = await play(
        make_plan("quasenbo", bot, write_bot(tmp_path / "other"), boards=1, rotations=1)
    )
    assert result.processes[0].stdout.splitlines() == [
        "5+0.05", "[game 0, ply 0]", "0:00:05 0:00:00.050000 quasenbo 2",
    ]  # fmt: skip


def test_the_turns_generator_depends_on_seed_and_ply_alone() -> None:
    """A bot that uses only it is reproducible, whatever happens between its turns."""
    game = parse_ruleset("quasenbo")
    state = game.start(Board.from_seed(game, bytes(32)))
    later = state.apply(state.legal_actions()[0])
    numbers = [make_turn(state).rng.random() for _ in range(2)]
    assert numbers[0] == numbers[1]
    assert make_turn(state, seed=b"x" * 32).rng.random() != numbers[0]
    assert make_turn(later).rng.random() != numbers[0]


def test_a_made_turn_is_what_the_referee_would_put() -> None:
    """Legal actions, observation, unseen events and time come from the state."""
    game = parse_ruleset("pese-katesh")
    state = game.start(Board.from_seed(game, bytes(32)))
    for _ in range(6):
        state = state.apply(state.legal_actions()[0])
    turn = make_turn(state, game=4, seen=2, time_left=1.5)
    assert (turn.game, turn.ply, turn.seat) == (4, 6, state.seat_to_act)
    assert turn.legal_actions == state.legal_actions()
    assert turn.events == state.events_since(2)
    assert turn.observation == state.observe(turn.seat)
    assert turn.time_left.total_seconds() == 1.5


def test_a_turn_of_a_game_that_is_over_cannot_be_made() -> None:
    """Nobody is to act."""
    last = play_game("quasenbo", [FirstBot(), FirstBot()]).state
    with pytest.raises(InputError, match="nobody is to act"):
        make_turn(last)


@pytest.mark.parametrize(
    ("ruleset", "seats"), [("quasenbo", 2), ("quasenbo:players=5", 5), ("pese-katesh:teams=yes", 4)]
)
def test_a_game_in_one_process_is_played_to_its_end(ruleset: str, seats: int) -> None:
    """Every bot hears the start, its events once, and the end."""
    bots = [FirstBot() for _ in range(seats)]
    played = play_game(ruleset, bots, seed=3)
    assert played.termination is Termination.FINISHED
    assert played.state.ply == len(played.actions)
    for seat, bot in enumerate(bots):
        assert bot.heard == [f"{ruleset} {seats}", f"start {seat}"]
        assert bot.end is not None
        assert bot.end.outcome == played.outcome
        assert tuple(bot.events) == played.state.events[: len(bot.events)]


def test_a_game_in_one_process_is_reproducible() -> None:
    """The same seed deals the same cards and gives the same random numbers."""
    games = [play_game("quasenbo", [RandomBot(), RandomBot()], seed=seed) for seed in (1, 1, 2)]
    assert games[0].actions == games[1].actions
    assert games[0].actions != games[2].actions


def test_what_is_not_legal_comes_through_as_an_exception() -> None:
    """The author's test fails where the bot went wrong."""
    with pytest.raises(InvalidActionError, match="'nonsense' is no action"):
        play_game("quasenbo", [SayingBot("nonsense"), SayingBot("nonsense")])
    with pytest.raises(IllegalActionError, match="CM is not legal"):
        play_game("quasenbo", [SayingBot("CM"), SayingBot("CM")])


def test_as_many_bots_as_seats_are_needed() -> None:
    """A team has two."""
    with pytest.raises(InputError, match="has 4 seats, not 2"):
        play_game("pese-katesh:teams=yes", [FirstBot(), FirstBot()])


def test_what_is_ready_is_sent_in_the_order_in_which_it_was_said() -> None:
    """Answers share a message, but none overtakes a Resign: it would answer the wrong turn."""
    requests = RequestQueue()
    requests.answer(0, 4, "5YK", 10)
    requests.answer(1, 2, "2S", 20)
    requests.send(pb.PlayRequest(resign=pb.Resign(game=2)))
    requests.answer(3, 0, "AC", 30)
    requests.end()
    answered, resigned, after = requests
    assert [(action.game, action.ply) for action in answered.actions.actions] == [(0, 4), (1, 2)]
    assert resigned.resign.game == 2
    assert [(action.game, action.elapsed_us) for action in after.actions.actions] == [(3, 30)]
