"""Read and validate ``bot.toml`` of a bot's folder."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from referee.errors import InvalidBotError, InvalidRulesetError
from referee.games.registry import parse_ruleset

if TYPE_CHECKING:
    from pathlib import Path

NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
MAX_PARALLEL_GAMES = 256
MAX_COMMAND = 8192
"""Characters of all words of a command; the kernel's limit is at least sixteen times that."""

PROTOCOLS = ("grpc", "jsonl")
_KEYS = {"name", "rulesets", "command", "build", "parallel_games", "protocol"}
_EXAMPLE = 'name = "my_bot"\nrulesets = ["quasenbo"]\ncommand = ["python", "bot.py"]'


@dataclass(frozen=True, slots=True)
class BotFolder:
    """Hold the content of a bot's ``bot.toml``.

    Attributes:
        path: the folder, absolute.
        name: the bot's name, lower case.
        rulesets: canonical ruleset texts that the bot plays.
        command: the words of the command, started in the folder.
        build: the words of a build command, or ().
        parallel_games: the most games that the bot plays at the same time; 0 leaves it to the
            referee.
        protocol: ``grpc``, or ``jsonl`` for JSON lines on stdin and stdout.
    """

    path: Path
    name: str
    rulesets: tuple[str, ...]
    command: tuple[str, ...]
    build: tuple[str, ...] = ()
    parallel_games: int = 0
    protocol: str = PROTOCOLS[0]


def load_bot_folder(path: Path) -> BotFolder:
    """Read a bot's folder.

    Raises:
        InvalidBotError: the message says what is wrong and what to write.
    """
    folder = path.resolve()
    if not folder.is_dir():
        raise InvalidBotError(f"{path} is not a folder; name the folder that holds bot.toml")
    file = folder / "bot.toml"
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidBotError(
            f"{path} holds no bot.toml; write one with the three lines:\n{_EXAMPLE}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        # TOML's own errors are ValueErrors; others come of endless numbers and of deep nesting.
        raise InvalidBotError(f"{path}/bot.toml cannot be read: {error}") from error
    unknown = sorted(set(document) - _KEYS)
    if unknown:
        raise InvalidBotError(
            f"{path}/bot.toml: unknown key {_shown(unknown[0])}; "
            f"the keys are {', '.join(sorted(_KEYS))}"
        )
    protocol = document.get("protocol", PROTOCOLS[0])
    if protocol not in PROTOCOLS:
        raise InvalidBotError(
            f'{path}/bot.toml: protocol must be "grpc" or "jsonl", not {_shown(protocol)}'
        )
    return BotFolder(
        path=folder,
        name=_name(document, path),
        rulesets=_rulesets(document, path),
        command=_words(document, "command", path, required=True),
        build=_words(document, "build", path, required=False),
        parallel_games=_parallel_games(document, path),
        protocol=protocol,
    )


def _name(document: dict[str, Any], path: Path) -> str:
    name = document.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidBotError(
            f"{path}/bot.toml: name must be 1 to 40 of a-z, 0-9, _ and -, starting with a letter, "
            f"not {_shown(name)}"
        )
    return name


def _words(document: dict[str, Any], key: str, path: Path, *, required: bool) -> tuple[str, ...]:
    words = document.get(key, [])
    fits = isinstance(words, list) and all(isinstance(word, str) and word for word in words)
    if not fits or (required and not words):
        raise InvalidBotError(
            f'{path}/bot.toml: {key} must be a list of words, for example ["python", "bot.py"]'
        )
    if sum(map(len, words)) > MAX_COMMAND or any("\0" in word for word in words):
        raise InvalidBotError(
            f"{path}/bot.toml: {key} must be at most {MAX_COMMAND} characters long, without NUL"
        )
    return tuple(words)


def _rulesets(document: dict[str, Any], path: Path) -> tuple[str, ...]:
    texts = document.get("rulesets")
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise InvalidBotError(
            f'{path}/bot.toml: rulesets must be a list of rulesets, for example ["quasenbo"]'
        )
    try:
        return tuple(dict.fromkeys(parse_ruleset(text).ruleset for text in texts))
    except InvalidRulesetError as error:
        raise InvalidBotError(f"{path}/bot.toml: {_cut(str(error), 1000)}") from error


def _parallel_games(document: dict[str, Any], path: Path) -> int:
    count = document.get("parallel_games", 0)
    if (
        not isinstance(count, int)
        or isinstance(count, bool)
        or not 0 <= count <= MAX_PARALLEL_GAMES
    ):
        raise InvalidBotError(
            f"{path}/bot.toml: parallel_games must be a number from 1 to {MAX_PARALLEL_GAMES}, "
            f"not {_shown(count)}"
        )
    return count


def _shown(value: object) -> str:
    """Format a value of bot.toml for a message, truncated."""
    try:
        return _cut(repr(value), 60)
    except ValueError:  # Python writes no number of more than 4300 digits
        return "a number of thousands of digits"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
