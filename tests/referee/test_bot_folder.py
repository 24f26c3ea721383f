"""A bot's folder and what its bot.toml may say."""

from pathlib import Path

import pytest

from referee.bot_folder import load_bot_folder
from referee.errors import InvalidBotError
from referee.sandbox.runtimes import Runtimes

GOOD = 'name = "my_bot"\nrulesets = ["quasenbo"]\ncommand = ["python", "bot.py"]\n'


def folder_with(tmp_path: Path, toml: str) -> Path:
    """Write a bot.toml."""
    (tmp_path / "bot.toml").write_text(toml, encoding="utf-8")
    return tmp_path


def test_three_lines_are_enough(tmp_path: Path) -> None:
    """Everything else has a default."""
    bot = load_bot_folder(folder_with(tmp_path, GOOD))
    assert (bot.name, bot.command, bot.build) == ("my_bot", ("python", "bot.py"), ())
    assert bot.rulesets == ("quasenbo",)
    assert bot.parallel_games == 0


def test_rulesets_are_made_canonical(tmp_path: Path) -> None:
    """Defaults are left out, options sorted, and what is said twice counts once."""
    toml = GOOD.replace('["quasenbo"]', '["quasenbo:players=2", "quasenbo", "quasenbo:double=yes"]')
    bot = load_bot_folder(folder_with(tmp_path, toml))
    assert bot.rulesets == ("quasenbo", "quasenbo:double=yes")


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("name = ", "bot.toml cannot be read"),
        (GOOD + "colour = 1\n", "unknown key 'colour'; the keys are build, command, name"),
        (GOOD.replace("my_bot", "My Bot"), "name must be 1 to 40 of a-z, 0-9, _ and -"),
        (GOOD.replace('name = "my_bot"', ""), "name must be 1 to 40 of a-z"),
        (GOOD.replace('["python", "bot.py"]', '"python bot.py"'), "must be a list of words"),
        (GOOD.replace('["python", "bot.py"]', "[]"), "command must be a list of words"),
        (GOOD.replace('["quasenbo"]', '["chess"]'), "chess"),
        (GOOD.replace('["quasenbo"]', "[]"), "rulesets must be a list of rulesets"),
        (GOOD + "parallel_games = 257\n", "must be a number from 1 to 256, not 257"),
        (GOOD + "parallel_games = true\n", "must be a number from 1 to 256, not True"),
        (GOOD + 'protocol = "http"\n', 'must be "grpc" or "jsonl", not \'http\''),
        (GOOD + "build = [1]\n", "build must be a list of words"),
        (GOOD.replace("bot.py", "b\\u0000"), "command must be at most 8192 characters long"),
        (GOOD + f'build = ["{"x" * 8193}"]\n', "build must be at most 8192 characters long"),
        (GOOD + "x = " + "[" * 2000 + "]" * 2000, "bot.toml cannot be read"),
        (GOOD + "parallel_games = " + "9" * 5000, "bot.toml cannot be read"),
        (GOOD + "parallel_games = 0x" + "f" * 5000, "not a number of thousands of digits"),
        (GOOD + "k" * 100_000 + " = 1", "unknown key 'kkk"),
        (GOOD.replace('["quasenbo"]', f'["{"q" * 100_000}"]'), "qqq..."),
    ],
)
def test_a_wrong_folder_says_what_to_write(tmp_path: Path, toml: str, sentence: str) -> None:
    """The message names the file and carries the fix."""
    with pytest.raises(InvalidBotError) as caught:
        load_bot_folder(folder_with(tmp_path, toml))
    assert sentence in str(caught.value)
    assert "bot.toml" in str(caught.value)
    assert len(str(caught.value)) < 2000


def test_a_folder_without_bot_toml_shows_an_example(tmp_path: Path) -> None:
    """The three lines can be copied."""
    with pytest.raises(InvalidBotError, match="write one with the three lines") as caught:
        load_bot_folder(tmp_path)
    assert 'command = ["python", "bot.py"]' in str(caught.value)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """So is what should be there."""
    with pytest.raises(InvalidBotError, match="is not a folder; name the folder that holds"):
        load_bot_folder(tmp_path / "nowhere")


def test_a_program_behind_links_in_a_circle_is_refused(tmp_path: Path) -> None:
    """A build may leave such links; the author hears of it as of any file that cannot be run."""
    (tmp_path / "run").symlink_to("run")
    with pytest.raises(InvalidBotError, match="run is not an executable file of the bot's folder"):
        Runtimes({}).resolve(("./run",), tmp_path)
