"""Play one table: one rotation of every board of a match, with its own processes.

Many games are open at once; each waits for at most one turn. A forfeit of one bot costs no other
bot anything.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

from referee.errors import InvalidBotError, VoidMatchError
from referee.match.boards import bot_seed, make_board, seating
from referee.match.connection import BotConnection
from referee.match.play import Play
from referee.match.streams import StreamServer
from referee.outcome import ForfeitReason
from referee.tasks import run_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from referee.games.replay import ReplayGame
    from referee.match.connection import ProcessRecord
    from referee.match.health import LagMonitor
    from referee.match.permits import PermitPool
    from referee.match.runner import MatchPlan
    from referee.sandbox.sandbox import Sandbox


class Table:
    """Play rotation ``number`` of every board with one process per entrant (two for a team).

    Attributes:
        plan: the match.
        number: the rotation.
        monitor: measures the referee's lag.
        open_games: the games in progress, by number.
    """

    def __init__(  # noqa: PLR0913 -- assembled in one place, the runner
        self,
        plan: MatchPlan,
        *,
        number: int,
        sandbox: Sandbox,
        permits: PermitPool,
        monitor: LagMonitor,
        progress: Callable[[ReplayGame], None] | None,
    ) -> None:
        """Create the table inside the running loop.

        Args:
            plan: the match.
            number: the rotation.
            sandbox: isolates the bots.
            permits: shared with the other tables, as the monitor is.
            monitor: measures the referee's lag.
            progress: called with each game as it ends.
        """
        self.plan = plan
        self.number = number
        self.monitor = monitor
        self.open_games: dict[int, Play] = {}
        self._progress = progress
        self._sandbox = sandbox
        self._games: dict[int, ReplayGame] = {}
        self._next_board = 0
        self._parallel = plan.settings.parallel_games
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections = [
            BotConnection(self, entrant=entrant, member=member, folder=folder, permits=permits)
            for entrant, folder in enumerate(plan.entrants)
            for member in range(plan.game.seats // plan.game.entrants)
        ]

    async def play(self) -> tuple[list[ReplayGame], list[ProcessRecord]]:
        """Start the bots, play every board, end the bots.

        Returns:
            The games by board, and the processes by entrant.

        Raises:
            VoidMatchError: our own failure; every process is ended first.
        """
        tokens = [secrets.token_hex(16) for _ in self._connections]
        server = StreamServer(dict(zip(tokens, self._connections, strict=True)))
        try:
            await server.start()
            self._start_bots(server, tokens)
            await asyncio.gather(
                *(connection.start_settled.wait() for connection in self._connections)
            )
            self._begin()
            await self._finished
            limit = self.plan.settings.goodbye
            await asyncio.gather(*(each.finish_within(limit) for each in self._connections))
        finally:
            await run_to_end(self._clean_up(server))
        games = [game for _, game in sorted(self._games.items())]
        return games, [connection.record() for connection in self._connections]

    async def _clean_up(self, server: StreamServer) -> None:
        ends = await asyncio.gather(
            *(connection.end() for connection in self._connections),
            *(connection.exit_reported() for connection in self._connections),
            *self._tasks,
            return_exceptions=True,
        )
        await server.stop()
        if not self._finished.done():
            self._finished.cancel()
        elif not self._finished.cancelled():
            # Retrieved, so that asyncio does not log an exception that no task awaited.
            self._finished.exception()
        for end in ends:
            # Raised only after all have ended.
            if isinstance(end, BaseException):
                raise end

    # Start and end of processes.

    def _start_bots(self, server: StreamServer, tokens: list[str]) -> None:
        for connection, token in zip(self._connections, tokens, strict=True):
            try:
                connection.start_process(self._sandbox, socket=server.socket(token), token=token)
            except (InvalidBotError, OSError, ValueError) as error:
                connection.end_bot(
                    ForfeitReason.CRASH, f"the process could not be started: {error}"
                )

    @property
    def is_over(self) -> bool:
        """Whether every game is over, or the match is void."""
        return self._finished.done()

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        """Run a coroutine as a task that is awaited before the table ends."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @contextmanager
    def void_on_error(self) -> Iterator[None]:
        """Void the match on an exception of ours that would reach the event loop."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- no bot may lose for any error of ours
            self.void(f"internal error: {error!r}", reason="internal_error", cause=error)

    def void(
        self, message: str, *, reason: str = "referee_lag", cause: Exception | None = None
    ) -> None:
        """Void the match: `play` raises a `VoidMatchError`."""
        if not self._finished.done():
            error = VoidMatchError(message, reason=reason)
            error.__cause__ = cause
            self._finished.set_exception(error)
        for connection in self._connections:
            connection.start_settled.set()

    # Games.

    def _begin(self) -> None:
        limits = [each.parallel_games for each in self._connections if each.failure is None]
        self._parallel = min(limits, default=1)
        self._start_games()

    def _start_games(self) -> None:
        with self.void_on_error():
            while self._next_board < self.plan.boards and len(self.open_games) < self._parallel:
                self._start_game(self._next_board)
            if len(self._games) == self.plan.boards and not self._finished.done():
                self._finished.set_result(None)

    def _start_game(self, board: int) -> None:
        self._next_board = board + 1
        game, seed = self.plan.game, self.plan.seed
        seats = seating(game, board=board, rotation=self.number)
        connections = [self._connection_at(seats, seat) for seat in range(game.seats)]
        play = self.open_games[board] = Play(
            game,
            game.start(make_board(game, seed=seed, index=board)),
            board=board,
            seats=seats,
            connections=connections,
            settings=self.plan.settings,
            ended=self._game_ended,
        )
        for seat, connection in enumerate(connections):
            own_seed = bot_seed(seed, board=board, seat=seat)
            connection.start_game(game=board, seat=seat, seed=own_seed)
        play.begin()

    def has_started(self, game: int) -> bool:
        """Return whether a game has started, be it over or not."""
        return game in self.open_games or game in self._games

    def _connection_at(self, seats: tuple[int, ...], seat: int) -> BotConnection:
        """Return the process in a seat: an entrant's n-th seat is its n-th process."""
        member = seats[:seat].count(seats[seat])
        return next(c for c in self._connections if c.entrant == seats[seat] and c.member == member)

    def _game_ended(self, play: Play) -> None:
        """Store a game's end, tell the bots, and start the next game."""
        game = self._games[play.board] = play.record(self.number)
        del self.open_games[play.board]
        if self._progress is not None:
            self._progress(game)
        for connection in self._connections:
            connection.end_game(game)
        self._loop.call_soon(self._start_games)
