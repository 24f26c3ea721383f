"""Calls a running arena from afar; what it refuses comes back as the errors of `arena.errors`.

Needs gRPC and protobuf alone. Which arena is meant, and as whom it is called, say in falling order
an argument, the environment (``ARENA_SERVER``, ``ARENA_TOKEN``, ``ARENA_CA``), the data folder of
an arena on this machine, and a file that `Login.save` writes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import ssl
import tomllib
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import grpc
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from arena.errors import (
    ArenaError,
    DeniedError,
    InputError,
    LimitError,
    NotFoundError,
    PreconditionError,
    UnauthenticatedError,
)
from arena.files import ADDRESS_FILE, ADMIN_FILE, write_private
from arena.v1.arena_pb2_grpc import ArenaServiceStub
from arena.v1.bots_pb2 import (
    AddBotHeader,
    AddBotRequest,
    AddBotResponse,
    SubmitVersionRequest,
    SubmitVersionResponse,
    UploadHeader,
)
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
    grpc.StatusCode.NOT_FOUND: NotFoundError,
    grpc.StatusCode.FAILED_PRECONDITION: PreconditionError,
    grpc.StatusCode.UNAUTHENTICATED: UnauthenticatedError,
    grpc.StatusCode.PERMISSION_DENIED: DeniedError,
    grpc.StatusCode.INVALID_ARGUMENT: InputError,
}
_Request = TypeVar("_Request")
_Response = TypeVar("_Response")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Where the arena is, and as whom to call it.

    Attributes:
        address: ``HOST:PORT``, ``unix:PATH``, or either with ``http://`` (no TLS) or ``https://``
            before it. Without them TLS is used unless the host is this machine.
        token: the secret; empty for a stranger.
        ca: PEM file of whoever signed the arena's certificate; empty for the usual authorities.
        data_dir: the data folder of an arena on this machine, whose ``ca`` is its own certificate,
            made out to whichever name; None for an arena elsewhere.
    """

    address: str
    token: str = ""
    ca: str = ""
    data_dir: Path | None = None

    @property
    def target(self) -> str:
        """What gRPC dials."""
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
        return not self.target.startswith("unix:") and self._host not in _LOCAL

    @property
    def _host(self) -> str:
        return self.target.rpartition(":")[0]

    def save(self, path: Path | None = None) -> Path:
        """Write the file, which only its user can read, and return its path.

        Raises:
            InputError: it cannot be written.
        """
        file = path or login_file()
        kept = {"address": self.address, "token": self.token, "ca": self.ca}
        write_private(file, json.dumps(kept, indent=2) + "\n")
        return file

    @classmethod
    def load(cls, environment: Mapping[str, str] | None = None, *, server: str = "") -> Self:
        """Return the arena that is meant, and as whom to call it.

        A token or an authority that was kept for one arena goes to that arena only.

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
        if folder is not None:
            here = cls._here(folder)
            if not address or (here is not None and address == here.address):
                if here is not None:
                    return here
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
    named = environment.get("ARENA_DATA_DIR", "") or _configured_data_dir()
    if named:
        return Path(named)
    return _DATA if _DATA.is_dir() else None


def _configured_data_dir() -> str:
    """Return ``data_dir`` of ``./arena.toml``, which the service reads whole; "" without one."""
    try:
        settings = tomllib.loads(_CONFIG.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(settings.get("data_dir", ""))


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

    Args:
        login: where and as whom.

    Attributes:
        stub: every call but those about competitions, to be made by `ask`, `watch` and `submit`.
        competitions: the calls about competitions, likewise.

    Raises:
        InputError: the token cannot be one, or the file of the authority cannot be read.
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
        """Make a call and return its answer.

        Raises:
            InputError: the arena refused it; the sentence is the arena's.
            ArenaError: it does not answer, or failed.
        """
        try:
            return call(request, timeout=timeout.total_seconds(), metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._error(error) from error

    def watch(
        self, call: grpc.UnaryStreamMultiCallable[_Request, _Response], request: _Request
    ) -> Iterator[_Response]:
        """Make a call and yield its answers as they come; leaving the loop ends it.

        Raises:
            InputError: the arena refused it.
            ArenaError: it does not answer, or failed.
        """
        stream: Any = call(request, metadata=self._metadata)
        try:
            yield from stream
        except grpc.RpcError as error:
            raise self._error(error) from error
        finally:
            stream.cancel()

    def submit(self, archive: bytes) -> SubmitVersionResponse:
        """Upload a packed bot.

        Args:
            archive: a tar.gz or zip, as `arena.uploads.pack_folder` makes it.

        Raises:
            InputError: the arena refused it.
            ArenaError: it does not answer, or failed; then the same may be submitted again.
        """
        try:
            return self.stub.SubmitVersion(
                _pieces(archive), timeout=_UPLOAD.total_seconds(), metadata=self._metadata
            )
        except grpc.RpcError as error:
            raise self._error(error) from error

    def add_bot(self, archive: bytes, *, owner: str = "") -> AddBotResponse:
        """Add a packed bot untried, as its active version; for admins.

        Args:
            archive: a tar.gz, as `arena.uploads.pack_folder` makes it.
            owner: whose it is; empty for the house.

        Raises:
            InputError: the arena refused it.
            ArenaError: it does not answer, or failed; then the same may be added again.
        """
        header = AddBotHeader(upload=_header(archive), owner=owner)
        pieces = (
            AddBotRequest(header=header),
            *(AddBotRequest(chunk=each) for each in _chunks(archive)),
        )
        try:
            return self.stub.AddBot(
                iter(pieces), timeout=_UPLOAD.total_seconds(), metadata=self._metadata
            )
        except grpc.RpcError as error:
            raise self._error(error) from error

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

    def _error(self, error: grpc.RpcError) -> ArenaError:
        found = error_of(error, address=self.login.address)
        if found.reason != "UNREACHABLE" or self.login.data_dir is None:
            return found
        return ArenaError(f"{found}; if it does not run, `arena up` starts it", reason=found.reason)


def error_of(error: Any, *, address: str) -> ArenaError:
    """Return what a failed call stands for.

    Args:
        error: a `grpc.RpcError` that a call raised.
        address: of the arena, for the sentence about one that does not answer.
    """
    code, sentence = error.code(), error.details() or ""
    info, retry = _details(error.trailing_metadata() or ())
    reason = info.reason if info is not None else ""
    facts = dict(info.metadata) if info is not None else {}
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and info is not None:
        after = retry.retry_delay.ToTimedelta() if retry is not None else None
        return LimitError(sentence, retry_after=after, reason=reason, facts=facts)
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
    found: dict[type[Any], Any] = {}
    for key, value in metadata:
        if key == _DETAILS:
            for each in Status.FromString(value).details:
                for kind in (ErrorInfo, RetryInfo):
                    if each.Is(kind.DESCRIPTOR):
                        found[kind] = kind.FromString(each.value)
    return found.get(ErrorInfo), found.get(RetryInfo)


def _pieces(archive: bytes) -> Iterator[SubmitVersionRequest]:
    yield SubmitVersionRequest(header=_header(archive))
    for chunk in _chunks(archive):
        yield SubmitVersionRequest(chunk=chunk)


def _header(archive: bytes) -> UploadHeader:
    return UploadHeader(sha256=hashlib.sha256(archive).hexdigest(), size_bytes=len(archive))


def _chunks(archive: bytes) -> Iterator[bytes]:
    return (archive[start : start + _CHUNK] for start in range(0, len(archive), _CHUNK))


def _channel(login: Login) -> grpc.Channel:
    """Return a channel to an arena.

    Raises:
        InputError: the file of the authority cannot be read.
    """
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
