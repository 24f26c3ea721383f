"""``arena new``: create a folder with a bot that plays."""

from __future__ import annotations

import shutil
import subprocess
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from arena.cli.console import Json, out, print_json, progress_console
from arena.errors import ArenaError, InputError
from arena.sample_bots import shipped_bot
from referee.bot_folder import NAME
from referee.games import parse_ruleset

PYTHON_BOT = '''\
"""Plays any legal action. Make it better."""

from referee.sdk import Bot, Turn, run


class MyBot(Bot):
    def act(self, turn: Turn) -> str:
        return turn.rng.choice(turn.legal_actions)


run(MyBot())
'''

NODE_SAMPLE = "node_random"
NODE_FILES = ("arena_bot.js", "bot.js", "package.json", "package-lock.json", ".npmrc")
"""Copied with the sample's name replaced; the protocol is copied as it is."""

NODE_PROTOCOL = "referee.proto"
JSONL_SAMPLE = "jsonl_shell"


class Language(StrEnum):
    """What a bot is written in."""

    PYTHON = "python"
    NODE = "node"
    JSONL = "jsonl"
    """Anything that reads and writes lines of JSON."""


_COMMANDS = {
    Language.PYTHON: ("python", "bot.py"),
    Language.NODE: ("node", "bot.js"),
    Language.JSONL: ("sh", "bot.sh"),
}


def new(
    name: Annotated[Path, typer.Argument(help="The bot's name, and its new folder.")],
    *,
    game: Annotated[str, typer.Option(help="What it plays; see `arena games`.")] = "quasenbo",
    language: Annotated[Language, typer.Option(help="What it is written in.")] = Language.PYTHON,
    install: Annotated[
        bool, typer.Option(help="For node: fetch the packages of the SDK with npm.")
    ] = True,
    json: Json = False,
) -> None:
    """Create a folder with a bot to start from."""
    ruleset = parse_ruleset(game).ruleset
    if not NAME.fullmatch(name.name):
        raise InputError(
            f"a bot's name is 1 to 40 of a-z, 0-9, _ and -, starting with a letter, "
            f"not {name.name!r}"
        )
    files = _files(language, name.name, ruleset)
    _write(name, files)
    if language is Language.NODE and install:
        _install_packages(name, quiet=json)
    if json:
        print_json({"folder": str(name), "name": name.name, "files": sorted(files)})
        return
    out.print(
        f"{name} holds a bot that plays {ruleset}. What to do next:\n"
        f"  edit {name / _COMMANDS[language][1]}\n  arena check {name}\n  arena submit {name}"
    )


def _files(language: Language, name: str, ruleset: str) -> dict[str, str]:
    """Return the texts of the new folder's files by their names."""
    program, file = _COMMANDS[language]
    toml = f'name = "{name}"\nrulesets = ["{ruleset}"]\ncommand = ["{program}", "{file}"]\n'
    if language is Language.PYTHON:
        return {"bot.toml": toml, file: PYTHON_BOT}
    if language is Language.JSONL:
        text = (shipped_bot(JSONL_SAMPLE) / file).read_text(encoding="utf-8")
        return {"bot.toml": f'{toml}protocol = "jsonl"\n', file: text}
    sample = shipped_bot(NODE_SAMPLE)
    texts = {file: (sample / file).read_text(encoding="utf-8") for file in NODE_FILES}
    copied = {file: text.replace(NODE_SAMPLE, name) for file, text in texts.items()}
    protocol = (sample / NODE_PROTOCOL).read_text(encoding="utf-8")
    return {"bot.toml": toml, **copied, NODE_PROTOCOL: protocol}


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise InputError(f"{folder} is there already; choose another name") from error
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error}") from error


def _install_packages(folder: Path, *, quiet: bool) -> None:
    """Run ``npm ci``, which fetches what package-lock.json names, and runs none of it."""
    npm = shutil.which("npm")
    if npm is None:
        raise ArenaError(f"npm was not found: install Node 18 or newer, then `npm ci` in {folder}")
    if not quiet:
        progress_console.print("npm ci ...")
    done = subprocess.run(
        [npm, "ci", "--no-audit", "--no-fund"],
        cwd=folder, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise ArenaError(
            f"npm ci failed in {folder}: {said[0] if said else 'it said nothing'}; "
            "the folder is complete: run it there again"
        )
