"""Define the interface of a bot: subclass `Bot`; a `Turn` holds all that it may know."""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from referee import wire

if TYPE_CHECKING:
    from referee.clock import TimeControl
    from referee.outcome import Forfeit, Outcome, Termination
    from referee.v1 import referee_pb2 as pb


@dataclass(frozen=True, slots=True)
class Welcome:
    """Describe the table, before any game starts.

    Attributes:
        ruleset: canonical text, for example ``quasenbo:double=yes``.
        seats: number of seats.
        time_control: the clock of each game and seat.
        parallel_games: the most games that are open at once.
    """

    ruleset: str
    seats: int
    time_control: TimeControl
    parallel_games: int


@dataclass(frozen=True, slots=True)
class GameStart:
    """Announce the start of a game.

    Attributes:
        game: its number at this table.
        seat: the bot's seat in it.
        seed: 32 bytes for the bot's own random choices.
    """

    game: int
    seat: int
    seed: bytes


@dataclass(frozen=True, slots=True)
class GameEnd:
    """Announce the end of a game.

    Attributes:
        game: its number.
        seat: the bot's seat in it.
        outcome: points and places by seat.
        termination: why it ended.
        forfeits: of every seat that forfeited, with the reason.
    """

    game: int
    seat: int
    outcome: Outcome
    termination: Termination
    forfeits: tuple[Forfeit, ...]


class Turn:
    """Ask the bot to act. Everything needed to decide is here; a bot may be stateless.

    Attributes:
        game: the game's number; several games are open at once.
        seat: the bot's seat in it.
        ply: how many actions have been applied in the game.
    """

    def __init__(self, message: pb.Turn, start: GameStart, welcome: Welcome) -> None:
        self._message = message
        self._start = start
        self._welcome = welcome
        self.game = message.game
        self.seat = start.seat
        self.ply = message.ply

    @property
    def ruleset(self) -> str:
        """The ruleset's canonical text."""
        return self._welcome.ruleset

    @property
    def seats(self) -> int:
        """The number of seats."""
        return self._welcome.seats

    @property
    def time_left(self) -> timedelta:
        """The time left in the bank of this game."""
        return timedelta(microseconds=self._message.time_left_us)

    @property
    def increment(self) -> timedelta:
        """The time added to the bank after this turn."""
        return self._welcome.time_control.increment

    @cached_property
    def legal_actions(self) -> tuple[str, ...]:
        """Every legal action, sorted; the answer is one of them."""
        return tuple(self._message.legal_actions)

    @cached_property
    def events(self) -> tuple[str, ...]:
        """Public events since the seat's last turn in this game, oldest first."""
        return tuple(self._message.events)

    @cached_property
    def observation(self) -> Any:
        """All that the seat may see: a `QuasenboObservation` or a `PeseKateshObservation`."""
        return wire.observation_from_pb(self._message)

    @cached_property
    def rng(self) -> random.Random:
        """Random numbers of this game and ply alone: the same turn gives the same numbers."""
        key = hashlib.sha256(self._start.seed + self.ply.to_bytes(4, "big")).digest()
        return random.Random(int.from_bytes(key[:16], "big"))  # noqa: S311 -- not a secret


class Bot(ABC):
    """Choose actions; subclass it and write `act`.

    One object plays every game of a table, several at the same time: store state by ``turn.game``.

    Attributes:
        name: shown in logs; the class's name if empty.
        parallel_games: the most games that it plays at the same time; 0 leaves it to the referee.
    """

    name = ""
    parallel_games = 0

    @abstractmethod
    def act(self, turn: Turn) -> str:
        """Return one of ``turn.legal_actions``; the clock runs."""

    # The methods below are empty on purpose: a bot overrides those that it needs.

    def prepare(self, welcome: Welcome) -> None:  # noqa: B027 -- optional
        """Prepare, outside every clock; the start-up limit is ten seconds."""

    def game_started(self, start: GameStart) -> None:  # noqa: B027 -- optional
        """Handle the start of a game."""

    def game_over(self, end: GameEnd) -> None:  # noqa: B027 -- optional
        """Handle the end of a game."""
