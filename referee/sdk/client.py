"""Runs a bot against the referee that started it."""

from __future__ import annotations

import os
import sys
import threading
import time
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import grpc

from referee import wire
from referee.sdk.bot import Bot, GameEnd, GameStart, Turn, Welcome
from referee.v1 import referee_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

_METHOD = "/referee.v1.RefereeService/Play"
_SWITCH_INTERVAL = 0.0005
"""Seconds; with Python's default of 5 ms, answers would leave up to 20 ms late."""


def run(bot: Bot) -> None:
    """Play with the referee that started this process, until the match is over.

    Exits the process with a sentence when no referee has started it, or when it went away.
    """
    address = os.environ.get("ARENA_BOT_ADDRESS")
    token = os.environ.get("ARENA_BOT_TOKEN")
    if not address or token is None:
        sys.exit(
            "This is a bot: the arena starts it. Try: arena play quasenbo THIS_FOLDER THIS_FOLDER"
        )
    sys.setswitchinterval(_SWITCH_INTERVAL)
    with grpc.insecure_channel(address) as channel:
        play = channel.stream_stream(
            _METHOD,
            request_serializer=pb.PlayRequest.SerializeToString,
            response_deserializer=pb.PlayResponse.FromString,
        )
        outbox = _Outbox()
        outbox.say(pb.PlayRequest(hello=_hello(bot)))
        stream = play(iter(outbox), metadata=(("arena-bot-token", token),))
        try:
            _Conversation(bot, outbox).hold(stream)
        except grpc.RpcError as error:
            why = (
                f"{error.code().name} {error.details()}" if isinstance(error, grpc.Call) else error
            )
            sys.exit(f"The stream to the referee ended: {why}")
        finally:
            outbox.end()


def _reason(error: grpc.RpcError) -> str:
    return f"{error.code().name} {error.details()}" if isinstance(error, grpc.Call) else str(error)


def _hello(bot: Bot) -> pb.Hello:
    try:
        release = version("bot-arena")
    except PackageNotFoundError:
        release = "unknown"
    return pb.Hello(
        sdk=f"bot-arena-python {release}",
        protocol=wire.protocol_to_pb(),
        name=bot.name or type(bot).__name__,
        parallel_games=bot.parallel_games,
    )


class _Outbox:
    """What the bot has to say. The stream takes all that is ready whenever it has written."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._letters: list[pb.PlayRequest] = []
        self._answers: list[tuple[int, int, str, int]] = []
        self._ended = False

    def say(self, letter: pb.PlayRequest) -> None:
        """Send a message."""
        with self._changed:
            self._letters.append(letter)
            self._changed.notify()

    def answer(self, game: int, ply: int, action: str, elapsed_us: int) -> None:
        """Send an answer, in one message with the others that are ready."""
        with self._changed:
            self._answers.append((game, ply, action, elapsed_us))
            self._changed.notify()

    def end(self) -> None:
        """Say nothing more."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def __iter__(self) -> Iterator[pb.PlayRequest]:
        while True:
            with self._changed:
                while not (self._letters or self._answers or self._ended):
                    self._changed.wait()
                letters, self._letters = self._letters, []
                answers, self._answers = self._answers, []
                ended = self._ended
            if answers:
                message = pb.PlayRequest()
                add = message.actions.actions.add
                for game, ply, action, elapsed_us in answers:
                    add(game=game, ply=ply, action=action, elapsed_us=elapsed_us)
                yield message
            yield from letters
            if ended:
                return


class _Conversation:
    """The bot's side of the conversation."""

    def __init__(self, bot: Bot, outbox: _Outbox) -> None:
        self._bot = bot
        self._outbox = outbox
        self._starts: dict[int, GameStart] = {}
        self._welcome: Welcome | None = None

    def hold(self, stream: Iterator[pb.PlayResponse]) -> None:
        """Read and answer until the match is over."""
        for message in stream:
            kind = message.WhichOneof("content")
            if kind == "turns":
                self._read(message.turns)
            elif kind == "welcome":
                self._prepare(message.welcome)
            elif kind == "match_over":
                self._outbox.say(pb.PlayRequest(goodbye=pb.Goodbye()))
                self._outbox.end()

    def _prepare(self, message: pb.Welcome) -> None:
        self._welcome = Welcome(
            ruleset=message.ruleset,
            seats=message.seats,
            time_control=wire.time_control_from_pb(message.time_control),
            parallel_games=message.parallel_games,
        )
        self._bot.prepare(self._welcome)
        self._outbox.say(pb.PlayRequest(ready=pb.Ready()))

    def _read(self, news: pb.Turns) -> None:
        # A bot hears of an end before the start that it made room for. Only a game that ended at
        # once both starts and ends in this message.
        open_before = set(self._starts)
        for over in news.games_over:
            if over.game in open_before:
                self._end(over)
        for message in news.games_started:
            start = GameStart(game=message.game, seat=message.seat, seed=message.seed)
            self._starts[message.game] = start
            self._bot.game_started(start)
        for over in news.games_over:
            if over.game not in open_before:
                self._end(over)
        assert self._welcome is not None
        act, answer = self._bot.act, self._outbox.answer
        for turn in news.turns:
            before = time.perf_counter()
            action = act(Turn(turn, self._starts[turn.game], self._welcome))
            elapsed = time.perf_counter() - before
            if not isinstance(action, str):
                raise TypeError(
                    f"act returned {action!r}, a {type(action).__name__}; "
                    "it must return a text, one of turn.legal_actions"
                )
            answer(turn.game, turn.ply, action, int(elapsed * 1e6))

    def _end(self, over: pb.GameOver) -> None:
        start = self._starts.pop(over.game)
        self._bot.game_over(
            GameEnd(
                game=over.game,
                seat=start.seat,
                outcome=wire.outcome_from_pb(over),
                termination=wire.termination_from_pb(over),
                forfeits=wire.forfeits_from_pb(over),
            )
        )
