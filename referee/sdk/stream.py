"""Open a bot's stream to the referee that started it."""

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
"""Seconds; with Python's default of 5 ms, answers would be sent up to 20 ms late."""


class RequestQueue:
    """Queue a bot's messages in order, and batch answers that are ready at the same time.

    Answers never overtake other messages: one sent after a Resign would answer the wrong turn.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._ready: list[pb.PlayRequest | list[tuple[int, int, str, int]]] = []
        self._answers: list[tuple[int, int, str, int]] | None = None
        self._ended = False

    def send(self, message: pb.PlayRequest) -> None:
        """Queue a message."""
        with self._changed:
            self._answers = None
            self._ready.append(message)
            self._changed.notify()

    def answer(self, game: int, ply: int, action: str, elapsed_us: int) -> None:
        """Queue an answer, in one message with the others that are ready."""
        with self._changed:
            if self._answers is None:
                self._answers = []
                self._ready.append(self._answers)
            self._answers.append((game, ply, action, elapsed_us))
            self._changed.notify()

    def end(self) -> None:
        """End the stream after the queued messages."""
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
    """Open the stream to the referee that started this process, and send Hello.

    Exits the process with a message when no referee has started it, or when the stream fails.

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
        grpc_threads = set(threading.enumerate()) - others
        try:
            yield stream, requests
        except grpc.RpcError as error:
            sys.exit(f"The stream to the referee ended: {_reason(error)}")
        finally:
            requests.end()
            channel.close()
            _join(grpc_threads)


def _join(grpc_threads: Iterable[threading.Thread]) -> None:
    """Join gRPC's threads, for at most a second.

    A thread that the interpreter's exit interrupts may hold the stream's lock. If a traceback still
    references the stream, its destructor waits for that lock, and the process never exits.
    """
    deadline = time.monotonic() + 1.0
    for thread in grpc_threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def _reason(error: grpc.RpcError) -> str:
    return f"{error.code().name} {error.details()}" if isinstance(error, grpc.Call) else str(error)
