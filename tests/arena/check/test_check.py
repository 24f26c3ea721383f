"""A good bot passes every step, and each fault fails the step that is made for it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from arena.check.report import CheckReport, StepState
from arena.errors import InputError
from referee.sandbox.output import FREE_BYTES
from tests.arena.check.making import HONEST, QUICK, acting, bot_folder, checked, faulty

STEPS = [
    "bot.toml", "archive", "command", "start", "plays quasenbo", "several games at once",
    "answers in order", "same seed, same actions", "an opponent's forfeit", "time", "end",
    "memory", "output",
]  # fmt: skip


def states(report: CheckReport) -> dict[str, StepState]:
    """Return the states of the steps that are not ok, by name."""
    return {step.name: step.state for step in report.steps if step.state is not StepState.OK}


async def test_a_good_bot_passes(tmp_path: Path) -> None:
    """Every step is numbered, ok, and has a sentence."""
    report = await checked(bot_folder(tmp_path, HONEST), replace(QUICK, goodbye=30))
    assert states(report) == {}
    assert report.passed
    assert [step.name for step in report.steps] == STEPS
    assert [step.number for step in report.steps] == list(range(1, len(STEPS) + 1))
    assert all(step.detail and not step.advice and not step.output for step in report.steps)
    assert (report.bot, report.tier) == ("it", "none")


@pytest.mark.parametrize(
    ("fault", "step", "words"),
    [
        ("illegal", "plays quasenbo", "illegal_action"),
        ("garbage", "plays quasenbo", "invalid_message"),
        ("late", "plays quasenbo", "timeout"),
        ("hang", "plays quasenbo", "timeout"),
        ("crash", "several games at once", "SIGSEGV"),
        ("resign", "plays quasenbo", "resign"),
        ("crash-at-start", "start", "exit code 1"),
        ("new-protocol", "start", "use an older SDK"),
        ("ignore-sigterm", "end", "5 of 5 processes still ran 0.2 s after MatchOver"),
    ],
)
async def test_a_fault_fails_its_step(fault: str, step: str, words: str, tmp_path: Path) -> None:
    """The step says what happened and what to do."""
    options = replace(QUICK, goodbye=0.2) if step == "end" else QUICK
    failure = (await checked(faulty(tmp_path, fault), options)).failure
    assert failure is not None
    assert failure.name == step
    assert words in failure.detail
    assert failure.advice


async def test_what_a_failing_bot_printed_is_shown(tmp_path: Path) -> None:
    """Shortened in the middle."""
    code = "import sys\nprint('x' * 10000, file=sys.stderr)\nsys.exit('no model')"
    failure = (await checked(bot_folder(tmp_path, code))).failure
    assert failure is not None
    assert failure.output.endswith("no model\n")
    assert "characters left out" in failure.output
    assert len(failure.output) < 5000


async def test_answers_out_of_order_are_found(tmp_path: Path) -> None:
    """One game at a time goes well; several do not."""
    folder = faulty(tmp_path, "grandchild")
    code = (folder / "bot.py").read_text()
    (folder / "bot.py").write_text(
        code.replace(" for turn in turns)", " for turn in turns[::-1])", 1)
    )
    report = await checked(folder)
    assert {"several games at once", "answers in order"} <= set(states(report))


async def test_a_bot_that_is_never_ready_fails_its_start(tmp_path: Path) -> None:
    """After the limit."""
    failure = (await checked(faulty(tmp_path, "no-ready"), replace(QUICK, start_limit=2))).failure
    assert failure is not None
    assert (failure.name, failure.detail) == ("start", "no Ready within 2 s of its start")


async def test_weaknesses_are_only_warned(tmp_path: Path) -> None:
    """A bot may be loud, not reproducible, play one game at a time, and end badly."""
    act = (
        f"print('x' * {FREE_BYTES // 20}, file=sys.stderr)\n"
        "return random.choice(turn.legal_actions)"
    )
    code = acting(act, before="import random, sys")
    code = code.replace("run(It())", "run(It())\nraise SystemExit(3)")
    report = await checked(bot_folder(tmp_path, code, "parallel_games = 1"))
    assert report.passed
    weak = ("several games at once", "same seed, same actions", "end", "output")
    assert states(report) == dict.fromkeys(weak, StepState.WARN)


async def test_a_bot_that_ends_late_now_and_then_is_warned(tmp_path: Path) -> None:
    """The machine may be to blame; processes of a single game are late here, others are not."""
    code = acting("return turn.legal_actions[0]", before="import time").replace(
        "run(It())", "bot = It()\nrun(bot)\nif bot.games == 1:\n    time.sleep(60)"
    )
    code = code.replace("    def act", "    games = 0\n\n    def game_started(self, start):\n"
                        "        self.games += 1\n\n    def act")  # fmt: skip
    report = await checked(bot_folder(tmp_path, code), replace(QUICK, goodbye=3))
    assert report.passed
    (step,) = (each for each in report.steps if each.name == "end")
    assert step.state is StepState.WARN
    assert step.detail.startswith("2 of 5 processes still ran 3 s after MatchOver")


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("", "name must be"),
        ('name = "it"\nrulesets = ["chess"]\ncommand = ["python"]', "no game 'chess'"),
        ("name = it", "cannot be read"),
    ],
)
async def test_a_bad_bot_toml_ends_the_check(toml: str, words: str, tmp_path: Path) -> None:
    """With the loader's sentence."""
    folder = bot_folder(tmp_path, HONEST)
    (folder / "bot.toml").write_text(toml)
    report = await checked(folder)
    assert [step.name for step in report.steps] == ["bot.toml"]
    assert report.failure is not None
    assert words in report.failure.detail


async def test_a_folder_that_cannot_be_sent_ends_the_check(tmp_path: Path) -> None:
    """The arena would refuse its archive."""
    folder = bot_folder(tmp_path, HONEST)
    (folder / "link").symlink_to("bot.py")
    failure = (await checked(folder)).failure
    assert failure is not None
    assert (failure.name, "'link' is a link" in failure.detail) == ("archive", True)


async def test_a_command_that_is_not_there_ends_the_check(tmp_path: Path) -> None:
    """Before anything is started."""
    failure = (await checked(bot_folder(tmp_path, HONEST, command='["./bot"]'))).failure
    assert failure is not None
    assert failure.name == "command"


async def test_a_build_makes_what_plays(tmp_path: Path) -> None:
    """In a copy: the author's folder stays as it is."""
    code = f"open('made.py', 'w').write({HONEST!r})"
    build = 'build = ["python", "bot.py"]'
    folder = bot_folder(tmp_path, code, build, command='["python", "made.py"]')
    report = await checked(folder)
    assert report.passed
    assert report.steps[2].name == "build"
    assert sorted(path.name for path in folder.iterdir()) == ["bot.py", "bot.toml"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise SystemExit('no compiler')", "exit code 1"),
        ("import time; time.sleep(60)", "it took too long"),
        ("open('bot.toml', 'a').write('#')", "changed bot.toml"),
        (
            "import os; os.remove('bot.toml'); os.symlink('/etc/passwd', 'bot.toml')",
            "changed bot.toml",
        ),
    ],
)
async def test_a_build_that_fails_ends_the_check(code: str, words: str, tmp_path: Path) -> None:
    """By its exit code, its time, or because it changes what was sent."""
    folder = bot_folder(tmp_path, code, 'build = ["python", "bot.py"]')
    failure = (await checked(folder, replace(QUICK, build_limit=timedelta(seconds=1)))).failure
    assert failure is not None
    assert failure.name == "build"
    assert words in failure.detail


async def test_what_is_no_folder_is_the_callers_error(tmp_path: Path) -> None:
    """With a sentence."""
    with pytest.raises(InputError, match="is not a folder"):
        await checked(tmp_path / "nowhere")
