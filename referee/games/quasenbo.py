"""Play Quäsenbö: get rid of your cards, and avoid a third card of one suit in a row.

``quasenbo`` follows "Rules of Quäsenbö" by Jens Alfke & Ricci Adams; ``quasenbo-magnus`` follows
the Spanish translation of P.D. Magnus's version for the Decktet, where Sevens are ordinary and the
Excuse is an extension. Where the texts are silent:

- Q1 Seat 0 starts, then ascending seats.
- Q2 One card at a time to seats 0, 1, ... until every hand is full; the next starts the pile.
- Q3 An Excuse that starts the pile has no decree: anything may follow; it has no suit for runs.
- Q4 A Seven that starts the pile is nothing special.
- Q5 A seat that can play must play, even if every card commits a quäsenbö.
- Q6 A seat that cannot draws one by one until a card is playable, and plays that card.
- Q7 A run is one and the same suit on three cards; the start card counts, ranks never do.
- Q8 Several suits that run at once are one quäsenbö and one penalty.
- Q9 A played Excuse has only its decreed suit, and no rank; recycled, it loses the decree.
- Q10 A wild Seven may be played on anything; runs use its printed suits.
- Q11 When a card must be drawn from an empty deck, all but the top two of the pile are shuffled
  (fed to the shuffle from the bottom up) into a new one; the card just played is the top one.
- Q12 With nothing to draw the turn passes; a penalty can always be paid.
- Q13 It cannot happen that all seats pass in turn.
- Q14 A last card that commits a quäsenbö does not win: the penalty is drawn, play goes on.
- Q15 The first seat to end its turn without cards wins; the others rank by cards left.
- Q16 Double Quäsenbö: a run of L cards that ends in the card played costs L-2 cards, counted on
  the cards that lie in the pile.
- Q17 A game ends after 1000 plays; the fewest cards rank first.
- Q18 Calling out has no effect: it is an event.
- Q19 Hands, deck order and drawn cards are private; the pile and all counts are public.

Events, in order: ``start CARD``; ``play SEAT ACTION``; ``quasenbo SEAT RUN`` with the run's length;
``penalty SEAT COUNT`` and ``draw SEAT COUNT`` with the number of cards drawn, told in two when a
recycle falls between; ``recycle COUNT`` with the size of the new deck; ``pass SEAT``. The end is
told by the outcome alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from referee.errors import IllegalActionError, InvalidActionError, InvalidRulesetError
from referee.games.base import Game, GameInfo, Option, State
from referee.games.cards import MaskTexts
from referee.games.decktet import EXCUSE, deck_of
from referee.games.quasenbo_core import (
    DRAW,
    PASS,
    PENALTY,
    PLAY,
    RECYCLE,
    RUN,
    SEAT_BITS,
    START,
    QuasenboCore,
    QuasenboRules,
    run_length,
)
from referee.outcome import Outcome, Termination, places_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from random import Random

    from referee.games.base import Board

_MOST_CARDS_A_HAND = 22  # two seats and all 45 cards of the Decktet
_PART = 12  # cards of a hand whose texts are remembered together, so at most 4,096 of them
_COUNTED_EVENTS = {DRAW: "draw", PENALTY: "penalty"}


@dataclass(frozen=True, slots=True)
class QuasenboObservation:
    """Hold all that one seat may see.

    Attributes:
        hand: the seat's own cards, in the deck's order.
        pile: the play pile from the top; the Excuse reads ``EX:W``, or ``EX`` without a decree.
        hand_sizes: by seat, how many cards it holds.
        deck_size: how many cards can be drawn before a recycle.
        decree: the suit that the Excuse on top has; "" when there is none.
    """

    hand: tuple[str, ...]
    pile: tuple[str, ...]
    hand_sizes: tuple[int, ...]
    deck_size: int
    decree: str


class _PartTexts(dict[int, tuple[str, ...]]):
    """Map the bits of some cards of a hand to their texts; memoized.

    Args:
        cards: texts and bits of at most `_PART` cards, in the deck's order.
    """

    __slots__ = ("_cards",)

    def __init__(self, cards: Sequence[tuple[str, int]]) -> None:
        super().__init__()
        self._cards = cards

    def __missing__(self, mask: int) -> tuple[str, ...]:
        self[mask] = told = tuple([card for card, bits in self._cards if mask & bits])
        return told


class _Notation:
    """Convert codes, masks and events to texts, for one `QuasenboRules`.

    Attributes:
        code_of: action text to its code.
        actions: mask to its action texts, sorted.
    """

    __slots__ = ("_hand_parts", "_lying", "_plays", "_rules", "actions", "code_of")

    def __init__(self, rules: QuasenboRules) -> None:
        self._rules = rules
        cards = tuple(zip(rules.deck, rules.card_bits, strict=True))
        parts = [cards[start : start + _PART] for start in range(0, len(cards), _PART)]
        self._hand_parts = [(sum(bits for _, bits in part), _PartTexts(part)) for part in parts]
        self._lying = (*rules.actions, EXCUSE)
        self._plays = [
            [f"play {seat} {action}" for action in rules.actions] for seat in range(rules.seats)
        ]
        self.code_of = {action: code for code, action in enumerate(rules.actions)}
        self.actions = MaskTexts(rules.actions)

    def hand(self, mask: int) -> tuple[str, ...]:
        """Return the cards of a hand's mask, in the deck's order."""
        found: tuple[str, ...] = ()
        for part, texts in self._hand_parts:
            found += texts[mask & part]
        return found

    def lying(self, codes: Iterable[int]) -> tuple[str, ...]:
        """Return the texts of codes that lie in the pile."""
        return tuple(map(self._lying.__getitem__, codes))

    def event(self, kind_and_seat: int, number: Any) -> str:
        """Return the text of one event of the core's log."""
        seat = kind_and_seat & SEAT_BITS
        kind = kind_and_seat - seat
        if kind == PLAY:
            play: str = self._plays[seat][number]
            return play
        if kind == RUN:
            return f"quasenbo {seat} {run_length(number, self._rules.suits)}"
        if kind == PASS:
            return f"pass {seat}"
        if kind == RECYCLE:
            return f"recycle {number}"
        if kind == START:
            return f"start {self._lying[number]}"
        return f"{_COUNTED_EVENTS[kind]} {seat} {number}"


class QuasenboGame(Game):
    """Play Quäsenbö with one choice of options; made by `referee.games.parse_ruleset`.

    Attributes:
        rules: the integer tables that the engine plays by.
    """

    def __init__(self, info: GameInfo, options: Mapping[str, str], *, wild_sevens: bool) -> None:
        self.name = info.name
        self.ruleset = info.canonical_ruleset(options)
        self.seats = int(options["players"])
        self.seat_entrants = tuple(range(self.seats))
        self.deck = deck_of(
            excuse=options["excuse"] == "yes",
            pawns=options["pawns"] == "yes",
            courts=options["courts"] == "yes",
        )
        hand_size = int(options["hand"])
        self._refuse_too_large_hands(hand_size)
        self.rules = QuasenboRules(
            deck=self.deck,
            seats=self.seats,
            hand_size=hand_size,
            double=options["double"] == "yes",
            wild_sevens=wild_sevens,
        )
        self._notation = _Notation(self.rules)

    def start(self, board: Board) -> QuasenboState:
        """Return the first state; the first seat has drawn, or passed, if it had to."""
        return QuasenboState(self, self._notation, QuasenboCore.start(self.rules, board))

    def playout(self, board: Board, choose: Random) -> tuple[int, Outcome]:
        core = QuasenboCore.start(self.rules, board)
        return core.playout(choose), _outcome_of(core)

    def _refuse_too_large_hands(self, hand_size: int) -> None:
        needed = self.seats * hand_size + 1
        size = len(self.deck)
        if needed > size:
            raise InvalidRulesetError(
                f"{self.seats} hands of {hand_size} and a start card need {needed} cards, but the "
                f"deck has {size}; hand may be 1 to {(size - 1) // self.seats} here"
            )


class QuasenboState(State):
    """Hold a position in a game of Quäsenbö, as a value."""

    __slots__ = ("_core", "_game", "_notation")

    def __init__(self, game: QuasenboGame, notation: _Notation, core: QuasenboCore) -> None:
        self._game = game
        self._notation = notation
        self._core = core

    @property
    def game(self) -> QuasenboGame:
        return self._game

    @property
    def seat_to_act(self) -> int | None:
        return self._core.seat if self._core.legal else None

    @property
    def ply(self) -> int:
        return self._core.plays

    @property
    def event_count(self) -> int:
        return self._core.plays + self._core.other_events

    @property
    def events(self) -> tuple[str, ...]:
        return self.events_since(0)

    def events_since(self, count: int) -> tuple[str, ...]:
        event = self._notation.event
        log = self._core.events
        found = []
        for _ in range(self.event_count - count):
            log, kind_and_seat, number = log
            found.append(event(kind_and_seat, number))
        return tuple(reversed(found))

    def legal_actions(self) -> tuple[str, ...]:
        return self._notation.actions[self._core.legal]

    def apply(self, text: str) -> QuasenboState:
        notation = self._notation
        core = self._core
        code = notation.code_of.get(text)
        if code is None or not core.legal >> code & 1:
            raise self._refusal(text)
        core = core.copy()
        core.apply(code)
        return QuasenboState(self._game, notation, core)

    def hand(self, seat: int) -> tuple[str, ...]:
        return self._notation.hand(self._core.hands[seat])

    def observe(self, seat: int) -> QuasenboObservation:
        core = self._core
        pile = self._notation.lying(core.pile_codes())
        return QuasenboObservation(
            hand=self._notation.hand(core.hands[seat]),
            pile=pile,
            hand_sizes=tuple(map(core.rules.cards_in, core.hands)),
            deck_size=len(core.deck) - core.deck_at,
            decree=pile[0].partition(":")[2],
        )

    def zones(self) -> dict[str, tuple[str, ...]]:
        """Return where every card lies: ``hand 0``..., ``deck`` and ``pile``, the top first."""
        core = self._core
        deck = core.rules.deck
        card_of = core.rules.card_of
        return {
            **{f"hand {seat}": self.hand(seat) for seat in range(core.rules.seats)},
            "deck": tuple(deck[index] for index in core.deck[core.deck_at :]),
            "pile": tuple(deck[card_of[code]] for code in core.pile_codes()),
        }

    def outcome(self) -> Outcome | None:
        """Return points (minus the cards left) and places by seat; None until it is over."""
        return None if self._core.legal else _outcome_of(self._core)

    @property
    def termination(self) -> Termination | None:
        """FINISHED when a seat has no cards left, PLAY_CAP when only the cap ended the game."""
        if self._core.legal:
            return None
        return Termination.FINISHED if 0 in self._core.hands else Termination.PLAY_CAP

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QuasenboState):
            return NotImplemented
        return self._content() == other._content() and self.events == other.events

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        return f"<State of {self._game.ruleset}, ply {self.ply}, seat {self.seat_to_act} to act>"

    def _content(self) -> tuple[object, ...]:
        """Return what equal states have in common, but for the events."""
        core = self._core
        return (
            self._game.ruleset,
            core.board.seed,
            core.recycles,
            core.plays,
            core.seat,
            tuple(core.hands),
            tuple(core.pile_codes()),
            core.deck[core.deck_at :],
        )

    def _refusal(self, text: str) -> InvalidActionError | IllegalActionError:
        if text not in self._notation.code_of:
            return InvalidActionError(
                f"{text!r} is no action of {self._game.ruleset}; an action is a card of the deck"
                + (", the Excuse with its decree, EX:W" if self._core.rules.excuse_bits else "")
            )
        if not self._core.legal:
            return IllegalActionError(f"{text} is not legal: the game is over")
        return IllegalActionError(
            f"{text} is not legal for seat {self._core.seat} here; legal are "
            + " ".join(self.legal_actions())
        )


def _outcome_of(core: QuasenboCore) -> Outcome:
    cards_in = core.rules.cards_in
    return _outcome_for(tuple([-cards_in(hand) for hand in core.hands]))


@lru_cache(maxsize=1 << 12)
def _outcome_for(points: tuple[int, ...]) -> Outcome:
    return Outcome(points=points, places=places_of(points))


def _default_hand(options: Mapping[str, str]) -> Mapping[str, str]:
    return {"hand": "7" if int(options["players"]) <= 4 else "5"}


def _info(*, name: str, title: str, summary: str, excuse: str) -> GameInfo:
    yes_no = ("yes", "no")
    return GameInfo(
        name=name,
        title=title,
        summary=summary,
        seats="2 to 6",
        options=(
            Option("players", tuple("23456"), "2", "How many seats there are."),
            Option(
                "hand",
                tuple(map(str, range(1, _MOST_CARDS_A_HAND + 1))),
                "",
                "Cards dealt to each seat: 7 for two to four players, else 5.",
            ),
            Option("double", yes_no, "no", "A run of L cards costs L-2 cards, not one."),
            Option("excuse", yes_no, excuse, "The Excuse plays: always legal, its suit decreed."),
            Option("pawns", yes_no, "no", "The four Pawns, with three suits each, play."),
            Option("courts", yes_no, "no", "The four Courts, with three suits each, play."),
        ),
        dependent_defaults=_default_hand,
    )


QUASENBO = _info(
    name="quasenbo",
    title="Quäsenbö",
    summary="Shed your cards by suit or rank, but never a third of one suit; Sevens are wild.",
    excuse="yes",
)
QUASENBO_MAGNUS = _info(
    name="quasenbo-magnus",
    title="Quäsenbö (Magnus)",
    summary="P.D. Magnus's version: Sevens are ordinary and the Excuse is an extension.",
    excuse="no",
)


def build_quasenbo(options: Mapping[str, str]) -> QuasenboGame:
    """Return the game that a value for every option of `QUASENBO` describes."""
    return QuasenboGame(QUASENBO, options, wild_sevens=True)


def build_quasenbo_magnus(options: Mapping[str, str]) -> QuasenboGame:
    """Return the game that a value for every option of `QUASENBO_MAGNUS` describes."""
    return QuasenboGame(QUASENBO_MAGNUS, options, wild_sevens=False)
