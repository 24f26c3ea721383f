"""Assembles the API and serves it."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from redis.exceptions import RedisError

from arena.api.bots import BotCalls
from arena.api.competitions import CompetitionCalls
from arena.api.handlers import COMPETITIONS, SERVICE, Handlers
from arena.api.ladders import LadderCalls
from arena.api.matches import MatchCalls
from arena.api.operations import OperatorCalls
from arena.api.owners import OwnerCalls
from arena.backend.bots import Bots
from arena.backend.challenges import Challenges
from arena.backend.competitions import Competitions
from arena.backend.ladders import Ladders
from arena.backend.leagues import Leagues
from arena.backend.matches import Matches
from arena.backend.operations import Operations
from arena.backend.owners import Owners
from arena.backend.tournaments import Tournaments
from arena.backend.uploads import Uploads
from arena.backend.watching import Streams, Watching
from arena.errors import InputError
from referee.tasks import cancel

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from redis.asyncio import Redis

    from arena.backend.backend import Backend
    from arena.config import Settings
    from arena.metrics import Metrics

MESSAGE_BYTES: Final = 256 << 10
"""The largest message, either way."""

_CALLS_AT_ONCE: Final = 2000
_PING_SECONDS: Final = 2.0
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
    # What a caller without a token can make us hold: headers of streams on connections.
    ("grpc.max_concurrent_streams", 300),
    ("grpc.max_metadata_size", 8 << 10),
    ("grpc.absolute_max_metadata_size", 16 << 10),
    ("grpc.max_allowed_incoming_connections", 1000),
    ("grpc.max_connection_idle_ms", 600_000),
    ("grpc.max_connection_age_ms", 3_600_000),
    ("grpc.max_connection_age_grace_ms", 3_600_000),
    ("grpc.server_handshake_timeout_ms", 10_000),
    # Two servers on one port would share its calls in secret.
    ("grpc.so_reuseport", 0),
    # A caller that vanished is noticed, and its streams end.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the API listens.

    Attributes:
        port: 0 for any free one.
        certificate: PEM file; None to listen without TLS.
        key: PEM file.
    """

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None

    @classmethod
    def of(cls, settings: Settings) -> Endpoint:
        """Return where the settings say.

        Raises:
            InputError: a public address without TLS, which only ``insecure`` allows.
        """
        endpoint = cls(
            host=settings.host,
            port=settings.api_port,
            certificate=settings.tls_certificate,
            key=settings.tls_key,
        )
        if endpoint.certificate is None and is_public(endpoint.host) and not settings.insecure:
            raise InputError(
                f"{endpoint.host} can be reached from other machines, and without TLS everybody "
                "between reads tokens: name tls_certificate and tls_key, or say --insecure"
            )
        return endpoint


class ApiServer:
    """A running API.

    Args:
        backend: what calls are answered from.
        metrics: calls are counted there.
        endpoint: where to listen.
    """

    def __init__(self, backend: Backend, *, metrics: Metrics, endpoint: Endpoint) -> None:
        self._redis: Redis = backend.redis
        self._endpoint = endpoint
        self._streams = Streams()
        self._uploads = Uploads(backend)
        self._health = health.aio.HealthServicer()
        self._server = grpc.aio.server(options=_OPTIONS, maximum_concurrent_rpcs=_CALLS_AT_ONCE)
        handlers = Handlers(backend.accounts, metrics)
        arena = handlers.of_service(
            OwnerCalls(Owners(backend)),
            BotCalls(Bots(backend, self._streams), self._uploads),
            LadderCalls(Ladders(backend)),
            MatchCalls(Matches(backend), Challenges(backend), Watching(backend, self._streams)),
            OperatorCalls(Operations(backend)),
        )
        competitions = handlers.of_service(
            CompetitionCalls(Competitions(backend), Tournaments(backend), Leagues(backend)),
            service=COMPETITIONS,
        )
        self._server.add_generic_rpc_handlers((arena, competitions))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (
            SERVICE.full_name,
            COMPETITIONS.full_name,
            health.SERVICE_NAME,
            reflection.SERVICE_NAME,
        )
        reflection.enable_server_reflection(names, self._server)
        self._log: Any = structlog.get_logger()

    async def start(self) -> int:
        """Begin to listen; return the port.

        Raises:
            InputError: the port is taken, the address is not this machine's, or certificate and key
                do not fit.
        """
        host, port = self._endpoint.host, self._endpoint.port
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        credentials = _credentials(self._endpoint)
        try:
            if credentials is None:
                bound = self._server.add_insecure_port(address)
            else:
                bound = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise InputError(
                f"the API cannot listen on {address}, the port may be taken; name another one with "
                "--port or ARENA_API_PORT"
            ) from error
        await self._server.start()
        await self._set_health(is_serving=True)
        self._log.info("api started", address=f"{host}:{bound}", tls=credentials is not None)
        return bound

    async def run(self, stopping: asyncio.Event, *, grace: timedelta) -> None:
        """Serve until ``stopping`` is set, then shut down."""
        watch = asyncio.create_task(self._watch_redis())
        try:
            await stopping.wait()
        finally:
            await cancel(watch)
            await self.stop(grace=grace)

    async def stop(self, *, grace: timedelta) -> None:
        """Shut down: take no new calls, and finish those that were begun within the grace."""
        await self._health.enter_graceful_shutdown()
        self._streams.closing.set()
        await self._server.stop(grace.total_seconds())
        await self._uploads.finish()
        self._log.info("api stopped")

    async def _watch_redis(self) -> None:
        """Report not serving in health checks while Redis does not answer."""
        while True:
            try:
                await self._redis.ping()
                is_serving = True
            except (RedisError, OSError):
                is_serving = False
            await self._set_health(is_serving=is_serving)
            await asyncio.sleep(_PING_SECONDS)

    async def _set_health(self, *, is_serving: bool) -> None:
        status = health_pb2.HealthCheckResponse
        for name in ("", SERVICE.full_name, COMPETITIONS.full_name):
            await self._health.set(name, status.SERVING if is_serving else status.NOT_SERVING)


def is_public(host: str) -> bool:
    """Return whether other machines may reach an address; a name is believed to be public."""
    if host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True


def _credentials(endpoint: Endpoint) -> grpc.ServerCredentials | None:
    """Return what TLS needs; None without it.

    Raises:
        InputError: the files cannot be read, or do not belong together.
    """
    if endpoint.certificate is None or endpoint.key is None:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(endpoint.certificate, endpoint.key)
        pair = endpoint.key.read_bytes(), endpoint.certificate.read_bytes()
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise InputError(
            f"tls_certificate {endpoint.certificate} and tls_key {endpoint.key} cannot be used: "
            f"{error}"
        ) from error
    return grpc.ssl_server_credentials([pair])
