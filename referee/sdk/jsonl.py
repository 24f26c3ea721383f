"""Bridge gRPC to bots that read and write JSON Lines.

``python -m referee.sdk.jsonl -- COMMAND...`` starts the command, speaks gRPC with the referee, and
writes each message to the bot's stdin as one line; the bot answers with lines on its stdout.
The referee starts it for a bot whose ``bot.toml`` says ``protocol = "jsonl"``. The bridge belongs
to the bot: its processor time and memory are the bot's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from referee.sdk.stream import RequestQueue, referee_stream
from referee.v1 import referee_pb2 as pb
from referee.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from google.protobuf.message import Message

LINE_LIMIT = 64 << 10
"""Bytes of a bot's line, the limit of a message, too."""

_NUMBER_LIMIT = 1 << 31


def main(words: list[str]) -> None:
    """Run a command as a bot; exits with its exit code or signal."""
    if words[:1] != ["--"] or len(words) < 2:
        sys.exit("Usage: python -m referee.sdk.jsonl -- COMMAND...")
    bot = subprocess.Popen(words[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        with referee_stream(pb.Hello(sdk=f"bot-arena-jsonl {VERSION}")) as (stream, requests):
            Bridge(bot, requests).forward_messages(stream)
        _exit_like(bot)
    finally:
        bot.kill()


class Bridge:
    """Forward messages between the referee's stream and a bot's stdin and stdout."""

    def __init__(self, bot: subprocess.Popen[bytes], requests: RequestQueue) -> None:
        self._bot = bot
        self._requests = requests
        self._over = False
        # When each open turn was written to the bot, and when its latest answer came.
        self._asked: dict[tuple[int, int], float] = {}
        self._answered = 0.0
        self._reader = threading.Thread(target=self._read_lines, daemon=True)
        self._reader.start()

    def forward_messages(self, stream: Iterator[pb.PlayResponse]) -> None:
        """Write the referee's messages to the bot until the match is over and the bot exits."""
        for message in stream:
            self._over = message.WhichOneof("content") == "match_over"
            try:
                self._write(message)
                if self._over:
                    self._stdin.close()
            except BrokenPipeError:
                break  # the bot exited or closed its stdin: its exit or the clock decides
            if self._over:
                break
        self._reader.join()

    def _write(self, message: pb.PlayResponse) -> None:
        now = time.perf_counter()
        for turn in message.turns.turns:
            self._asked[turn.game, turn.ply] = now
        self._stdin.write("".join(lines_of(message)).encode())
        self._stdin.flush()

    @property
    def _stdin(self) -> Any:
        return self._bot.stdin

    def _read_lines(self) -> None:
        stdout = self._bot.stdout
        assert stdout is not None
        while line := stdout.readline(LINE_LIMIT + 1):
            try:
                self._handle_line(line)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                sys.stderr.write(f"This line is no message: {line[:200]!r} ({error!r})\n")
                # An empty message, which the referee judges as invalid.
                self._requests.send(pb.PlayRequest())
        if self._over:
            self._requests.send(pb.PlayRequest(goodbye=pb.Goodbye()))
            self._requests.end()
        else:
            _exit_like(self._bot)

    def _handle_line(self, line: bytes) -> None:
        """Forward a line; raises if it is no message."""
        if len(line) > LINE_LIMIT:
            raise ValueError(f"longer than {LINE_LIMIT} bytes")
        ((kind, fields),) = json.loads(line).items()
        if kind == "action":
            action = fields["action"]
            action.encode()
            self._answer(_number(fields["game"]), _number(fields["ply"]), action)
        elif kind == "ready":
            self._requests.send(pb.PlayRequest(ready=pb.Ready()))
        elif kind == "resign":
            self._requests.send(pb.PlayRequest(resign=pb.Resign(game=_number(fields["game"]))))
        else:
            raise ValueError(f"{kind!r} is none of action, ready, resign")

    def _answer(self, game: int, ply: int, action: str) -> None:
        now = time.perf_counter()
        # The bot worked on this turn since it was asked, or since the answer before it.
        begun = max(self._asked.pop((game, ply), now), self._answered)
        self._answered = now
        self._requests.answer(game, ply, action, int((now - begun) * 1e6))


def lines_of(message: pb.PlayResponse) -> Iterator[str]:
    """Yield a message of the referee as lines, one for each game start, game over and turn."""
    content = message.WhichOneof("content")
    if content != "turns":
        if content is not None:
            yield _line(content, getattr(message, content))
        return
    turns = message.turns
    opened = {start.game for start in turns.games_started}
    # Ends come before the starts that they make room for, but not before their own.
    for over in turns.games_over:
        if over.game not in opened:
            yield _line("game_over", over)
    for start in turns.games_started:
        yield _line("game_started", start)
    for over in turns.games_over:
        if over.game in opened:
            yield _line("game_over", over)
    for turn in turns.turns:
        yield _line("turn", turn)


def _line(kind: str, message: Message) -> str:
    text = json.dumps({kind: _fields_of(message)}, ensure_ascii=False, separators=(",", ":"))
    return text + "\n"


def _fields_of(message: Message) -> dict[str, Any]:
    return {
        name: convert(getattr(message, name))
        for name, convert, present in _layout(message.DESCRIPTOR)
        if not present or message.HasField(name)
    }


@cache
def _layout(descriptor: Descriptor) -> tuple[tuple[str, Callable[[Any], Any], bool], ...]:
    """Return each field's name, converter to JSON, and whether it may be absent."""
    return tuple((field.name, _converter(field), field.has_presence) for field in descriptor.fields)


def _converter(field: FieldDescriptor) -> Callable[[Any], Any]:
    one: Callable[[Any], Any] = _same
    if field.message_type is not None:
        one = _fields_of
    elif field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        one = names.__getitem__
    elif field.type == FieldDescriptor.TYPE_BYTES:
        one = bytes.hex
    if not field.is_repeated:
        return one
    return list if one is _same else lambda values: [one(value) for value in values]


def _same(value: Any) -> Any:
    return value


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _NUMBER_LIMIT:
        raise ValueError(f"{value!r} is no number of a game or ply")
    return value


def _exit_like(bot: subprocess.Popen[bytes]) -> NoReturn:
    """Exit this process, from any thread, with the bot's exit code or signal."""
    code = bot.wait()
    sys.stderr.flush()
    if code < 0:
        os.kill(os.getpid(), -code)
        # Another thread may take the signal a moment later; only this thread waits for it.
        time.sleep(1)
    os._exit(code if code >= 0 else 128 - code)  # for signals that Python ignores


if __name__ == "__main__":
    main(sys.argv[1:])
