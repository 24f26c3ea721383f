"""One table: the processes that play one rotation of every board of a match.

Many games are open at once; each waits for at most one turn. Forfeits are decided here, and a
forfeit of one bot costs no other bot anything.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from referee.clock import SeatClock, TimeControl
from referee.errors import IllegalActionError, InvalidActionError, VoidMatchError
from referee.games import Game, State
from referee.games.replay import ReplayGame, TurnTimes, entrants_left, rule_on
from referee.match.boards import make_board, seating
from referee.match.bot_folder import BotFolder
from referee.match.health import VOID_LAG, LagMonitor
from referee.match.permits import PermitPool
from referee.match.process import BotProcess, ExitReport
from referee.match.sandbox import BotCommand, Sandbox
from referee.match.session import Answer, OpenTurn, Phase, Session
from referee.match.streams import StreamServer
from referee.outcome import Forfeit, ForfeitReason, Termination
from referee.v1 import referee_pb2 as pb

ILLEGAL_LIMIT = 3
"""Illegal actions at one table that end a bot's process."""

EXIT_WAIT = 0.5
"""Seconds to wait for the exit code of a process whose stream has ended."""


@dataclass(frozen=True, slots=True)
class TableSettings:
    """How a table is run; times in seconds.

    Attributes:
        control: the clock of each game and seat.
        parallel_games: the most games open at once.
        start_limit: from the start of a process to its Ready.
        stall: silence after a time-out that ends a process.
        goodbye: from MatchOver to the end of the stream.
        asks_forced: whether turns with one legal action are put to the bot, too.
    """

    control: TimeControl
    parallel_games: int = 32
    start_limit: float = 10.0
    stall: float = 2.0
    goodbye: float = 2.0
    asks_forced: bool = False


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """What a bot process left.

    Attributes:
        table: its table.
        entrant: whose process it was.
        hand: 0, or 1 for the second process of a team.
        start_seconds: from its start to Ready; None when it never was ready.
        stdout: what it printed, bounded.
        stderr: what it printed there, bounded.
        report: how it ended.
    """

    table: int
    entrant: int
    hand: int
    start_seconds: float | None
    stdout: str
    stderr: str
    report: ExitReport


@dataclass(frozen=True, slots=True)
class TableResult:
    """What a table produced: its games by board, its processes by entrant."""

    games: tuple[ReplayGame, ...]
    processes: tuple[ProcessRecord, ...]


class Chair:
    """One bot process at the table, with its stream.

    Attributes:
        session: its stream.
        process: its process; None before the start, and when its command cannot be started.
        failure: why it was ended; None while it may play.
    """

    def __init__(self, *, entrant: int, hand: int, folder: BotFolder, session: Session) -> None:
        self.entrant = entrant
        self.hand = hand
        self.folder = folder
        self.session = session
        self.process: BotProcess | None = None
        self.started = 0.0
        self.start_seconds: float | None = None
        self.settled = asyncio.Event()
        self.failure: tuple[ForfeitReason, str] | None = None
        self.illegal = 0
        self.deadline: asyncio.TimerHandle | None = None


class Play:
    """One game in progress."""

    __slots__ = (
        "actions", "begun", "board", "chairs", "clocks", "forfeits", "gone", "over", "seats",
        "seen", "state", "times", "turn",
    )  # fmt: skip

    def __init__(
        self, *, board: int, seats: tuple[int, ...], chairs: list[Chair], state: State,
        control: TimeControl,
    ) -> None:  # fmt: skip
        self.board = board
        self.seats = seats
        self.chairs = chairs
        self.state = state
        self.clocks = [SeatClock(control) for _ in seats]
        self.seen = [0] * len(seats)
        self.actions: list[str] = []
        self.times: list[TurnTimes | None] = []
        self.forfeits: list[Forfeit] = []
        self.gone: set[int] = set()
        self.turn: OpenTurn | None = None
        self.over = False
        self.begun = time.monotonic()

    def moment(self, when: float) -> int:
        """Return a moment of `time.monotonic` as microseconds since the game's start."""
        return round((when - self.begun) * 1e6)


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
        self._finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stops: set[asyncio.Task[object]] = set()
        self._chairs = [
            self._make_chair(entrant, hand, folder, permits)
            for entrant, folder in enumerate(entrants)
            for hand in range(game.seats // game.entrants)
        ]

    def _make_chair(
        self, entrant: int, hand: int, folder: BotFolder, permits: PermitPool
    ) -> Chair:
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
        await server.start()
        try:
            self._start_bots(server, tokens)
            await asyncio.gather(*(chair.settled.wait() for chair in self._chairs))
            self._raise_if_void()
            self._begin()
            await self._finished
            await self._dismiss()
        finally:
            await self._end_bots()
            await server.stop()
        return TableResult(
            games=tuple(game for _, game in sorted(self._games.items())),
            processes=tuple(self._record(chair) for chair in self._chairs),
        )

    # Start and end of processes.

    def _start_bots(self, server: StreamServer, tokens: list[str]) -> None:
        loop = asyncio.get_running_loop()
        for chair, token in zip(self._chairs, tokens, strict=True):
            command = BotCommand(
                words=chair.folder.command,
                folder=chair.folder.path,
                socket=server.socket(token),
                token=token,
            )
            chair.started = time.monotonic()
            chair.deadline = loop.call_later(
                self._settings.start_limit, self._start_overdue, chair
            )
            try:
                chair.process = BotProcess(
                    command, self._sandbox, exited=lambda _, chair=chair: self._exited(chair)
                )
            except (OSError, ValueError) as error:
                self._fail(chair, ForfeitReason.CRASH, f"the process could not be started: {error}")

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Turn an exception of ours, on its way to the event loop, into a void."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- whatever it is, no bot may pay for it
            self._void(f"internal error: {error!r}", reason="internal_error", cause=error)

    def _start_overdue(self, chair: Chair) -> None:
        limit = self._settings.start_limit
        now = time.monotonic()
        lag = self._monitor.lag_between(chair.started, now)
        if lag >= VOID_LAG:
            self._void(f"the referee lagged {lag:.3f} s while {chair.session.label} started")
        owes = "Hello" if chair.session.phase is Phase.HELLO else "Ready"
        self._fail(chair, ForfeitReason.NO_SHOW, f"no {owes} within {limit:g} s of its start")

    def _exited(self, chair: Chair) -> None:
        """Hear that a process ended; what it said last may still be on its way to us."""
        if chair.session.phase not in {Phase.OVER, Phase.CLOSED}:
            asyncio.get_running_loop().call_later(0.1, self._exited_early, chair)

    def _exited_early(self, chair: Chair) -> None:
        if chair.session.phase not in {Phase.OVER, Phase.CLOSED}:
            self.vanished(chair.session)

    async def _dismiss(self) -> None:
        """Say MatchOver, and give the bots a moment to say Goodbye."""
        waits = []
        for chair in self._chairs:
            if chair.failure is None and chair.process is not None:
                chair.session.finish()
                waits.append(chair.process.wait(self._settings.goodbye))
        await asyncio.gather(*waits)

    async def _end_bots(self) -> None:
        for chair in self._chairs:
            chair.session.close()
            if chair.deadline is not None:
                chair.deadline.cancel()
        running = [chair.process for chair in self._chairs if chair.process is not None]
        await asyncio.gather(*(process.stop() for process in running), *self._stops)

    def _record(self, chair: Chair) -> ProcessRecord:
        process = chair.process
        report = process.report if process is not None else None
        return ProcessRecord(
            table=self._number,
            entrant=chair.entrant,
            hand=chair.hand,
            start_seconds=chair.start_seconds,
            stdout=process.stdout.ring.text() if process is not None else "",
            stderr=process.stderr.ring.text() if process is not None else "",
            report=report or ExitReport(code=127, stopped=False, peak_memory=0, cpu_seconds=0.0),
        )

    def _chair_of(self, session: Session) -> Chair:
        return next(chair for chair in self._chairs if chair.session is session)

    def _fail(self, chair: Chair, reason: ForfeitReason, detail: str) -> None:
        """End a process: its open games, and those to come, are forfeited."""
        if chair.failure is not None or self._finished.done():
            return
        chair.failure = (reason, detail)
        chair.session.close()
        if chair.deadline is not None:
            chair.deadline.cancel()
        chair.settled.set()
        if chair.process is not None:
            task = asyncio.create_task(chair.process.stop())
            self._stops.add(task)
            task.add_done_callback(self._stops.discard)
        for play in list(self._plays.values()):
            self._forfeit_by_chair(play, chair)

    def _void(
        self, message: str, *, reason: str = "referee_lag", cause: Exception | None = None
    ) -> None:
        if not self._finished.done():
            error = VoidMatchError(message, reason=reason)
            error.__cause__ = cause
            self._finished.set_exception(error)
        for chair in self._chairs:
            chair.settled.set()

    def _raise_if_void(self) -> None:
        if self._finished.done():
            self._finished.result()

    # What sessions say (SessionListener).

    def greeted(self, session: Session, hello: pb.Hello) -> None:
        """Answer Hello with Welcome."""
        del hello
        chair = self._chair_of(session)
        accepted = [
            count
            for count in (
                self._settings.parallel_games, chair.folder.parallel_games, session.parallel_games
            )
            if count > 0
        ]  # fmt: skip
        session.parallel_games = min(accepted)
        session.welcome(
            ruleset=self._game.ruleset,
            seats=self._game.seats,
            control=self._settings.control,
            parallel_games=session.parallel_games,
        )

    def became_ready(self, session: Session) -> None:
        """Note how long the start took."""
        chair = self._chair_of(session)
        chair.start_seconds = time.monotonic() - chair.started
        if chair.deadline is not None:
            chair.deadline.cancel()
        chair.settled.set()

    def answered(self, session: Session, turn: OpenTurn, answer: Answer) -> None:
        """Parse, judge, apply."""
        play: Play = turn.subject
        play.turn = None
        seat = play.state.seat_to_act
        assert seat is not None
        try:
            play.state = play.state.apply(answer.text)
        except (InvalidActionError, IllegalActionError) as error:
            self._illegal(session, play, error)
            return
        play.actions.append(answer.text)
        play.times.append(
            TurnTimes(
                seat=seat,
                ready=play.moment(turn.ready),
                sent=play.moment(turn.sent),
                answered=play.moment(answer.arrival),
                applied=play.moment(time.monotonic()),
                think=round(answer.think * 1e6),
                charged=round(answer.charged * 1e6),
            )
        )
        self._advance(play)

    def timed_out(self, session: Session, turn: OpenTurn, spent: float) -> None:
        """Forfeit the game whose flag fell."""
        del session
        play: Play = turn.subject
        seat = play.state.seat_to_act
        assert seat is not None
        control = self._settings.control
        self._forfeit(
            play,
            seat,
            ForfeitReason.TIMEOUT,
            f"{spent:.3f} s for one turn with {turn.clock.bank:.3f} s left in the bank of {control}",
        )

    def resigned(self, session: Session, game: int) -> None:
        """Forfeit the game that the bot gives up."""
        chair = self._chair_of(session)
        play = self._plays.get(game)
        if play is None:
            if game not in self._games:
                self.broke(
                    session, ForfeitReason.INVALID_MESSAGE, f"Resign of game {game}, never started"
                )
            return
        self._forfeit(play, play.chairs.index(chair), ForfeitReason.RESIGN, "the bot resigned")

    def broke(self, session: Session, reason: ForfeitReason, detail: str) -> None:
        """End a process that stalls or broke the protocol."""
        self._fail(self._chair_of(session), reason, detail)

    def vanished(self, session: Session) -> None:
        """Find out how a process ended whose stream did, then forfeit its games."""
        chair = self._chair_of(session)
        session.close()
        if chair.failure is None and not self._finished.done():
            task = asyncio.create_task(self._bury(chair))
            self._stops.add(task)
            task.add_done_callback(self._stops.discard)

    async def _bury(self, chair: Chair) -> None:
        report = await chair.process.wait(EXIT_WAIT) if chair.process is not None else None
        how = (
            f"the process ended early: {report}"
            if report is not None
            else "the process closed its stream and went on running"
        )
        with self.guard():
            self._fail(chair, ForfeitReason.CRASH, how)

    def lagged(self, session: Session, lag: float) -> None:
        """Void the match."""
        self._void(f"the referee lagged {lag:.3f} s during a turn of {session.label}")

    # Games.

    def _begin(self) -> None:
        limits = [c.session.parallel_games for c in self._chairs if c.failure is None]
        self._parallel = min(limits, default=1)
        self._start_games()

    def _start_games(self) -> None:
        with self.guard():
            self._fill_table()

    def _fill_table(self) -> None:
        while self._next_board < self._boards and len(self._plays) < self._parallel:
            board = self._next_board
            self._next_board += 1
            self._start_game(board)
        if len(self._games) == self._boards and not self._finished.done():
            self._finished.set_result(None)

    def _start_game(self, board: int) -> None:
        seats = seating(self._game, board=board, rotation=self._number)
        chairs = [self._chair_at(seats, seat) for seat in range(self._game.seats)]
        state = self._game.start(make_board(self._game, seed=self._seed, index=board))
        play = Play(
            board=board, seats=seats, chairs=chairs, state=state, control=self._settings.control
        )
        self._plays[board] = play
        for seat, chair in enumerate(chairs):
            seed = self._bot_seed(board, seat)
            chair.session.start_game(game=board, seat=seat, seed=seed)
        for chair in self._chairs:
            if chair.failure is not None:
                self._note_forfeit(play, chairs.index(chair), *chair.failure)
        if len(entrants_left(seats, play.forfeits)) <= 1:
            self._finish(play)
        else:
            self._advance(play)

    def _chair_at(self, seats: tuple[int, ...], seat: int) -> Chair:
        """Return the process in a seat: an entrant's n-th seat is its n-th process."""
        hand = seats[:seat].count(seats[seat])
        return next(c for c in self._chairs if c.entrant == seats[seat] and c.hand == hand)

    def _bot_seed(self, board: int, seat: int) -> bytes:
        """Return a bot's own seed, the same for whoever holds this seat of this board.

        So two copies of a bot that uses only this seed split every set.
        """
        return hmac.digest(self._seed, f"bot/{board}/{seat}".encode(), hashlib.sha256)

    def _advance(self, play: Play) -> None:
        """Play on until a bot must be asked, or the game is over."""
        state = play.state
        asks_forced = self._settings.asks_forced
        while (seat := state.seat_to_act) is not None:
            legal = state.legal_actions()
            if play.seats[seat] not in play.gone and (len(legal) > 1 or asks_forced):
                play.state = state
                self._ask(play, seat, legal)
                return
            play.actions.append(legal[0])
            play.times.append(None)
            state = state.apply(legal[0])
        play.state = state
        self._finish(play)

    def _ask(self, play: Play, seat: int, legal: tuple[str, ...]) -> None:
        state = play.state
        turn = OpenTurn(
            subject=play,
            game=play.board,
            ply=state.ply,
            clock=play.clocks[seat],
            legal_actions=legal,
            events=state.events_since(play.seen[seat]),
            observation=state.observe(seat),
            ready=time.monotonic(),
        )
        play.seen[seat] = state.event_count
        play.turn = turn
        play.chairs[seat].session.ask(turn)

    def _illegal(self, session: Session, play: Play, error: ValueError) -> None:
        seat = play.state.seat_to_act
        assert seat is not None
        chair = self._chair_of(session)
        chair.illegal += 1
        self._forfeit(play, seat, ForfeitReason.ILLEGAL_ACTION, str(error))
        if chair.illegal >= ILLEGAL_LIMIT:
            self._fail(
                chair,
                ForfeitReason.ILLEGAL_ACTION,
                f"the process was ended after {ILLEGAL_LIMIT} illegal actions, the last: {error}",
            )

    def _forfeit_by_chair(self, play: Play, chair: Chair) -> None:
        assert chair.failure is not None
        if play.seats[play.chairs.index(chair)] not in play.gone:
            self._forfeit(play, play.chairs.index(chair), *chair.failure)

    def _forfeit(self, play: Play, seat: int, reason: ForfeitReason, detail: str) -> None:
        """A seat loses; the game goes on while two entrants are left."""
        if play.over or play.seats[seat] in play.gone:
            return
        self._note_forfeit(play, seat, reason, detail)
        if len(entrants_left(play.seats, play.forfeits)) <= 1:
            self._finish(play)
        elif play.turn is None or play.seats[play.state.seat_to_act or 0] in play.gone:
            self._let_turn_go(play)
            self._advance(play)

    def _note_forfeit(
        self, play: Play, seat: int, reason: ForfeitReason, detail: str
    ) -> None:
        play.gone.add(play.seats[seat])
        play.forfeits.append(Forfeit(seat=seat, reason=reason, detail=detail, ply=play.state.ply))

    def _let_turn_go(self, play: Play) -> None:
        if play.turn is not None:
            play.turn.live = False
            play.turn = None

    def _finish(self, play: Play) -> None:
        """Store a game's end, tell the bots, and start the next game."""
        if play.over:
            return
        play.over = True
        self._let_turn_go(play)
        state = play.state
        termination = Termination.FORFEIT if state.outcome() is None else state.termination
        outcome = rule_on(self._game, state, play.seats, play.forfeits)
        record = ReplayGame(
            board=play.board,
            table=self._number,
            seats=play.seats,
            actions=tuple(play.actions),
            times=tuple(play.times),
            forfeits=tuple(play.forfeits),
            termination=termination,
            outcome=outcome,
        )
        self._games[play.board] = record
        del self._plays[play.board]
        if self._progress is not None:
            self._progress(record)
        for chair in self._chairs:
            chair.session.end_game(
                game=play.board,
                termination=termination,
                outcome=outcome,
                forfeits=tuple(play.forfeits),
            )
        asyncio.get_running_loop().call_soon(self._start_games)
