"""The API's client; needs gRPC and protobuf alone. Refusals are the errors of `arena.errors`.

Which arena is called, and with which token, say in falling order an argument, the environment
(``ARENA_SERVER``, ``ARENA_TOKEN``, ``ARENA_CA``), the data folder of an arena on this machine, and
a file that `Login.save` writes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import ssl
import tomllib
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import grpc
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from arena import errors
from arena.errors import ArenaError, InputError
from arena.files import ADDRESS_FILE, ADMIN_FILE, write_private
from arena.v1 import bots_pb2
from arena.v1.arena_pb2_grpc import ArenaServiceStub
from arena.v1.competitions_pb2_grpc import CompetitionServiceStub

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PORT: Final = 7400
TIMEOUT: Final = timedelta(seconds=30)
MESSAGE_BYTES: Final = 256 << 10
_DATA: Final = Path("arena-data")
_CONFIG: Final = Path("arena.toml")
_CHUNK: Final = 64 << 10
_UPLOAD: Final = timedelta(minutes=5)
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]*")
_DETAILS: Final = "grpc-status-details-bin"
_LOCAL: Final = {"localhost", "127.0.0.1", "[::1]"}
_ERRORS: Final[Mapping[grpc.StatusCode, type[ArenaError]]] = {
    grpc.StatusCode.NOT_FOUND: errors.NotFoundError,
    grpc.StatusCode.FAILED_PRECONDITION: errors.PreconditionError,
    grpc.StatusCode.UNAUTHENTICATED: errors.UnauthenticatedError,
    grpc.StatusCode.PERMISSION_DENIED: errors.DeniedError,
    grpc.StatusCode.INVALID_ARGUMENT: InputError,
}
_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """The address of an arena, and the token to call it with.

    Attributes:
        address: ``HOST:PORT``, ``unix:PATH``, or either with ``http://`` (no TLS) or ``https://``
            before it. Without them TLS is used unless the host is this machine.
        token: the secret; "" for none.
        ca: PEM file of whoever signed the arena's certificate; "" for the usual authorities.
        data_dir: of an arena on this machine, whose ``ca`` is its own certificate, made out to
            whichever name.
    """

    address: str
    token: str = ""
    ca: str = ""
    data_dir: Path | None = None

    @property
    def target(self) -> str:
        """The target of the gRPC channel."""
        text = self.address.partition("://")[2] or self.address
        text = text.rstrip("/")
        if text.startswith("unix:") or text.rpartition("]")[2].count(":"):
            return text
        return f"{text}:{PORT}"

    @property
    def uses_tls(self) -> bool:
        """Whether the connection is encrypted."""
        scheme, separator, _ = self.address.partition("://")
        if separator:
            return scheme == "https"
        return not self.target.startswith("unix:") and self.target.rpartition(":")[0] not in _LOCAL

    def save(self, path: Path | None = None) -> Path:
        """Write the file, readable for its user only, and return its path; raises InputError."""
        file = path or login_file()
        kept = {"address": self.address, "token": self.token, "ca": self.ca}
        write_private(file, json.dumps(kept, indent=2) + "\n")
        return file

    @classmethod
    def load(cls, environment: Mapping[str, str] | None = None, *, server: str = "") -> Self:
        """Return the arena to call; what was kept for one arena goes to that arena only.

        Args:
            environment: instead of the process's own.
            server: an address that comes before all else.

        Raises:
            InputError: no arena is named, none runs in the data folder, or a file cannot be read.
        """
        given = os.environ if environment is None else environment
        address = server or given.get("ARENA_SERVER", "")
        found = cls._find(given, address)
        return replace(
            found,
            token=given.get("ARENA_TOKEN", "") or found.token,
            ca=given.get("ARENA_CA", "") or found.ca,
        )

    @classmethod
    def _find(cls, environment: Mapping[str, str], address: str) -> Self:
        """Return what was kept for an address, or without one for the first arena that was kept."""
        folder = _data_dir(environment)
        here = cls._here(folder) if folder is not None else None
        if here is not None and address in {"", here.address}:
            return here
        if folder is not None and not address:
            raise InputError(
                f"no arena runs in {folder}: start one with `arena up`, or name another by "
                "--server or ARENA_SERVER"
            )
        file = login_file(environment)
        kept = _read(file) if file.exists() else {}
        if kept and address in {"", kept["address"]}:
            return cls(address=kept["address"], token=kept["token"], ca=kept["ca"])
        if not address:
            raise InputError(
                "no arena is known here: `arena up` starts one on this machine, `arena login "
                "ADDRESS` keeps one far away, and --server or ARENA_SERVER names one"
            )
        return cls(address=address)

    @classmethod
    def _here(cls, folder: Path) -> Self | None:
        """Return the arena whose API runs with a data folder; None when it does not run."""
        try:
            lines = (folder / ADDRESS_FILE).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{error.filename} cannot be read: {error.strerror}") from error
        token = ""
        with suppress(OSError):
            token = (folder / ADMIN_FILE).read_text(encoding="ascii").strip()
        address, ca = [*lines, "", ""][:2]
        return cls(address=address, token=token, ca=ca, data_dir=folder)


def _data_dir(environment: Mapping[str, str]) -> Path | None:
    """Return the data folder that the environment or ``./arena.toml`` names, or that lies here."""
    named = environment.get("ARENA_DATA_DIR", "")
    if not named:
        with suppress(OSError, ValueError):
            settings = tomllib.loads(_CONFIG.read_text(encoding="utf-8"))
            named = str(settings.get("data_dir", ""))
    if named:
        return Path(named)
    return _DATA if _DATA.is_dir() else None


def login_file(environment: Mapping[str, str] | None = None) -> Path:
    """Return where logins are kept, ``~/.config/bot-arena/login.json``."""
    given = os.environ if environment is None else environment
    base = given.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".config"
    return folder / "bot-arena" / "login.json"


def _read(file: Path) -> dict[str, str]:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        return {key: str(values[key]) for key in ("address", "token", "ca")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{file} cannot be read ({error}); `arena login` writes it anew"
        ) from error


class Client:
    """A connection to an arena; close it, or use it as a context manager.

    Calls raise InputError when the arena refuses them, with its own sentence, and ArenaError when
    it does not answer or fails.

    Attributes:
        stub: the calls but those about competitions, for `ask` and `watch`.
        competitions: the calls about competitions, likewise.

    Raises:
        InputError: the token cannot be one, or the authority's file cannot be read.
    """

    def __init__(self, login: Login) -> None:
        if not _TOKEN.fullmatch(login.token):
            raise InputError(
                "the token has characters that no token has: copy it whole, without a blank, a "
                "quote or a line break, into ARENA_TOKEN, or give it to `arena login`"
            )
        self.login = login
        self._channel = _channel(login)
        self.stub = ArenaServiceStub(self._channel)
        self.competitions = CompetitionServiceStub(self._channel)

    def ask(
        self,
        call: grpc.UnaryUnaryMultiCallable[_Request, _Response],
        request: _Request,
        *,
        timeout: timedelta = TIMEOUT,
    ) -> _Response:
        """Make a call and return its answer."""
        with self._errors():
            return call(request, timeout=timeout.total_seconds(), metadata=self._metadata)

    def watch(
        self, call: grpc.UnaryStreamMultiCallable[_Request, _Response], request: _Request
    ) -> Iterator[_Response]:
        """Make a call and yield its answers as they come; leaving the loop ends it."""
        stream: Any = call(request, metadata=self._metadata)
        try:
            with self._errors():
                yield from stream
        finally:
            stream.cancel()

    def submit(self, archive: bytes) -> bots_pb2.SubmitVersionResponse:
        """Upload a bot, a tar.gz or zip as of `arena.uploads.pack_folder`; may be repeated."""
        pieces = (
            bots_pb2.SubmitVersionRequest(header=_header(archive)),
            *(bots_pb2.SubmitVersionRequest(chunk=each) for each in _chunks(archive)),
        )
        return self.ask(self.stub.SubmitVersion, iter(pieces), timeout=_UPLOAD)  # type: ignore[arg-type]

    def add_bot(self, archive: bytes, *, owner: str = "") -> bots_pb2.AddBotResponse:
        """Add a packed bot untried, as its active version; for admins; may be repeated.

        Without ``owner`` it belongs to the house.
        """
        header = bots_pb2.AddBotHeader(upload=_header(archive), owner=owner)
        pieces = (
            bots_pb2.AddBotRequest(header=header),
            *(bots_pb2.AddBotRequest(chunk=each) for each in _chunks(archive)),
        )
        return self.ask(self.stub.AddBot, iter(pieces), timeout=_UPLOAD)  # type: ignore[arg-type]

    def close(self) -> None:
        """End the connection."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _metadata(self) -> tuple[tuple[str, str], ...]:
        token = self.login.token
        return (("authorization", f"Bearer {token}"),) if token else ()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except grpc.RpcError as error:
            found = error_of(error, address=self.login.address)
            if found.reason == "UNREACHABLE" and self.login.data_dir is not None:
                text = f"{found}; if it does not run, `arena up` starts it"
                found = ArenaError(text, reason=found.reason)
            raise found from error


def error_of(error: Any, *, address: str) -> ArenaError:
    """Return the error that a `grpc.RpcError` of a call to an address stands for."""
    code, sentence = error.code(), error.details() or ""
    info, retry = _details(error.trailing_metadata() or ())
    reason = info.reason if info is not None else ""
    facts = dict(info.metadata) if info is not None else {}
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and info is not None:
        after = retry.retry_delay.ToTimedelta() if retry is not None else None
        return errors.LimitError(sentence, retry_after=after, reason=reason, facts=facts)
    if code in _ERRORS and info is not None:
        return _ERRORS[code](sentence, reason=reason, facts=facts)
    if code is grpc.StatusCode.UNAVAILABLE and info is None:
        return ArenaError(f"no arena answers at {address}: {sentence}", reason="UNREACHABLE")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return ArenaError(f"the arena at {address} takes too long", reason="DEADLINE_EXCEEDED")
    said = sentence or "no reason was given"
    return ArenaError(f"the arena at {address}: {said} ({code.name})", reason=reason, facts=facts)


def _details(metadata: Any) -> tuple[ErrorInfo | None, RetryInfo | None]:
    """Return what the trailing metadata of a call say of its error."""
    info = retry = None
    for each in (
        each
        for key, value in metadata
        if key == _DETAILS
        for each in Status.FromString(value).details
    ):
        if each.Is(ErrorInfo.DESCRIPTOR):
            info = ErrorInfo.FromString(each.value)
        elif each.Is(RetryInfo.DESCRIPTOR):
            retry = RetryInfo.FromString(each.value)
    return info, retry


def _header(archive: bytes) -> bots_pb2.UploadHeader:
    digest = hashlib.sha256(archive).hexdigest()
    return bots_pb2.UploadHeader(sha256=digest, size_bytes=len(archive))


def _chunks(archive: bytes) -> Iterator[bytes]:
    return (archive[start : start + _CHUNK] for start in range(0, len(archive), _CHUNK))


def _channel(login: Login) -> grpc.Channel:
    """Return a channel to an arena; raises InputError if the authority's file is unreadable."""
    options: tuple[tuple[str, str | int], ...] = (
        ("grpc.max_receive_message_length", MESSAGE_BYTES),
        ("grpc.max_send_message_length", MESSAGE_BYTES),
        # Whoever waits for an arena to come back sees it soon.
        ("grpc.max_reconnect_backoff_ms", 2000),
    )
    if not login.uses_tls:
        return grpc.insecure_channel(login.target, options=options)
    try:
        authority = Path(login.ca).read_bytes() if login.ca else None
    except OSError as error:
        raise InputError(f"{login.ca} cannot be read: {error.strerror}") from error
    credentials = grpc.ssl_channel_credentials(root_certificates=authority)
    if login.data_dir is not None and login.ca:
        options += (("grpc.ssl_target_name_override", _certified_name(login)),)
    return grpc.secure_channel(login.target, credentials, options=options)


def _certified_name(login: Login) -> str:
    """Return a name that the certificate of an arena on this machine is made out to.

    The arena must show the very certificate of its data folder, so any name of it will do; "" when
    it does not answer, or shows another.
    """
    context = ssl.create_default_context(cafile=login.ca)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["h2"])
    host, _, port = login.target.rpartition(":")
    names: Any = ()
    with (
        suppress(OSError),
        socket.create_connection((host.strip("[]"), int(port)), 5) as plain,
        context.wrap_socket(plain) as encrypted,
    ):
        names = (encrypted.getpeercert() or {}).get("subjectAltName", ())
    return next((str(name) for kind, name in names if kind in {"DNS", "IP Address"}), "")
