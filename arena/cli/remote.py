"""Calls an arena for a command, with retries, and prints the answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, TypeVar

import typer

from arena.backoff import Backoff
from arena.cli.console import EXIT_FAILED, Json, complain, print_json, progress_console
from arena.cli.tables import show
from arena.client import Client, Login
from arena.documents import document, enum_word
from arena.errors import ArenaError, InputError
from arena.v1 import accounts_pb2

if TYPE_CHECKING:
    import grpc
    from google.protobuf.message import Message
    from google.protobuf.timestamp_pb2 import Timestamp
    from rich.console import RenderableType

    from arena.v1.arena_pb2_grpc import ArenaServiceStub
    from arena.v1.competitions_pb2_grpc import CompetitionServiceStub

UNREACHABLE: Final = {"UNREACHABLE", "UNAVAILABLE", "DEADLINE_EXCEEDED"}
"""Reasons of errors that may be gone at the next try."""

TRIES: Final = 5
PATIENCE: Final = timedelta(seconds=30)
"""How long an arena that is being watched may be away."""

_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 4.0
_Request = TypeVar("_Request")
_Response = TypeVar("_Response")
_Answer = TypeVar("_Answer", bound="Message")
_T = TypeVar("_T")


@dataclass(kw_only=True)
class Remote:
    """The arena that a command calls: two options, the connection, and how answers are printed.

    Calls raise InputError when the arena refuses them, and ArenaError when it fails.
    """

    server: Annotated[
        str | None, typer.Option("--server", help="The arena's address; see `arena login`.")
    ] = None
    json: Json = False

    @cached_property
    def client(self) -> Client:
        """The connection to the arena, opened at its first use."""
        return Client(Login.load(server=self.server or ""))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if "client" in self.__dict__:
            self.client.close()

    @property
    def stub(self) -> ArenaServiceStub:
        """The calls but those about competitions."""
        return self.client.stub

    @property
    def competitions(self) -> CompetitionServiceStub:
        """The calls about competitions."""
        return self.client.competitions

    def ask(
        self, call: grpc.UnaryUnaryMultiCallable[_Request, _Response], request: _Request
    ) -> _Response:
        """Make a call and return its answer."""
        return self.client.ask(call, request)

    def ask_all(
        self,
        call: grpc.UnaryUnaryMultiCallable[Any, _Answer],
        request: Any,
        *,
        enough: Callable[[_Answer], bool] = lambda _: False,
    ) -> _Answer:
        """Return the pages of a list as one answer, up to the page with which it is ``enough``."""
        found: Any = self.ask(call, request)
        while found.next_page_token and not enough(found):
            request.page_token = found.next_page_token
            found.ClearField("next_page_token")
            found.MergeFrom(self.ask(call, request))
        return found  # type: ignore[no-any-return]

    def identity(self, deed: str) -> accounts_pb2.Token:
        """Return the token of the caller; InputError if there is none, which ``deed`` needs."""
        if not self.client.login.token:
            address = self.client.login.address
            raise InputError(f"{deed} needs a token: `arena login {address}` keeps one")
        return self.ask(self.stub.GetIdentity, accounts_pb2.GetIdentityRequest()).token

    def watch(self, call: Any, request: Any, *, ended: Callable[[Any], bool]) -> Iterator[Any]:
        """Yield a stream's answers up to the one that ``ended``, reopening a stream that breaks.

        Raises:
            ArenaError: the arena has not answered for `PATIENCE`.
        """
        backoff, since = Backoff(first=_PAUSE, last=_LONGEST_PAUSE), None
        while True:
            try:
                for answer in self.client.watch(call, request):
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
                    _tell(f"the arena at {self.client.login.address} does not answer; trying again")
                elif now - since >= PATIENCE.total_seconds():
                    raise
            time.sleep(backoff.pause())

    @contextmanager
    def kept(self, what: str, *, fate: str, look: str) -> Iterator[None]:
        """Tell how to look later when the block ends by Ctrl-C or a broken connection.

        Args:
            what: the arena has accepted, a clause.
            fate: what the arena does with it, a clause.
            look: a command that tells what became of it.

        Raises:
            ArenaError: the arena does not answer any more.
        """
        try:
            yield
        except KeyboardInterrupt:
            complain(f"{fate}; `{look}` tells how it goes")
            raise typer.Exit(EXIT_FAILED) from None
        except ArenaError as error:
            if error.reason not in UNREACHABLE:
                raise
            raise ArenaError(
                f"the arena at {self.client.login.address} does not answer any more; {what} and is "
                f"kept there, and `{look}` tells what became of it as soon as the arena is back",
                reason=error.reason,
            ) from error

    def tell(self, answer: Message | dict[str, Any], *told: RenderableType) -> None:
        """Print an answer: with ``--json`` as a document, else as lines and tables."""
        if self.json:
            print_json(answer if isinstance(answer, dict) else document(answer))
        else:
            show(*told)


def until_answered(step: Callable[[], _T]) -> _T:
    """Repeat a step that may be done twice until the arena answers it, `TRIES` times at most."""
    for _ in range(TRIES - 1):
        try:
            return step()
        except ArenaError as error:
            if error.reason not in UNREACHABLE:
                raise
            _tell(f"{error}; trying again")
            time.sleep(_PAUSE)
    return step()


def _tell(sentence: str) -> None:
    progress_console.print(sentence, soft_wrap=True)


def moment(stamp: Timestamp) -> str:
    """Return a moment in ISO 8601 and UTC."""
    return stamp.ToDatetime(UTC).isoformat(timespec="seconds")


def word(enum: Any, value: int) -> str:
    """Return the name of an enum's value without what every name of it begins with."""
    return enum_word(enum.DESCRIPTOR, value)
