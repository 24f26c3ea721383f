"""Define the interface of every game: `Game` makes `State` values from a `Board`.

A state is a value: `State.apply` returns a new one and leaves the old unchanged; equal histories
give equal states. Engines work on integers and bit masks; this interface has cards and actions as
text.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from referee.errors import InvalidBoardError
from referee.games.random_streams import RandomStream, shuffled
from referee.outcome import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random


class Board:
    """Hold all the card luck of one game: a deck order per deal, and the shuffles of recycles.

    Boards compare equal when they hold the same seed and the same stacked decks for one deck.

    Attributes:
        seed: feeds every deal that is not stacked and every recycle; any number of bytes.
        stacked: decks in dealing order, given by hand, each a permutation of the deck's indices.
    """

    __slots__ = ("_deck", "seed", "stacked")

    def __init__(
        self, *, deck: tuple[str, ...], seed: bytes, stacked: tuple[tuple[int, ...], ...] = ()
    ) -> None:
        self._deck = deck
        self.seed = seed
        self.stacked = stacked

    @classmethod
    def from_seed(cls, game: Game, seed: bytes) -> Board:
        """Return the board that a seed (32 bytes; others are hashed first) gives for a game."""
        return cls(deck=game.deck, seed=seed)

    @classmethod
    def parse(cls, game: Game, text: str, seed: bytes = b"") -> Board:
        """Return a stacked board.

        Args:
            game: the game whose deck is stacked.
            text: whole decks in dealing order, one per deal, separated by white space.
            seed: for recycles, and for deals that the text does not give.

        Raises:
            InvalidBoardError: a card that is not in the deck, twice in a deal, or missing.
        """
        index_of = {card: index for index, card in enumerate(game.deck)}
        words = text.split()
        for word in words:
            if word not in index_of:
                raise InvalidBoardError(
                    f"{word!r} is not a card of {game.ruleset}; its deck is {' '.join(game.deck)}"
                )
        size = len(game.deck)
        if not words or len(words) % size:
            raise InvalidBoardError(
                f"a board of {game.ruleset} is one or more whole decks of {size} cards, "
                f"not {len(words)} cards"
            )
        decks = [words[start : start + size] for start in range(0, len(words), size)]
        for number, cards in enumerate(decks):
            if len(set(cards)) != size:
                twice = sorted({card for card in cards if cards.count(card) > 1})
                raise InvalidBoardError(f"deal {number} holds {' '.join(twice)} more than once")
        stacked = tuple(tuple(index_of[card] for card in cards) for cards in decks)
        return cls(deck=game.deck, seed=seed, stacked=stacked)

    def deal(self, number: int) -> tuple[int, ...]:
        """Return the whole deck for deal ``number`` (from 0), as deck indices in dealing order."""
        if number < len(self.stacked):
            return self.stacked[number]
        return tuple(shuffled(range(len(self._deck)), RandomStream(self.seed, f"deal/{number}")))

    def recycle(self, number: int, cards: Sequence[int]) -> tuple[int, ...]:
        """Return ``cards`` shuffled for recycle ``number`` (from 0), first to be drawn first."""
        return tuple(shuffled(cards, RandomStream(self.seed, f"recycle/{number}")))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Board):
            return NotImplemented
        return (self._deck, self.seed, self.stacked) == (other._deck, other.seed, other.stacked)

    def __hash__(self) -> int:
        return hash((self._deck, self.seed, self.stacked))

    def __repr__(self) -> str:
        return f"Board(seed={self.seed.hex()!r}, stacked={len(self.stacked)})"


@dataclass(frozen=True, slots=True)
class Option:
    """Describe one option of a game.

    Attributes:
        name: as written in a ruleset text.
        values: every possible value, as text.
        default: the value that a canonical text leaves out; "" when it depends on other options.
        meaning: one sentence for people.
    """

    name: str
    values: tuple[str, ...]
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class GameInfo:
    """Describe a game before it is built, for people and the registry.

    Attributes:
        name: the first word of its rulesets, ``quasenbo``.
        title: the game's name for people.
        summary: one sentence for people.
        seats: the number of seats, for people, ``2 to 6``.
        options: in the order to be shown.
        dependent_defaults: given a value for every option whose default is a text, returns the
            defaults of those whose ``Option.default`` is "".
    """

    name: str
    title: str
    summary: str
    seats: str
    options: tuple[Option, ...] = ()
    dependent_defaults: Callable[[Mapping[str, str]], Mapping[str, str]] = field(
        default=lambda _options: {}, repr=False, compare=False
    )

    def with_defaults(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return a value for every option: the given one, else its default."""
        full = {option.name: option.default for option in self.options if option.default}
        full.update(given)
        return {**self.dependent_defaults(full), **full}

    def canonical_ruleset(self, options: Mapping[str, str]) -> str:
        """Return the ruleset text: options sorted, those that have their default left out."""
        fixed = {option.name: option.default for option in self.options if option.default}
        defaults = {**self.dependent_defaults({**fixed, **options}), **fixed}
        told = [
            f"{name}={options[name]}" for name in sorted(options) if options[name] != defaults[name]
        ]
        return f"{self.name}:{','.join(told)}" if told else self.name


class Game(ABC):
    """Define a rule set: a game with its options. Immutable.

    Attributes:
        name: the preset's name, ``quasenbo``.
        ruleset: canonical text, defaults left out and options sorted, ``quasenbo:double=yes``.
        seats: number of seats.
        deck: card texts in the order of the unshuffled deck.
        seat_entrants: by seat, the entrant (0-based) who holds it: ``(0, 1)``, teams
            ``(0, 1, 0, 1)``.
    """

    name: str
    ruleset: str
    seats: int
    deck: tuple[str, ...]
    seat_entrants: tuple[int, ...]

    @property
    def entrants(self) -> int:
        """How many entrants play: the seats, or two for teams."""
        return max(self.seat_entrants) + 1

    @property
    def rotations(self) -> int:
        """How many rotations make a set: one for each entrant in each place."""
        return self.entrants

    @abstractmethod
    def start(self, board: Board) -> State:
        """Return the first state, everything dealt, a seat waiting to act (or the game over)."""

    @abstractmethod
    def playout(self, board: Board, choose: Random) -> tuple[int, Outcome]:
        """Play random legal actions to the end, over the engine's fast core without texts.

        Each action is number ``int(choose.random() * count)`` of the ``count`` legal actions in
        the order of `State.legal_actions`; a single legal action takes no random number.

        Returns:
            How many actions were applied, and the outcome.
        """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Game) and other.ruleset == self.ruleset

    def __hash__(self) -> int:
        return hash(self.ruleset)

    def __repr__(self) -> str:
        return f"<Game {self.ruleset}>"


class State(ABC):
    """Hold a position in a game, as a value.

    A state that is not over waits for a seat with at least one legal action: draws, passes,
    recycles and deals happen inside `Game.start` and `State.apply` and are told as events.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def game(self) -> Game:
        """The game being played."""

    @property
    @abstractmethod
    def seat_to_act(self) -> int | None:
        """The seat that acts next; None when the game is over."""

    @property
    @abstractmethod
    def ply(self) -> int:
        """How many actions have been applied since the start."""

    @property
    @abstractmethod
    def event_count(self) -> int:
        """How many public events there have been since the start (``len(self.events)``)."""

    @property
    @abstractmethod
    def events(self) -> tuple[str, ...]:
        """Every public event since the start, oldest first, in the game's notation."""

    @abstractmethod
    def events_since(self, count: int) -> tuple[str, ...]:
        """Return ``self.events[count:]``, in time proportional to what it returns."""

    @abstractmethod
    def legal_actions(self) -> tuple[str, ...]:
        """Return the legal actions of the seat to act as sorted texts; () when the game is over."""

    @abstractmethod
    def apply(self, text: str) -> State:
        """Return the state after the seat to act did ``text``.

        Raises:
            InvalidActionError: no action of this game reads so.
            IllegalActionError: an action of the game that is not legal here.
        """

    @abstractmethod
    def hand(self, seat: int) -> tuple[str, ...]:
        """Return the cards in a seat's hand, in the deck's order."""

    @abstractmethod
    def observe(self, seat: int) -> Any:
        """Return all that a seat may see, as the game's observation dataclass."""

    @abstractmethod
    def zones(self) -> Mapping[str, tuple[str, ...]]:
        """Return where every card of the deck lies, each in exactly one zone.

        For checks and replay viewers, never for a bot. The zones ``hand 0``, ``hand 1``, ... and
        ``deck`` hold what is hidden from (other) seats; the names of open zones are the game's.
        """

    @abstractmethod
    def outcome(self) -> Outcome | None:
        """Return points and places by seat; None until the game is over."""

    @property
    def termination(self) -> Termination | None:
        """Why the rules ended the game; None until it is over."""
        return None if self.outcome() is None else Termination.FINISHED
