"""``arena new`` makes what ``arena check`` passes."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from arena.sample_bots import shipped_bot
from referee.bot_folder import load_bot_folder
from tests.arena.check.making import HONEST, bot_folder, faulty
from tests.service_kit import run_command

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


def arena(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return run_command(tuple(map(str, words)), environment=os.environ, folder=folder)


def test_a_new_bot_names_the_ruleset_that_was_asked_for(tmp_path: Path) -> None:
    """The program is the same for every game, and `bot.toml` says which it plays."""
    made = arena("new", "it", "--game", "pese-katesh:floors=1", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert load_bot_folder(tmp_path / "it").rulesets == ("pese-katesh:floors=1",)


def test_a_new_bot_in_python_passes_at_once(tmp_path: Path) -> None:
    """In the ruleset that was asked for, without any edit."""
    game = "quasenbo:players=3"
    made = arena("new", "my_bot", "--game", game, "--json", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["files"] == ["bot.py", "bot.toml"]
    done = arena("check", "my_bot", "--json", "--no-sandbox", folder=tmp_path)
    document = json.loads(done.stdout)
    assert (done.returncode, document["passed"], document["bot"]) == (0, True, "my_bot")
    assert f"plays {game}" in [step["name"] for step in document["steps"]]


def test_a_new_bot_that_speaks_lines_of_json_passes_at_once(tmp_path: Path) -> None:
    """In any language; the example is a shell script."""
    made = arena("new", "my_bot", "--language", "jsonl", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    done = arena("check", "my_bot", "--no-sandbox", "--time", "20", folder=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.node
def test_a_new_bot_in_javascript_passes_at_once(tmp_path: Path) -> None:
    """With the packages that npm fetches from the lock file."""
    packages = shipped_bot("node_random") / "node_modules"
    if not packages.is_dir():
        pytest.skip("`npm ci` was not run in sample_bots/node_random")
    words = ("new", "my_bot", "--language", "node", "--no-install")
    made = arena(*words, folder=tmp_path)
    assert made.returncode == 0, made.stderr
    shutil.copytree(packages, tmp_path / "my_bot" / "node_modules", symlinks=True)
    done = arena("check", "my_bot", "--no-sandbox", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert json.loads((tmp_path / "my_bot" / "package.json").read_text())["name"] == "my_bot"


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    """Exit code 2 and a sentence."""
    (tmp_path / "my_bot").mkdir()
    done = arena("new", "my_bot", folder=tmp_path)
    assert (done.returncode, "is there already" in done.stderr) == (2, True)
    assert list((tmp_path / "my_bot").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("My Bot",), "a bot's name is"),
        (("it", "--game", "chess"), "no game 'chess'"),
        (("it", "--language", "cobol"), "cobol"),
    ],
)
def test_bad_input_makes_nothing(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    """Exit code 2."""
    done = arena("new", *words, folder=tmp_path)
    assert (done.returncode, sentence in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_step_is_exit_code_one(tmp_path: Path) -> None:
    """The text shows the step, what to do and what the bot printed."""
    done = arena("check", faulty(tmp_path, "crash-at-start"), "--no-sandbox", folder=tmp_path)
    assert done.returncode == 1
    assert "fail  start: the process ended early: exit code 1" in done.stdout
    assert "to do: see what the bot printed" in done.stdout
    assert "| this bot never starts" in done.stdout
    assert "it is not fit to play" in done.stdout


def test_what_a_bot_prints_is_no_markup(tmp_path: Path) -> None:
    """Brackets stay."""
    folder = bot_folder(tmp_path, HONEST)
    (folder / "bot.py").write_text("raise SystemExit('[red]a[/red] [/b]')")
    done = arena("check", folder, "--no-sandbox", folder=tmp_path)
    assert "| [red]a[/red] [/b]" in done.stdout
