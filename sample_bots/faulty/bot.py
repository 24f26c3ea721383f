"""Commit one fault, to test a referee with: ``python bot.py --fault NAME``.

Every fault is a class, and its docstring says what follows from it. Unlike other bots this one uses
gRPC itself, since no SDK would send such messages.
"""

# ruff: noqa: ARG002 -- a fault does not care what it is asked

from __future__ import annotations

import argparse
import os
import queue
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence

import grpc

from referee.v1 import referee_pb2 as pb

METHOD = "/referee.v1.RefereeService/Play"
FOR_EVER = 3600.0
LATE = 2.0
"""Seconds; more than the bank of a test's clock."""
FLOOD = b"All work and no play makes a dull bot. " * 2000


class Honest:
    """Plays the first legal action, in small steps that a fault can replace.

    It sends and receives bytes, so that it can send what the SDK never would.
    """

    major = 1
    """Major version of the protocol."""

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.answered = 0

    def play(self) -> None:
        """Open the stream, and read until the referee ends it."""
        self.begin()
        with grpc.insecure_channel(os.environ["ARENA_BOT_ADDRESS"]) as channel:
            # Without serializers gRPC carries bytes.
            method: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(METHOD)
            stream = method(
                iter(self._requests.get, None),
                metadata=(("arena-bot-token", os.environ["ARENA_BOT_TOKEN"]),),
            )
            try:
                self.greet()
                self.listen(stream)
            except grpc.RpcError as error:
                sys.exit(f"The referee ended the stream: {error}")

    def begin(self) -> None:
        """Do something before the stream is opened."""

    def greet(self) -> None:
        """Send Hello."""
        hello = pb.Hello(sdk="none", protocol=pb.ProtocolVersion(major=self.major))
        self.say(pb.PlayRequest(hello=hello))

    def listen(self, stream: Iterable[bytes]) -> None:
        """Read until the referee ends the stream."""
        for data in stream:
            message = pb.PlayResponse.FromString(data)
            match message.WhichOneof("content"):
                case "welcome":
                    self.get_ready()
                case "turns" if message.turns.turns:
                    self.answer(message.turns.turns)
                case "match_over":
                    self.leave()

    def get_ready(self) -> None:
        """End the start-up."""
        self.say(pb.PlayRequest(ready=pb.Ready()))

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        """Answer the turns of one message."""
        self.act(self.action(turn) for turn in turns)

    def action(self, turn: pb.Turn) -> pb.Action:
        """Return the answer to one turn."""
        return pb.Action(game=turn.game, ply=turn.ply, action=turn.legal_actions[0])

    def leave(self) -> None:
        """Say goodbye."""
        self.say(pb.PlayRequest(goodbye=pb.Goodbye()))
        self.hang_up()

    def act(self, actions: Iterable[pb.Action]) -> None:
        """Send answers in one message."""
        message = pb.PlayRequest(actions=pb.Actions(actions=actions))
        self.answered += len(message.actions.actions)
        self.say(message)

    def say(self, message: pb.PlayRequest) -> None:
        """Send a message."""
        self.write(message.SerializeToString())

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._requests.put(data)

    def hang_up(self) -> None:
        """End the bot's side of the stream."""
        self._requests.put(None)


class Illegal(Honest):
    """Answers what is no action: loses that game, and its process after the third."""

    def action(self, turn: pb.Turn) -> pb.Action:
        return pb.Action(game=turn.game, ply=turn.ply, action="the best one")


class Garbage(Honest):
    """Sends bytes that are no message: loses all games as an invalid message."""

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        self.write(b"\xff" * 100)


class Empty(Honest):
    """Sends a message without content: an invalid message."""

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        self.say(pb.PlayRequest())


class Disorder(Honest):
    """Answers two open turns the wrong way round: an invalid message."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[pb.Turn] = []

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        self.open.extend(turns)
        if len(self.open) > 1:
            self.act(map(self.action, reversed(self.open)))


class Twice(Honest):
    """Answers every turn twice: an invalid message."""

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        self.act(self.action(turn) for turn in turns for _ in range(2))


class HelloAgain(Honest):
    """Introduces itself in the middle of a game: an invalid message."""

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        self.greet()


class NewProtocol(Honest):
    """Speaks a newer protocol: an invalid message, explained in a sentence."""

    major = 2


class Huge(Honest):
    """Sends a message of 70,000 bytes, over the referee's limit: an invalid message."""

    size = 70_000

    def action(self, turn: pb.Turn) -> pb.Action:
        return pb.Action(game=turn.game, ply=turn.ply, action="A" * self.size)


class Gigantic(Huge):
    """Sends more than gRPC takes, which ends the stream: looks like a crash."""

    size = 2_000_000


class Late(Honest):
    """Sleeps during its first turn: a time-out in that game alone."""

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        if not self.answered:
            time.sleep(LATE)
        super().answer(turns)


class Hang(Honest):
    """Answers no turn: a time-out, then a stall that ends the process."""

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        time.sleep(FOR_EVER)


class Freeze(Honest):
    """Stops itself like a debugged program: a time-out, then a stall."""

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


class Deaf(Honest):
    """Reads nothing from its stream: a time-out, then a stall."""

    def listen(self, stream: Iterable[bytes]) -> None:
        self.get_ready()
        time.sleep(FOR_EVER)


class CrashAtStart(Honest):
    """Exits before it says anything: a crash, in every game."""

    def begin(self) -> None:
        sys.exit("this bot never starts")


class Crash(Honest):
    """Dies in the middle of its games: a crash in all that are not over."""

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        super().answer(turns)
        if self.answered > 10:
            os.kill(os.getpid(), signal.SIGSEGV)


class HangUp(Honest):
    """Closes its stream and runs on: the same as a crash."""

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        self.hang_up()
        time.sleep(FOR_EVER)


class NoHello(Honest):
    """Runs and says nothing: a no-show."""

    def begin(self) -> None:
        time.sleep(FOR_EVER)


class NoReady(Honest):
    """Introduces itself and never gets ready: a no-show."""

    def get_ready(self) -> None:
        time.sleep(FOR_EVER)


class Resign(Honest):
    """Gives every game up at its first turn."""

    def answer(self, turns: Sequence[pb.Turn]) -> None:
        for turn in turns:
            self.say(pb.PlayRequest(resign=pb.Resign(game=turn.game)))


class FloodStdout(Honest):
    """Prints without end and plays well: no forfeit."""

    def action(self, turn: pb.Turn) -> pb.Action:
        sys.stdout.buffer.write(FLOOD)
        return super().action(turn)


class FloodStderr(Honest):
    """Complains without end and plays well: no forfeit."""

    def action(self, turn: pb.Turn) -> pb.Action:
        sys.stderr.buffer.write(FLOOD)
        return super().action(turn)


class IgnoreSigterm(Honest):
    """Stays when the match is over and when it is asked to go: killed, no forfeit."""

    def begin(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def leave(self) -> None:
        time.sleep(FOR_EVER)


class Grandchild(Honest):
    """Leaves a process of another session that holds its output: ended too, no forfeit."""

    def begin(self) -> None:
        subprocess.Popen(["sleep", str(FOR_EVER)], start_new_session=True)


def names(faults: Iterable[type[Honest]]) -> dict[str, type[Honest]]:
    """Return each class by its name as a command line has it: ``crash-at-start``."""
    return {re.sub("(?<=.)(?=[A-Z])", "-", fault.__name__).lower(): fault for fault in faults}


FAULTS = names([*Honest.__subclasses__(), *Huge.__subclasses__()])

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fault", choices=FAULTS, required=True)
    FAULTS[parser.parse_args().fault]().play()
