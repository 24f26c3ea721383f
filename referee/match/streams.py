"""Serve one table over gRPC: a unix socket per bot process, each token accepted once."""

from __future__ import annotations

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
)


class StreamServer:
    """Serve `RefereeService.Play` for the processes of one table.

    Every socket is added before the server starts; one added later would accept and hang.
    """

    def __init__(self, sessions: Mapping[str, Session]) -> None:
        """Create the server inside the running loop, with the sessions by their tokens."""
        self._unclaimed = dict(sessions)
        self._server = grpc.aio.server(options=_OPTIONS)
        # Without a deserializer: a session judges the length of the bytes before it parses them.
        handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(
            self._play
        )
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(METHOD_SERVICE, {"Play": handler}),)
        )
        self._scratch = Scratch("table", short=True)
        self._sockets = {
            token: self._scratch.path / str(number) / "s" for number, token in enumerate(sessions)
        }

    def socket(self, token: str) -> Path:
        """Return the socket of the process with this token."""
        return self._sockets[token]

    async def start(self) -> None:
        """Accept streams; call `stop` even when this fails."""
        for path in self._sockets.values():
            path.parent.mkdir(mode=0o700)
            self._server.add_insecure_port(f"unix:{path}")
        await self._server.start()

    async def stop(self) -> None:
        """End every stream and remove the sockets; waits for 0.2 seconds at most."""
        await self._server.stop(0.2)
        self._scratch.remove()

    async def _play(
        self, _requests: object, context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> None:
        metadata = dict(context.invocation_metadata() or ())
        session = self._unclaimed.pop(str(metadata.get(TOKEN_KEY, "")), None)
        if session is None:
            await context.abort(
                grpc.StatusCode.PERMISSION_DENIED,
                f"the metadata {TOKEN_KEY} must hold the text of ARENA_BOT_TOKEN, "
                "and a process has one stream",
            )
            return
        await session.serve_stream(context)
