"""Serve one table over gRPC: a unix socket per bot process, each token accepted once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc

from referee.sandbox.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from referee.match.session import Session

METHOD_SERVICE = "referee.v1.RefereeService"
TOKEN_KEY = "arena-bot-token"  # noqa: S105 -- the name of a header, not a secret
GRPC_MESSAGE_LIMIT = 1 << 20
"""Bytes of a message after which gRPC itself ends the stream."""

_OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", GRPC_MESSAGE_LIMIT),
    # A bot has one call on one connection; a second one may replace a connection that broke.
    ("grpc.max_allowed_incoming_connections", 2),
    ("grpc.max_concurrent_streams", 1),
    # Headers that repeat each other by reference cost their sender nothing.
    ("grpc.max_metadata_size", 4096),
    ("grpc.absolute_max_metadata_size", 8192),
    ("grpc.http2.hpack_table_size.decoder", 0),
    ("grpc.http2.max_frame_size", 16384),
)


class StreamServer:
    """Serve `RefereeService.Play` for the processes of one table, each on a socket of its own."""

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        """Create the server inside the running loop, with the sessions by their tokens."""
        self._scratch = Scratch("table", short=True)
        self._seats = {
            token: _Seat(session, token, self._scratch.path / str(number) / "s")
            for number, (token, session) in enumerate(sessions.items())
        }

    def socket(self, token: str) -> Path:
        """Return the socket of the process with this token."""
        return self._seats[token].socket

    async def start(self) -> None:
        """Accept streams; call `stop` even when this fails."""
        for seat in self._seats.values():
            await seat.start()

    async def stop(self) -> None:
        """End every stream and remove the sockets; waits for 0.2 seconds at most."""
        await asyncio.gather(*(seat.server.stop(0.2) for seat in self._seats.values()))
        self._scratch.remove()


class _Seat:
    """Accept one call with the right token; any other ends the process."""

    def __init__(self, session: Session, token: str, socket: Path) -> None:
        self.socket = socket
        self.server = grpc.aio.server(options=_OPTIONS)
        self._session = session
        self._token = token
        self._claimed = False
        # Without a deserializer: a session judges the length of the bytes before it parses them.
        handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(
            self._play
        )
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(METHOD_SERVICE, {"Play": handler}),)
        )

    async def start(self) -> None:
        # A socket that is added after the start would accept and hang.
        self.socket.parent.mkdir(mode=0o700)
        self.server.add_insecure_port(f"unix:{self.socket}")
        await self.server.start()

    async def _play(
        self, _requests: object, context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> None:
        metadata = dict(context.invocation_metadata() or ())
        if self._claimed or metadata.get(TOKEN_KEY) != self._token:
            message = (
                f"the metadata {TOKEN_KEY} must hold the text of ARENA_BOT_TOKEN, "
                "and a process has one stream"
            )
            self._session.misused(message)
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, message)
            return
        self._claimed = True
        # Nobody else connects from now on.
        self.socket.unlink(missing_ok=True)
        await self._session.serve_stream(context)
