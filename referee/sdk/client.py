"""Connect a bot to the referee that started it, and answer its turns."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from referee import wire
from referee.sdk.bot import Bot, GameEnd, GameStart, Turn, Welcome
from referee.sdk.stream import RequestQueue, referee_stream
from referee.sdk.turn_markers import TurnMarkers
from referee.v1 import referee_pb2 as pb
from referee.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(bot: Bot) -> None:
    """Play with the referee that started this process, until the match is over.

    Exits the process with a message when no referee has started it, or when the stream fails.
    """
    hello = pb.Hello(
        sdk=f"bot-arena-python {VERSION}",
        name=bot.name or type(bot).__name__,
        parallel_games=bot.parallel_games,
    )
    with referee_stream(hello) as (stream, requests):
        _Client(bot, requests).answer_all(stream)


class _Client:
    """Implement the bot's side of the protocol."""

    def __init__(self, bot: Bot, requests: RequestQueue) -> None:
        self._bot = bot
        self._requests = requests
        self._starts: dict[int, GameStart] = {}
        self._welcome: Welcome | None = None
        self._markers = TurnMarkers()

    def answer_all(self, stream: Iterator[pb.PlayResponse]) -> None:
        """Read and answer until the match is over."""
        self._markers.mark_output()
        for message in stream:
            kind = message.WhichOneof("content")
            if kind == "turns":
                self._read(message.turns)
            elif kind == "welcome":
                self._prepare(message.welcome)
            elif kind == "match_over":
                self._requests.send(pb.PlayRequest(goodbye=pb.Goodbye()))
                self._requests.end()

    def _prepare(self, message: pb.Welcome) -> None:
        self._welcome = Welcome(
            ruleset=message.ruleset,
            seats=message.seats,
            time_control=wire.time_control_from_pb(message.time_control),
            parallel_games=message.parallel_games,
        )
        self._bot.prepare(self._welcome)
        self._requests.send(pb.PlayRequest(ready=pb.Ready()))

    def _read(self, turns: pb.Turns) -> None:
        # Ends come before the starts that they make room for. Only a game that ended at once both
        # starts and ends in this message.
        open_before = set(self._starts)
        for over in turns.games_over:
            if over.game in open_before:
                self._end(over)
        for message in turns.games_started:
            start = GameStart(game=message.game, seat=message.seat, seed=message.seed)
            self._starts[message.game] = start
            self._bot.game_started(start)
        for over in turns.games_over:
            if over.game not in open_before:
                self._end(over)
        assert self._welcome is not None
        act, answer, markers = self._bot.act, self._requests.answer, self._markers
        for turn in turns.turns:
            markers.turn = (turn.game, turn.ply)
            before = time.perf_counter()
            action = act(Turn(turn, self._starts[turn.game], self._welcome))
            elapsed = time.perf_counter() - before
            if not isinstance(action, str):
                raise TypeError(
                    f"act returned {action!r}, a {type(action).__name__}; "
                    "it must return a text, one of turn.legal_actions"
                )
            answer(turn.game, turn.ply, action, int(elapsed * 1e6))
        # Not in a finally: the traceback of a turn is printed under its marker.
        markers.turn = None

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
