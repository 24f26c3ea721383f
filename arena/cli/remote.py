"""Call an arena over its API: connect, page, watch, wait for one that restarts."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from arena.backoff import Backoff
from arena.cli.console import progress_console
from arena.client import Client, Login
from arena.documents import enum_word
from arena.errors import ArenaError, InputError, LimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from google.protobuf.timestamp_pb2 import Timestamp

Server = Annotated[
    str | None,
    typer.Option("--server", help="The arena's address; see `arena login`."),
]

UNREACHABLE: Final = {"UNREACHABLE", "UNAVAILABLE", "DEADLINE_EXCEEDED"}
"""Reasons of errors that may be gone at the next try."""

TRIES: Final = 5
PATIENCE: Final = timedelta(seconds=30)
"""How long an arena that is being watched may be away."""

_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 4.0
_T = TypeVar("_T")


@contextmanager
def calling(server: str | None = None) -> Iterator[Client]:
    """Connect to the arena of an address, or else to the one that `Login.load` finds.

    Raises:
        InputError: no arena is named; it refused a call; the sentence says what to do.
        ArenaError: it does not answer, or failed.
    """
    try:
        with Client(Login.load(server=server or "")) as client:
            yield client
    except LimitError as error:
        if error.retry_after is None:
            raise
        raise InputError(
            f"{error}; try again in {max(1, round(error.retry_after.total_seconds()))} s"
        ) from error


def until_answered(step: Callable[[], _T]) -> _T:
    """Repeat a step that may be done twice until the arena answers it.

    Raises:
        ArenaError: it never did.
    """
    for _ in range(TRIES - 1):
        try:
            return step()
        except ArenaError as error:
            if error.reason not in UNREACHABLE:
                raise
            _tell(f"{error}; trying again")
            time.sleep(_PAUSE)
    return step()


def watched(client: Client, call: Any, request: Any, *, ended: Callable[[Any], bool]) -> Any:
    """Yield what a stream tells until the last of it; a stream that breaks is opened again.

    Args:
        client: a connection.
        call: of its stub.
        request: what to ask.
        ended: whether an answer is the last one.

    Raises:
        ArenaError: the arena has not answered for `PATIENCE`.
    """
    backoff, since = Backoff(first=_PAUSE, last=_LONGEST_PAUSE), None
    while True:
        try:
            for answer in client.watch(call, request):
                backoff.reset()
                since = None
                yield answer
                if ended(answer):
                    return
        except ArenaError as error:
            if error.reason not in UNREACHABLE:
                raise
            now = time.monotonic()
            if since is None:
                since = now
                _tell(f"the arena at {client.login.address} does not answer; trying again")
            elif now - since >= PATIENCE.total_seconds():
                raise
        time.sleep(backoff.pause())


@contextmanager
def kept(client: Client, what: str, *, look: str) -> Iterator[None]:
    """Say that nothing is lost when the arena does not answer any more within the block.

    Args:
        client: a connection.
        what: the arena has accepted, for people.
        look: a command that tells what became of it.

    Raises:
        ArenaError: the arena does not answer.
    """
    try:
        yield
    except ArenaError as error:
        if error.reason not in UNREACHABLE:
            raise
        raise ArenaError(
            f"the arena at {client.login.address} does not answer any more; {what} and is kept "
            f"there, and `{look}` tells what became of it as soon as the arena is back",
            reason=error.reason,
        ) from error


def _tell(sentence: str) -> None:
    progress_console.print(sentence, markup=False, soft_wrap=True)


def pages(client: Client, call: Any, request: Any, *, most: int | None = None) -> Iterator[Any]:
    """Yield the answers of a list, page by page, until it ends or ``most`` pages have come."""
    while most is None or most > 0:
        answer = client.ask(call, request)
        yield answer
        request.page_token = answer.next_page_token
        if not request.page_token:
            return
        most = None if most is None else most - 1


def moment(stamp: Timestamp) -> str:
    """Return a moment for people and programs, UTC."""
    return stamp.ToDatetime(UTC).isoformat(timespec="seconds")


def word(enum: Any, value: int) -> str:
    """Return the name of an enum's value without what every name of it begins with."""
    return enum_word(enum.DESCRIPTOR, value)
