"""Builds Typer commands: options that commands share are the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

import typer


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with an option for each field of its parameters that are dataclasses.

    One that is a context manager is entered for as long as the command runs.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        kind: Any = parameter.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            groups[parameter.name] = kind
            parameters += _options(kind)
        else:
            parameters.append(parameter)

    @wraps(command)
    def run(**arguments: Any) -> None:
        grouped = {
            name: kind(**{each.name: arguments.pop(each.name) for each in fields(kind)})
            for name, kind in groups.items()
        }
        with ExitStack() as stack:
            for each in grouped.values():
                if isinstance(each, AbstractContextManager):
                    stack.enter_context(each)
            command(**arguments, **grouped)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _options(kind: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=hints[each.name],
        )
        for each in fields(kind)
    ]


def group(sentence: str, *commands: Callable[..., None]) -> typer.Typer:
    """Return a group of commands, each named after its function without a last underscore."""
    made = typer.Typer(help=sentence, no_args_is_help=True)
    for each in commands:
        made.command(name=each.__name__.rstrip("_"))(expand(each))
    return made
