"""Check the server of a table: a socket per process, each seat claimed once."""

from typing import Any

import grpc
import grpc.aio
import pytest

from referee.match.permits import PermitPool
from referee.match.streams import StreamServer
from referee.v1 import referee_pb2 as pb
from tests.referee.scripted import open_session


class TableOfTwo:
    """Serve two seats, whose sessions record what follows."""

    def __init__(self) -> None:
        self.sessions = {
            token: open_session(token, permits=PermitPool(2), stall=1.0)
            for token in ("first", "second")
        }
        self.server = StreamServer(self.sessions)

    async def dial(self, socket_of: str, token: str | None) -> pb.PlayResponse:
        """Say Hello on a socket and return the answer."""
        async with grpc.aio.insecure_channel(f"unix:{self.server.socket(socket_of)}") as channel:
            method: Any = channel.stream_stream(
                "/referee.v1.RefereeService/Play",
                request_serializer=pb.PlayRequest.SerializeToString,
                response_deserializer=pb.PlayResponse.FromString,
            )
            call = method(metadata=(("arena-bot-token", token),) if token is not None else None)
            await call.write(pb.PlayRequest(hello=pb.Hello(name="dialler")))
            answer = await call.read()
            if answer is grpc.aio.EOF:
                raise grpc.aio.AioRpcError(await call.code(), None, None, await call.details())
            assert isinstance(answer, pb.PlayResponse)
            return answer


async def test_the_token_claims_the_seat() -> None:
    """Hello is answered on the stream that holds the right token."""
    table = TableOfTwo()
    await table.server.start()
    assert (await table.dial("first", "first")).WhichOneof("content") == "welcome"
    assert (await table.dial("second", "second")).WhichOneof("content") == "welcome"
    await table.server.stop()


@pytest.mark.parametrize("token", [None, "", "third"])
async def test_without_the_token_there_is_no_seat(token: str | None) -> None:
    """The refusal says what the metadata must hold."""
    table = TableOfTwo()
    await table.server.start()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await table.dial("first", token)
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert "arena-bot-token must hold the text of ARENA_BOT_TOKEN" in str(caught.value.details())
    await table.server.stop()


async def test_a_seat_is_claimed_once() -> None:
    """A second stream of a process is refused, and harms the first one's session in nothing."""
    table = TableOfTwo()
    await table.server.start()
    await table.dial("first", "first")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await table.dial("second", "first")
    assert "a process has one stream" in str(caught.value.details())
    assert "broke invalid_message" not in table.sessions["first"].lines
    await table.server.stop()


async def test_sockets_are_private_and_removed_at_the_end() -> None:
    """Nobody else may open the folders, and nothing stays on the disk."""
    table = TableOfTwo()
    await table.server.start()
    socket = table.server.socket("first")
    assert socket.is_socket()
    assert socket.parent.stat().st_mode & 0o777 == 0o700
    assert socket.parent.parent.stat().st_mode & 0o777 == 0o700
    await table.server.stop()
    assert not socket.parent.parent.exists()


async def test_a_server_that_never_started_leaves_nothing() -> None:
    """Stopping is safe at any time."""
    table = TableOfTwo()
    folder = table.server.socket("first").parent.parent
    await table.server.stop()
    assert not folder.exists()
