"""One table: the processes that play one rotation of every board of a match.

Many games are open at once; each waits for at most one turn. A forfeit of one bot costs no other
bot anything.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from referee.errors import InvalidBotError, VoidMatchError
from referee.match.boards import bot_seed, make_board, seating
from referee.match.chair import Chair, ProcessRecord, early_end
from referee.match.health import LagMonitor, excuses, pressure_clause
from referee.match.play import Play
from referee.match.session import Phase, Session
from referee.match.settings import TableSettings
from referee.match.streams import StreamServer
from referee.outcome import ForfeitReason
from referee.tasks import see_through

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from referee.bot_folder import BotFolder
    from referee.games import Game
    from referee.games.replay import ReplayGame
    from referee.match.permits import PermitPool
    from referee.match.turns import OpenTurn
    from referee.sandbox.sandbox import Sandbox
    from referee.v1 import referee_pb2 as pb

__all__ = ["ProcessRecord", "Table", "TableResult", "TableSettings"]

ILLEGAL_LIMIT = 3
"""Illegal actions at one table that end a bot's process."""

EXIT_WAIT = 5.0
"""Seconds to wait for the exit code of a process whose stream has ended."""

LAST_WORDS = 0.1
"""Seconds that what a process said last may still be on its way to us when it has ended."""


@dataclass(frozen=True, slots=True)
class TableResult:
    """What a table produced: its games by board, its processes by entrant."""

    games: tuple[ReplayGame, ...]
    processes: tuple[ProcessRecord, ...]


class Table:
    """Plays rotation ``number`` of every board with one process per entrant (two for a team)."""

    def __init__(  # noqa: PLR0913 -- assembled in one place, the runner
        self,
        game: Game,
        *,
        number: int,
        boards: int,
        seed: bytes,
        entrants: Sequence[BotFolder],
        settings: TableSettings,
        sandbox: Sandbox,
        permits: PermitPool,
        monitor: LagMonitor,
        progress: Callable[[ReplayGame], None] | None = None,
    ) -> None:
        """Create the table inside the running loop.

        Args:
            game: the rules.
            number: the rotation.
            boards: how many boards are played.
            seed: the match's seed.
            entrants: their bots, in entrant order.
            settings: how the table is run.
            sandbox: what the bots run in.
            permits: shared with the other tables.
            monitor: likewise.
            progress: called with each game as it ends.
        """
        self._game = game
        self._progress = progress
        self._number = number
        self._boards = boards
        self._seed = seed
        self._settings = settings
        self._sandbox = sandbox
        self._monitor = monitor
        self._plays: dict[int, Play] = {}
        self._games: dict[int, ReplayGame] = {}
        self._next_board = 0
        self._parallel = settings.parallel_games
        self._loop = asyncio.get_running_loop()
        self._finished: asyncio.Future[None] = self._loop.create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._chairs = [
            self._make_chair(entrant, hand, folder, permits)
            for entrant, folder in enumerate(entrants)
            for hand in range(game.seats // game.entrants)
        ]
        self._chair_of = {chair.session: chair for chair in self._chairs}

    def _make_chair(self, entrant: int, hand: int, folder: BotFolder, permits: PermitPool) -> Chair:
        session = Session(
            f"table {self._number}, {folder.name}",
            listener=self,
            permits=permits,
            monitor=self._monitor,
            stall=self._settings.stall,
        )
        return Chair(entrant=entrant, hand=hand, folder=folder, session=session)

    async def play(self) -> TableResult:
        """Start the bots, play every board, end the bots.

        Raises:
            VoidMatchError: our own failure; every process is ended first.
        """
        tokens = [secrets.token_hex(16) for _ in self._chairs]
        server = StreamServer(
            {token: chair.session for token, chair in zip(tokens, self._chairs, strict=True)}
        )
        try:
            await server.start()
            self._start_bots(server, tokens)
            await asyncio.gather(*(chair.settled.wait() for chair in self._chairs))
            self._begin()
            await self._finished
            limit = self._settings.goodbye
            await asyncio.gather(*(chair.dismiss(limit) for chair in self._chairs))
        finally:
            await see_through(self._clean_up(server))
        return TableResult(
            games=tuple(game for _, game in sorted(self._games.items())),
            processes=tuple(chair.record(self._number) for chair in self._chairs),
        )

    async def _clean_up(self, server: StreamServer) -> None:
        ends = await asyncio.gather(
            *(chair.end() for chair in self._chairs), *self._tasks, return_exceptions=True
        )
        await server.stop()
        if not self._finished.done():
            self._finished.cancel()
        elif not self._finished.cancelled():
            # Looked at, so that a void that nobody waited for is not reported as forgotten.
            self._finished.exception()
        for end in ends:
            # Only now, when the others have ended, too.
            if isinstance(end, BaseException):
                raise end

    # Start and end of processes.

    def _start_bots(self, server: StreamServer, tokens: list[str]) -> None:
        for chair, token in zip(self._chairs, tokens, strict=True):
            chair.await_ready(self._settings.start_limit, self._start_overdue)
            try:
                chair.start(
                    self._sandbox, socket=server.socket(token), token=token, exited=self._exited
                )
            except (InvalidBotError, OSError, ValueError) as error:
                self._fail(chair, ForfeitReason.CRASH, f"the process could not be started: {error}")

    def _start_overdue(self, chair: Chair) -> None:
        limit = self._settings.start_limit
        now = time.monotonic()
        lag = self._monitor.lag_between(chair.started, now)
        left = chair.started + limit + lag - now
        if left > 0:
            # The bot gets back what our own lag took; its Ready may lie unread.
            chair.await_ready(left, self._start_overdue)
            return
        if excuses(lag, span=now - chair.started):
            self._void(f"the referee lagged {lag:.3f} s while {chair.session.label} started")
        owes = "Hello" if chair.session.phase is Phase.HELLO else "Ready"
        with self.guard():
            self._fail(chair, ForfeitReason.NO_SHOW, f"no {owes} within {limit:g} s of its start")

    def _exited(self, chair: Chair) -> None:
        if not chair.expects_end:
            self._loop.call_later(LAST_WORDS, self._exited_early, chair)

    def _exited_early(self, chair: Chair) -> None:
        if not chair.expects_end:
            self.vanished(chair.session)

    def _fail(self, chair: Chair, reason: ForfeitReason, detail: str) -> None:
        """End a process: its open games, and those to come, are forfeited."""
        if chair.failure is not None or self._finished.done():
            return
        chair.failure = (reason, detail)
        self._spawn(chair.end())
        # The stream closes before anything else happens, the process when it can.
        chair.session.close()
        chair.close_start()
        for play in list(self._plays.values()):
            play.forfeit_chair(chair)

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Turn an exception of ours, on its way to the event loop, into a void."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- whatever it is, no bot may pay for it
            self._void(f"internal error: {error!r}", reason="internal_error", cause=error)

    def _void(
        self, message: str, *, reason: str = "referee_lag", cause: Exception | None = None
    ) -> None:
        if not self._finished.done():
            error = VoidMatchError(message, reason=reason)
            error.__cause__ = cause
            self._finished.set_exception(error)
        for chair in self._chairs:
            chair.settled.set()

    # What sessions say (SessionListener).

    def greeted(self, session: Session, hello: pb.Hello) -> None:
        """Answer Hello with Welcome."""
        folder = self._chair_of[session].folder
        offers = (
            self._settings.parallel_games,
            folder.parallel_games,
            max(0, hello.parallel_games),
        )
        session.parallel_games = min(count for count in offers if count > 0)
        session.welcome(
            ruleset=self._game.ruleset,
            seats=self._game.seats,
            control=self._settings.control,
            parallel_games=session.parallel_games,
        )

    def became_ready(self, session: Session) -> None:
        """Note how long the start took."""
        self._chair_of[session].became_ready()

    def answered(self, session: Session, turn: OpenTurn, text: str) -> None:
        """Parse, judge, apply; the third illegal action ends the process."""
        error = turn.subject.answer(turn, text)
        if error is None:
            return
        chair = self._chair_of[session]
        chair.illegal += 1
        turn.subject.forfeit(turn.seat, ForfeitReason.ILLEGAL_ACTION, str(error))
        if chair.illegal >= ILLEGAL_LIMIT:
            self._fail(
                chair,
                ForfeitReason.ILLEGAL_ACTION,
                f"the process was ended after {ILLEGAL_LIMIT} illegal actions, the last: {error}",
            )

    def timed_out(self, session: Session, turn: OpenTurn, spent: float) -> None:
        """Forfeit the game whose flag fell."""
        del session
        turn.subject.forfeit(
            turn.seat,
            ForfeitReason.TIMEOUT,
            f"{spent:.3f} s for one turn with {turn.clock.bank:.3f} s left in the bank of "
            f"{self._settings.control}",
        )

    def resigned(self, session: Session, game: int) -> None:
        """Forfeit the game that the bot gives up."""
        chair = self._chair_of[session]
        play = self._plays.get(game)
        if play is not None:
            seat = play.chairs.index(chair)
            play.forfeit(seat, ForfeitReason.RESIGN, "the bot resigned")
        elif game not in self._games:
            self._fail(
                chair, ForfeitReason.INVALID_MESSAGE, f"Resign of game {game}, never started"
            )

    def broke(self, session: Session, reason: ForfeitReason, detail: str) -> None:
        """End a process that stalls or broke the protocol."""
        self._fail(self._chair_of[session], reason, detail)

    def vanished(self, session: Session) -> None:
        """Find out how a process ended whose stream did, then forfeit its games."""
        chair = self._chair_of[session]
        session.close()
        if chair.failure is None and not self._finished.done():
            self._spawn(self._bury(chair))

    async def _bury(self, chair: Chair) -> None:
        report = await chair.process.wait(EXIT_WAIT) if chair.process is not None else None
        with self.guard():
            self._fail(chair, *early_end(report))

    def lagged(self, session: Session, lag: float) -> None:
        """Void the match."""
        self._void(
            f"the referee lagged {lag:.3f} s during a turn of {session.label}{pressure_clause()}"
        )

    # Games.

    def _begin(self) -> None:
        limits = [c.session.parallel_games for c in self._chairs if c.failure is None]
        self._parallel = min(limits, default=1)
        self._start_games()

    def _start_games(self) -> None:
        with self.guard():
            while self._next_board < self._boards and len(self._plays) < self._parallel:
                self._start_game(self._next_board)
            if len(self._games) == self._boards and not self._finished.done():
                self._finished.set_result(None)

    def _start_game(self, board: int) -> None:
        self._next_board = board + 1
        seats = seating(self._game, board=board, rotation=self._number)
        chairs = [self._chair_at(seats, seat) for seat in range(self._game.seats)]
        play = self._plays[board] = Play(
            self._game,
            self._game.start(make_board(self._game, seed=self._seed, index=board)),
            board=board,
            seats=seats,
            chairs=chairs,
            settings=self._settings,
            ended=self._game_ended,
        )
        for seat, chair in enumerate(chairs):
            seed = bot_seed(self._seed, board=board, seat=seat)
            chair.session.start_game(game=board, seat=seat, seed=seed)
        play.begin()

    def _chair_at(self, seats: tuple[int, ...], seat: int) -> Chair:
        """Return the process in a seat: an entrant's n-th seat is its n-th process."""
        hand = seats[:seat].count(seats[seat])
        return next(c for c in self._chairs if c.entrant == seats[seat] and c.hand == hand)

    def _game_ended(self, play: Play) -> None:
        """Store a game's end, tell the bots, and start the next game."""
        game = self._games[play.board] = play.record(self._number)
        del self._plays[play.board]
        if self._progress is not None:
            self._progress(game)
        for chair in self._chairs:
            chair.session.end_game(
                game=play.board,
                termination=game.termination,
                outcome=game.outcome,
                forfeits=game.forfeits,
            )
        self._loop.call_soon(self._start_games)
