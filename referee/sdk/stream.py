"""Connect a bot to the referee that started it, over one stream."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import grpc

from referee import wire
from referee.v1 import referee_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_METHOD = "/referee.v1.RefereeService/Play"
_SWITCH_INTERVAL = 0.0005
"""Seconds; with Python's default of 5 ms, answers would leave up to 20 ms late."""


class RequestQueue:
    """Queue what the bot sends, in order; the stream takes all that is ready when it can write.

    The order holds between answers and other messages, too: an answer behind a Resign would
    otherwise overtake it, and be an answer to the wrong turn.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._ready: list[pb.PlayRequest | list[tuple[int, int, str, int]]] = []
        self._answers: list[tuple[int, int, str, int]] | None = None
        self._ended = False

    def send(self, message: pb.PlayRequest) -> None:
        """Send a message."""
        with self._changed:
            self._answers = None
            self._ready.append(message)
            self._changed.notify()

    def answer(self, game: int, ply: int, action: str, elapsed_us: int) -> None:
        """Send an answer, in one message with the others that are ready."""
        with self._changed:
            if self._answers is None:
                self._answers = []
                self._ready.append(self._answers)
            self._answers.append((game, ply, action, elapsed_us))
            self._changed.notify()

    def end(self) -> None:
        """Send nothing more."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def __iter__(self) -> Iterator[pb.PlayRequest]:
        while True:
            with self._changed:
                while not (self._ready or self._ended):
                    self._changed.wait()
                ready, self._ready, self._answers = self._ready, [], None
                ended = self._ended
            for each in ready:
                yield each if isinstance(each, pb.PlayRequest) else _actions(each)
            if ended:
                return


def _actions(answers: list[tuple[int, int, str, int]]) -> pb.PlayRequest:
    message = pb.PlayRequest()
    add = message.actions.actions.add
    for game, ply, action, elapsed_us in answers:
        add(game=game, ply=ply, action=action, elapsed_us=elapsed_us)
    return message


@contextmanager
def referee_stream(hello: pb.Hello) -> Iterator[tuple[Iterator[pb.PlayResponse], RequestQueue]]:
    """Open the stream to the referee that started this process, and say Hello.

    Exits the process with a sentence when no referee has started it, or when it went away.

    Args:
        hello: without a protocol version, which is filled in.
    """
    address = os.environ.get("ARENA_BOT_ADDRESS")
    token = os.environ.get("ARENA_BOT_TOKEN")
    if not address or token is None:
        sys.exit(
            "This is a bot: the arena starts it. Try: arena play quasenbo THIS_FOLDER THIS_FOLDER"
        )
    sys.setswitchinterval(_SWITCH_INTERVAL)
    hello.protocol.CopyFrom(wire.protocol_to_pb())
    requests = RequestQueue()
    requests.send(pb.PlayRequest(hello=hello))
    with grpc.insecure_channel(address) as channel:
        play = channel.stream_stream(
            _METHOD,
            request_serializer=pb.PlayRequest.SerializeToString,
            response_deserializer=pb.PlayResponse.FromString,
        )
        others = set(threading.enumerate())
        stream = play(iter(requests), metadata=(("arena-bot-token", token),))
        helpers = set(threading.enumerate()) - others
        try:
            yield stream, requests
        except grpc.RpcError as error:
            sys.exit(f"The stream to the referee ended: {_reason(error)}")
        finally:
            requests.end()
            channel.close()
            _join(helpers)


def _join(helpers: Iterable[threading.Thread]) -> None:
    """Wait until the library's threads are done, for at most a second.

    One that is cut off by the interpreter's end may hold the stream's lock. When a traceback keeps
    the stream until then, its destructor waits for that lock, and the process never ends.
    """
    patience = time.monotonic() + 1.0
    for helper in helpers:
        helper.join(max(0.0, patience - time.monotonic()))


def _reason(error: grpc.RpcError) -> str:
    return f"{error.code().name} {error.details()}" if isinstance(error, grpc.Call) else str(error)
