"""What the commands share that call an arena over its API."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from datetime import UTC, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from arena.cli.console import progress_console
from arena.client import Client, Login, login_file
from arena.errors import ArenaError, InputError, LimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from google.protobuf.timestamp_pb2 import Timestamp

Server = Annotated[
    str | None,
    typer.Option("--server", help="The arena's address; ARENA_SERVER, else that of `arena login`."),
]

UNREACHABLE: Final = {"UNREACHABLE", "UNAVAILABLE", "DEADLINE_EXCEEDED"}
"""Reasons of errors that may be gone at the next try."""

TRIES: Final = 5
PATIENCE: Final = timedelta(seconds=30)
"""How long an arena that is being watched may be away."""

_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 4.0
_LOCAL: Final = ("ARENA_DATA_DIR", "ARENA_REDIS_URL")
_DATA: Final = Path("arena-data")
_T = TypeVar("_T")


@contextmanager
def calling(server: str | None = None) -> Iterator[Client]:
    """Connect to the arena of an address, or else of the environment or the login.

    Raises:
        InputError: no arena is named; it refused a call; the sentence says what to do.
        ArenaError: it does not answer, or failed.
    """
    environment = {**os.environ, "ARENA_SERVER": server} if server else None
    try:
        with Client(Login.load(environment)) as client:
            yield client
    except LimitError as error:
        if error.retry_after is None:
            raise
        raise InputError(
            f"{error}; try again in {max(1, round(error.retry_after.total_seconds()))} s"
        ) from error


def goes_remote(server: str | None, *, data_dir: Path | None, redis_url: str | None) -> bool:
    """Return whether a command asks an arena's API, not a data folder or Redis server at hand.

    What an option says counts first, then a data folder here or in the environment, then a login.
    """
    if server:
        return True
    if data_dir is not None or redis_url is not None or any(map(os.environ.get, _LOCAL)):
        return False
    if os.environ.get("ARENA_SERVER"):
        return True
    return not _DATA.exists() and login_file().exists()


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
    pause, since = _PAUSE, None
    while True:
        try:
            for answer in client.watch(call, request):
                pause, since = _PAUSE, None
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
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


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
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    return str(enum.Name(value)).removeprefix(prefix).lower()
