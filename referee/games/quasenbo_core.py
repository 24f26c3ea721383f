"""Play Quäsenbö on integers: the rules as tables, and one mutable position.

Every action has a code, in the sorted order of the actions' texts; the Excuse has six, one for each
decree. A hand is a bit mask of codes in which the Excuse owns all of its six bits, so that
``hand & match[top]`` is the whole set of legal actions. One more code lies only in the pile: that
of an Excuse which started it, without a decree.
The rulings named here (Q2, Q11, ...) are listed in `referee.games.quasenbo`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from referee.games.decktet import EXCUSE, SUITS, rank_of, suits_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from random import Random

    from referee.games.base import Board

PLAY_CAP = 1000
"""Q17: a game ends after so many plays."""

# Kinds of events. A kind leaves its three low bits to the seat; PLAY is 0, as plays are the most.
PLAY, DRAW, PASS, RUN, PENALTY, RECYCLE, START = (kind << 3 for kind in range(7))
SEAT_BITS = 7

Pile = tuple[int, Any]
"""A linked list: the top card's code and the pile below it (None below the last card)."""

EventLog = tuple[Any, int, Any]
"""A linked list: the log before (None before the first), kind plus seat, a number.

The number is a code for PLAY and START, the pile itself for RUN (whose run length is thus worked
out only when it is read), else a count.
"""


class QuasenboRules:
    """Hold the constants of one choice of options.

    Attributes:
        seats: number of seats.
        hand_size: cards dealt to each seat.
        double: whether a quäsenbö of L cards costs L-2 cards, not one.
        deck: card texts in the order of the unshuffled deck.
        actions: action texts, sorted; an action's index is its code.
        no_decree: the code of an Excuse without a decree.
        excuse_bits: the Excuse's six bits; 0 when it does not play.
        card_bits: by deck index, the bits that a card owns in a hand.
        start_code: by deck index, the code of a card that starts the pile.
        card_of: by code, the deck index.
        action_bits: by action code, the bits that its card owns in a hand.
        suits: by code, the suits that count for runs, a bit each.
        match: by code, the bits of every action that is legal on top of it.
    """

    def __init__(
        self,
        *,
        deck: tuple[str, ...],
        seats: int,
        hand_size: int,
        double: bool,
        wild_sevens: bool,
    ) -> None:
        self.seats = seats
        self.hand_size = hand_size
        self.double = double
        self.deck = deck
        self.actions = tuple(sorted(_actions_of(deck)))
        self.no_decree = len(self.actions)
        cards = [card_of_action(action) for action in self.actions]
        self.excuse_bits = _mask(card == EXCUSE for card in cards)
        self.card_bits = tuple(_mask(card == one for one in cards) for card in deck)
        self.start_code = tuple(
            self.no_decree if card == EXCUSE else cards.index(card) for card in deck
        )
        excuse_index = deck.index(EXCUSE) if EXCUSE in deck else -1
        self.card_of = (*map(deck.index, cards), excuse_index)
        self.action_bits = tuple(self.card_bits[index] for index in map(deck.index, cards))
        shown = [shown_suits(action) for action in self.actions]
        self.suits = (*(_mask(suit in suits for suit in SUITS) for suits in shown), 0)
        self.match = (
            *(self._matches(top, wild_sevens=wild_sevens) for top in self.actions),
            (1 << self.no_decree) - 1,
        )

    def _matches(self, top: str, *, wild_sevens: bool) -> int:
        rank = rank_of(card_of_action(top))
        suits = shown_suits(top)
        mask = self.excuse_bits
        for code, action in enumerate(self.actions):
            card = card_of_action(action)
            wild = wild_sevens and rank_of(card) == "7"
            if wild or rank_of(card) == rank or not set(suits).isdisjoint(suits_of(card)):
                mask |= 1 << code
        return mask

    def cards_in(self, hand: int) -> int:
        """Return how many cards a hand holds."""
        return hand.bit_count() - (5 if hand & self.excuse_bits else 0)


@dataclass(eq=False, init=False, repr=False, slots=True)
class QuasenboCore:
    """Hold a position that is changed in place: the hot path, without texts and without checks.

    `apply` takes the code of a legal action (a bit of ``legal``) on trust; `copy` is cheap, as all
    but the hands is shared. The draws, passes and recycles that follow an action happen within it.

    Attributes:
        rules: the constants.
        board: the card luck.
        hands: by seat, the bits of its cards.
        pile: the play pile, the top card first.
        top_suits: the suits of the top card.
        pair_suits: the suits that the top two cards share.
        deck: deck indices in drawing order.
        deck_at: how many of them have been drawn.
        recycles: how many recycles there have been.
        seat: the seat to act; at the end, the seat that acted last.
        legal: the bits of the legal actions; 0 when the game is over.
        plays: how many actions have been applied.
        events: the public events, the latest first.
        other_events: how many of them are not plays.
    """

    rules: QuasenboRules
    board: Board
    hands: list[int]
    pile: Pile
    top_suits: int
    pair_suits: int
    deck: tuple[int, ...]
    deck_at: int
    recycles: int
    seat: int
    legal: int
    plays: int
    events: EventLog
    other_events: int

    @classmethod
    def start(cls, rules: QuasenboRules, board: Board) -> QuasenboCore:
        """Return the position with everything dealt and seat 0's turn begun (Q1, Q2, Q3)."""
        core = cls()
        deck = board.deal(0)
        seats = rules.seats
        dealt = seats * rules.hand_size
        bits = rules.card_bits.__getitem__
        core.rules = rules
        core.board = board
        core.hands = [sum(map(bits, deck[seat:dealt:seats])) for seat in range(seats)]
        start_card = rules.start_code[deck[dealt]]
        core.pile = (start_card, None)
        core.top_suits = rules.suits[start_card]
        core.pair_suits = 0
        core.deck = deck
        core.deck_at = dealt + 1
        core.recycles = core.seat = core.plays = 0
        core.events = (None, START, start_card)
        core.other_events = 1
        core.legal = core.hands[0] & rules.match[start_card]
        if not core.legal:
            core._draw_until_able()
        return core

    @classmethod
    def resume(  # noqa: PLR0913 -- the parts of a position
        cls,
        rules: QuasenboRules,
        board: Board,
        *,
        hands: Sequence[int],
        pile: Sequence[int],
        deck: Sequence[int],
        seat: int,
        plays: int,
    ) -> QuasenboCore:
        """Return a position in the middle of a game, for a bot's search.

        Args:
            rules: the constants.
            board: shuffles later recycles, from recycle 0.
            hands: by seat, the bits of its cards.
            pile: the codes of the pile's cards from the top.
            deck: deck indices in drawing order.
            seat: the seat to act, which has a legal action.
            plays: how many actions have been applied.
        """
        core = cls()
        core.rules = rules
        core.board = board
        core.hands = [*hands]
        linked: Pile | None = None
        for code in reversed(pile):
            linked = (code, linked)
        assert linked, "a pile is never empty"
        core.pile = linked
        core.top_suits = rules.suits[pile[0]]
        core.pair_suits = core.top_suits & rules.suits[pile[1]] if len(pile) > 1 else 0
        core.deck = tuple(deck)
        core.deck_at = core.recycles = 0
        core.seat = seat
        core.plays = plays
        core.events = (None, START, pile[-1])
        core.other_events = 1
        core.legal = core.hands[seat] & rules.match[pile[0]]
        return core

    def copy(self) -> QuasenboCore:
        """Return a copy that shares only what `apply` never changes."""
        twin = QuasenboCore()
        twin.rules = self.rules
        twin.board = self.board
        twin.hands = self.hands.copy()
        twin.pile = self.pile
        twin.top_suits = self.top_suits
        twin.pair_suits = self.pair_suits
        twin.deck = self.deck
        twin.deck_at = self.deck_at
        twin.recycles = self.recycles
        twin.seat = self.seat
        twin.legal = self.legal
        twin.plays = self.plays
        twin.events = self.events
        twin.other_events = self.other_events
        return twin

    def apply(self, action: int) -> None:
        """Play the card of a legal action and begin the next turn, or end the game."""
        rules = self.rules
        seat = self.seat
        hands = self.hands
        hand = hands[seat] ^ rules.action_bits[action]
        hands[seat] = hand
        self.pile = (action, self.pile)
        self.plays = plays = self.plays + 1
        self.events = (self.events, seat, action)
        # Q7, Q8, Q10: one suit on three cards; the printed suits, and an Excuse's decreed one.
        suits = rules.suits[action]
        run = suits & self.pair_suits
        self.pair_suits = suits & self.top_suits
        self.top_suits = suits
        if run:
            hand = self._commit_quasenbo()
        # Q14, Q15: victory is judged after the penalty. Q17: the cap.
        if not hand or plays == PLAY_CAP:
            self.legal = 0
            return
        seat += 1
        if seat == rules.seats:
            seat = 0
        self.seat = seat
        self.legal = legal = hands[seat] & rules.match[action]
        if not legal:
            self._draw_until_able()

    def pile_codes(self) -> list[int]:
        """Return the codes of the pile's cards from the top."""
        codes = []
        pile: Pile | None = self.pile
        while pile:
            code, pile = pile
            codes.append(code)
        return codes

    def playout(self, choose: Random) -> int:
        """Play random legal actions to the end; return how many. See `Game.playout`."""
        before = self.plays
        random = choose.random
        apply = self.apply
        while legal := self.legal:
            if legal & (legal - 1):
                skipped = int(random() * legal.bit_count())
                while skipped:
                    legal &= legal - 1
                    skipped -= 1
                legal &= -legal
            apply(legal.bit_length() - 1)
        return self.plays - before

    def _commit_quasenbo(self) -> int:
        """Log the event and draw the penalty (Q8, Q16); return the seat's hand."""
        rules = self.rules
        seat = self.seat
        log = (self.events, RUN | seat, self.pile)
        at = self.deck_at
        if not rules.double and at < len(self.deck):
            # The usual case, in line: what `_draw_penalty` would do.
            self.events = (log, PENALTY | seat, 1)
            self.other_events += 2
            self.deck_at = at + 1
            self.hands[seat] = hand = self.hands[seat] | rules.card_bits[self.deck[at]]
            return hand
        self.events = log
        self.other_events += 1
        self._draw_penalty(run_length(self.pile, rules.suits) - 2 if rules.double else 1)
        return self.hands[seat]

    def _draw_penalty(self, due: int) -> None:
        """Draw ``due`` cards; draws before and after a recycle are separate events."""
        bits = self.rules.card_bits.__getitem__
        while due:
            at = self.deck_at
            drawn = self.deck[at : at + due]
            if drawn:
                self.hands[self.seat] += sum(map(bits, drawn))
                self.deck_at = at + len(drawn)
                self._tell(PENALTY, len(drawn))
                due -= len(drawn)
            if due:
                recycled = self._recycle()
                # Q12: the run lies in the pile, and all of it but two cards can be recycled.
                assert recycled, "a penalty can always be paid"

    def _draw_until_able(self) -> None:
        """Draw for the seat to act until it can play; a seat that cannot passes (Q6, Q12)."""
        rules = self.rules
        card_bits = rules.card_bits
        wanted = rules.match[self.pile[0]]
        hand = self.hands[self.seat]
        legal = 0
        while not legal:
            deck = self.deck
            at = first = self.deck_at
            while not legal and at < len(deck):
                bits = card_bits[deck[at]]
                at += 1
                hand |= bits
                legal = bits & wanted
            if at > first:
                self.deck_at = at
                self.events = (self.events, DRAW | self.seat, at - first)
                self.other_events += 1
            if not legal and not self._recycle():
                break
        self.hands[self.seat] = hand
        self.legal = legal
        if not legal:
            self._pass_on(wanted)

    def _pass_on(self, wanted: int) -> None:
        """Pass from seats that cannot play, now that nothing is left to draw (Q12)."""
        seats = self.rules.seats
        passes = 0
        while not self.legal:
            self._tell(PASS, 0)
            passes += 1
            # Q13: all but two cards would be in hands, and each suit is on ten cards.
            assert passes < seats, "some seat can play"
            self.seat = (self.seat + 1) % seats
            self.legal = self.hands[self.seat] & wanted

    def _recycle(self) -> bool:
        """Make all but the top two cards of the pile the new deck (Q9, Q11), if there are more."""
        top, *below = self.pile_codes()
        if len(below) <= 1:
            return False
        card_of = self.rules.card_of
        previous, *rest = below
        cards = [card_of[code] for code in reversed(rest)]
        self.pile = (top, (previous, None))
        self.deck = self.board.recycle(self.recycles, cards)
        self.deck_at = 0
        self.recycles += 1
        self._tell(RECYCLE, len(cards))
        return True

    def _tell(self, kind: int, number: int) -> None:
        self.events = (self.events, kind | self.seat, number)
        self.other_events += 1


def card_of_action(action: str) -> str:
    """Return the card that an action plays: ``EX`` of ``EX:W``, else the action itself."""
    return action.partition(":")[0]


def shown_suits(action: str) -> str:
    """Return the suits that a played card has: printed, or decreed for the Excuse."""
    card, _, decree = action.partition(":")
    return suits_of(card) or decree


def _actions_of(deck: Iterable[str]) -> Iterator[str]:
    for card in deck:
        if card == EXCUSE:
            yield from (f"{EXCUSE}:{suit}" for suit in SUITS)
        else:
            yield card


def _mask(flags: Iterable[bool]) -> int:
    """Return the number whose bits are the flags, the first one lowest."""
    return sum(1 << index for index, flag in enumerate(flags) if flag)


def run_length(pile: Pile, suits: Sequence[int]) -> int:
    """Return the longest run of one suit that ends in the top card of a pile."""
    top, below = pile
    common = suits[top]
    length = 0
    while common:
        length += 1
        if below is None:
            break
        code, below = below
        common &= suits[code]
    return length
