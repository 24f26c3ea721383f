"""Plays the first legal action over protocol 1.0, frozen: it knows only the descriptors beside it.

Neither the SDK nor the generated code of this repository is imported, so that the bot stays what
it was when the protocol changes.
"""

import os
import queue
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

FILES = descriptor_pb2.FileDescriptorSet.FromString(
    (Path(__file__).parent / "protocol-1.0.binpb").read_bytes()
)
POOL = descriptor_pool.DescriptorPool()
for file in FILES.file:
    POOL.Add(file)
MESSAGES: Any = {
    name: message_factory.GetMessageClass(POOL.FindMessageTypeByName(f"referee.v1.{name}"))
    for name in ("PlayRequest", "PlayResponse")
}
PlayRequest, PlayResponse = MESSAGES.values()

outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
hello = PlayRequest()
hello.hello.sdk = "frozen 1.0"
hello.hello.protocol.major = 1
outbox.put(hello)
with grpc.insecure_channel(os.environ["ARENA_BOT_ADDRESS"]) as channel:
    play: Any = channel.stream_stream(
        "/referee.v1.RefereeService/Play",
        request_serializer=PlayRequest.SerializeToString,
        response_deserializer=PlayResponse.FromString,
    )
    token = (("arena-bot-token", os.environ["ARENA_BOT_TOKEN"]),)
    for message in play(iter(outbox.get, None), metadata=token):
        answer = PlayRequest()
        kind = message.WhichOneof("content")
        if kind == "welcome":
            answer.ready.SetInParent()
            outbox.put(answer)
        elif kind == "match_over":
            answer.goodbye.SetInParent()
            outbox.put(answer)
            outbox.put(None)
        elif message.turns.turns:
            for turn in message.turns.turns:
                answer.actions.actions.add(
                    game=turn.game, ply=turn.ply, action=turn.legal_actions[0]
                )
            outbox.put(answer)
