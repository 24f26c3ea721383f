"""Script a bot against the referee's real session, over a transport moved by hand.

A test reads like a conversation: ``bot.hello()``, ``await bot.hears("welcome")``.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import grpc.aio

from referee.clock import SeatClock, TimeControl
from referee.games import parse_ruleset
from referee.games.quasenbo import QuasenboObservation
from referee.games.replay import ReplayGame
from referee.match.health import LagMonitor
from referee.match.permits import PermitPool
from referee.match.session import Session
from referee.match.turns import OpenTurn
from referee.outcome import ForfeitReason, Outcome, Termination
from referee.v1 import referee_pb2 as pb
from referee.wire import welcome

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 5.0
"""Seconds after which a test that waits for a message fails."""

SEEN = QuasenboObservation(
    hand=("2S", "AC"), pile=("9MS",), hand_sizes=(2, 5), deck_size=20, decree=""
)


def control(*, bank: float = 5.0, increment: float = 0.0, margin: float = 0.05) -> TimeControl:
    """Return a time control of any size, smaller ones than `TimeControl.parse` takes included."""
    return TimeControl(
        bank=timedelta(seconds=bank),
        increment=timedelta(seconds=increment),
        margin=timedelta(seconds=margin),
    )


class NeverLate(LagMonitor):
    """Blame nothing on the referee: tests beside these burn every core."""

    def lag_between(self, start: float, end: float) -> float:
        """Return no lag."""
        del start, end
        return 0.0


class Transport:
    """Replace the servicer context by two queues."""

    def __init__(self) -> None:
        self.to_referee: asyncio.Queue[Any] = asyncio.Queue()
        self.to_bot: asyncio.Queue[pb.PlayResponse] = asyncio.Queue()
        self.messages = 0

    async def read(self) -> Any:
        """Return the bot's next message, or EOF."""
        return await self.to_referee.get()

    async def write(self, data: bytes) -> None:
        """Take a message for the bot."""
        self.messages += 1
        self.to_bot.put_nowait(pb.PlayResponse.FromString(data))


def open_session(
    label: str, *, permits: PermitPool, monitor: LagMonitor | None = None, stall: float
) -> ScriptedSession:
    """Return a session of a Quäsenbö table that offers 32 games at once."""
    return ScriptedSession(
        label,
        welcome=welcome(parse_ruleset("quasenbo"), control(), parallel_games=32),
        permits=permits,
        monitor=monitor or NeverLate(),
        stall=stall,
    )


class ScriptedSession(Session):
    """Record what follows from the judgement, and do nothing else.

    Attributes:
        lines: what followed, as text.
        errors: exceptions that would void a match.
        broken: why the process would be ended.
        answers: the turns that were answered in time.
    """

    def __init__(self, label: str, **options: Any) -> None:
        super().__init__(label, **options)
        self.lines: list[str] = []
        self.errors: list[Exception] = []
        self.broken: list[tuple[ForfeitReason, str]] = []
        self.answers: list[OpenTurn] = []

    def became_ready(self) -> None:
        """Record it."""
        self.lines.append("ready")

    def apply(self, turn: OpenTurn, text: str) -> None:
        """Record it."""
        self.answers.append(turn)
        self.lines.append(f"game {turn.game} ply {turn.ply} {text}")

    def has_started(self, game: int) -> bool:
        """Return that it has."""
        del game
        return True

    def forfeit_game(self, game: int, reason: ForfeitReason, detail: str) -> None:
        """Record it."""
        assert detail
        self.lines.append(f"{reason} game {game}")

    def end_bot(self, reason: ForfeitReason, detail: str) -> None:
        """Record it and close, as a table does."""
        self.close()
        self.broken.append((reason, detail))
        self.lines.append(f"broke {reason}")

    async def wait_for_exit(self, limit: float) -> None:
        """Return that the process runs on."""

    def void(self, message: str) -> None:
        """Record it."""
        assert "the referee lagged" in message
        self.lines.append("lagged")

    @contextmanager
    def void_on_error(self) -> Iterator[None]:
        """Record an exception and swallow it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 -- the test looks at what was caught
            self.errors.append(error)


class ScriptedBot:
    """Send and receive as a bot would, one message at a time.

    Attributes:
        session: the referee's side.
    """

    def __init__(
        self,
        *,
        pool: PermitPool | None = None,
        monitor: LagMonitor | None = None,
        stall: float = 0.2,
    ) -> None:
        self.pool = pool or PermitPool(1)
        self.session = open_session("scripted", permits=self.pool, monitor=monitor, stall=stall)
        self.transport = Transport()
        context: Any = self.transport
        self._conversation = asyncio.create_task(self.session.serve_stream(context))

    # What the bot says.

    def says(self, message: pb.PlayRequest) -> None:
        """Send a message."""
        self.says_bytes(message.SerializeToString())

    def says_bytes(self, data: bytes) -> None:
        """Send bytes, which need be no message."""
        self.transport.to_referee.put_nowait(data)

    def hello(self, *, major: int = 1, minor: int = 0, parallel_games: int = 0) -> None:
        """Say Hello."""
        self.says(
            pb.PlayRequest(
                hello=pb.Hello(
                    sdk="script",
                    name="scripted",
                    protocol=pb.ProtocolVersion(major=major, minor=minor),
                    parallel_games=parallel_games,
                )
            )
        )

    def ready(self) -> None:
        """Say Ready."""
        self.says(pb.PlayRequest(ready=pb.Ready()))

    def answers(self, *answers: tuple[int, int, str], elapsed_us: int = 0) -> None:
        """Answer turns in one message, each as (game, ply, action)."""
        self.says(
            pb.PlayRequest(
                actions=pb.Actions(
                    actions=[
                        pb.Action(game=game, ply=ply, action=action, elapsed_us=elapsed_us)
                        for game, ply, action in answers
                    ]
                )
            )
        )

    def resigns(self, game: int) -> None:
        """Give a game up."""
        self.says(pb.PlayRequest(resign=pb.Resign(game=game)))

    def hangs_up(self) -> None:
        """End the stream."""
        self.transport.to_referee.put_nowait(grpc.aio.EOF)

    # What the bot hears.

    async def hears(self, kind: str) -> Any:
        """Return the next message's content, which must be of a kind."""
        async with asyncio.timeout(PATIENCE):
            message = await self.transport.to_bot.get()
        assert message.WhichOneof("content") == kind
        return getattr(message, kind)

    async def hears_turns(self) -> list[tuple[int, int]]:
        """Return game and ply of each turn in the next message."""
        return [(turn.game, turn.ply) for turn in (await self.hears("turns")).turns]

    async def hears_nothing(self, seconds: float = 0.08) -> None:
        """Make sure that no message comes for a while."""
        await asyncio.sleep(seconds)
        assert self.transport.to_bot.empty()

    # What the test does for the table.

    def asks(self, game: int, *, ply: int = 0, clock: SeatClock | None = None) -> OpenTurn:
        """Put a turn to the bot."""
        turn = OpenTurn(
            game=game,
            seat=0,
            ply=ply,
            clock=clock or SeatClock(control()),
            legal_actions=("2S", "AC"),
            events=("start 9MS",),
            observation=SEEN,
            ready=0.0,
        )
        self.session.ask(turn)
        return turn

    def ends_game(self, game: int) -> None:
        """Tell the bot that a game is over."""
        self.session.end_game(
            ReplayGame(
                board=game,
                table=0,
                seats=(0, 1),
                actions=(),
                times=(),
                forfeits=(),
                termination=Termination.FINISHED,
                outcome=Outcome(points=(0, -3), places=(1, 2)),
            )
        )

    async def introduces_itself(self) -> None:
        """Get to where games are played."""
        self.hello()
        await self.hears("welcome")
        self.ready()
        await self.told("ready")

    async def told(self, line: str) -> None:
        """Wait until the session recorded something."""
        for _ in range(int(PATIENCE / 0.005)):
            if line in self.session.lines:
                return
            await asyncio.sleep(0.005)
        raise AssertionError(f"{line!r} is not among {self.session.lines}")

    async def broken(self) -> tuple[ForfeitReason, str]:
        """Wait until the process would be ended, and return why."""
        for _ in range(int(PATIENCE / 0.005)):
            if self.session.broken:
                return self.session.broken[0]
            await asyncio.sleep(0.005)
        raise AssertionError(f"nothing is broken: {self.session.lines}")

    async def leave(self) -> None:
        """End the conversation from both sides."""
        self.session.close()
        self.hangs_up()
        async with asyncio.timeout(PATIENCE):
            await self._conversation
        assert self.session.errors == []
