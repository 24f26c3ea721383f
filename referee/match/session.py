"""Read and write one bot's stream."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from referee.match.judgement import Judgement, SessionPhase
from referee.v1 import referee_pb2 as pb

if TYPE_CHECKING:
    import grpc.aio

    from referee.games.replay import ReplayGame
    from referee.match.turns import OpenTurn


class Session(Judgement):
    """Read a bot's messages from its stream, and send it games and turns."""

    def start_game(self, *, game: int, seat: int, seed: bytes) -> None:
        """Send the start of a game."""
        if self.phase is SessionPhase.PLAYING:
            self._outbox.game_starts(game=game, seat=seat, seed=seed)

    def end_game(self, game: ReplayGame) -> None:
        """Send the end of a game."""
        if self.phase is SessionPhase.PLAYING:
            self._outbox.game_ends(game)

    def ask(self, turn: OpenTurn) -> None:
        """Send a turn once the bot has a thinking permit."""
        if self.phase is SessionPhase.PLAYING:
            self._outbox.ask(turn)

    def finish(self) -> None:
        """Send MatchOver: every game of the table is over."""
        if self.phase is SessionPhase.PLAYING:
            self.phase = SessionPhase.OVER
            self._unanswered.clear()
            self._outbox.clear()
            self._outbox.post(pb.PlayResponse(match_over=pb.MatchOver()))

    async def serve_stream(self, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        """Read and write a stream until the bot's side of it ends."""
        writer = asyncio.create_task(self._outbox.write(context))
        try:
            # The method is served without a deserializer: messages are bytes.
            while isinstance(data := await context.read(), bytes):
                with self.void_on_error():
                    self.receive(data, time.monotonic())
        finally:
            self.stream_ended()
        await writer
