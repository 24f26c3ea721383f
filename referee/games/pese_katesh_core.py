"""Represent cards and tasks of Pesë Katësh as bit masks, and deal them at random.

Bit i of a mask is the i-th card of the deck in the order of the *sorted texts* (2C, 2D, 2H, 2S, 3C,
..., TH, TS), so that the ascending bits of a hand are its legal actions in their order. `DECK` is
the other order, for people: by suit, then by rank.

`play_out_deal` is the mutable twin of `referee.games.pese_katesh.PeseKateshState`: it holds the
same rules in one loop, and a test plays both and compares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Name = TypeVar("_Name")

SEATS = 4
TRICKS = 13
RANKS = "23456789TJQKA"
SUITS = "CDHS"
DECK = tuple(rank + suit for suit in SUITS for rank in RANKS)
"""The unshuffled deck: clubs, diamonds, hearts, spades, each from the 2 up to the ace."""
CARDS = tuple(sorted(DECK))
"""By bit, the card's text."""
BIT_OF = {card: 1 << position for position, card in enumerate(CARDS)}
"""By text, the mask of the one card."""
SUIT_OF = {card: sum(BIT_OF[rank + card[1]] for rank in RANKS) for card in DECK}
"""By text, the mask of all cards of the card's suit."""
STRENGTH_OF = {
    led: {card: RANKS.index(card[0]) if card[1] == led else -1 for card in DECK} for led in SUITS
}
"""By the suit that was led and by text: 0 for the two up to 12 for the ace, -1 off suit."""

_BITS = tuple(1 << position for position in range(len(CARDS)))
_BITS_OF_DECK = tuple(BIT_OF[card] for card in DECK)
_SUITS = tuple(SUIT_OF[card] for card in CARDS)
_STRENGTHS = tuple(RANKS.index(card[0]) for card in CARDS)
_QUARTERS = tuple(0x1FFF << TRICKS * quarter for quarter in range(SEATS))
_FROM_LEADER = tuple(tuple((leader + turn) % SEATS for turn in range(SEATS)) for leader in range(4))


class _Subsets(dict[int, tuple[_Name, ...]], Generic[_Name]):
    """Map a mask to the names of its cards in ascending order of bits; memoized.

    Only asked for parts of a suit and parts of a quarter of the bits, so that it holds 65,536
    entries at most.
    """

    def __init__(self, names: Sequence[_Name]) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, mask: int) -> tuple[_Name, ...]:
        names = tuple(self._names[bit] for bit in range(mask.bit_length()) if mask >> bit & 1)
        self[mask] = names
        return names


_POSITIONS = _Subsets(range(len(CARDS)))
_TEXTS = _Subsets(CARDS)


@dataclass(frozen=True, slots=True)
class Task:
    """Name what a deal is about.

    Attributes:
        kind: its word in events and observations.
        points: for each trick taken, or for each of the ``penalties`` taken.
        count: how many of them a deal has; it ends with the last.
        penalties: the texts of the cards that count; empty when tricks do.
        penalty_mask: the same cards as a mask.
    """

    kind: str
    points: int
    count: int
    penalties: frozenset[str]
    penalty_mask: int

    @property
    def total(self) -> int:
        """The points of all four seats after the deal."""
        return self.points * self.count


def _task(kind: str, points: int, penalties: Sequence[str] = ()) -> Task:
    return Task(
        kind=kind,
        points=points,
        count=len(penalties) or TRICKS,
        penalties=frozenset(penalties),
        penalty_mask=sum(BIT_OF[card] for card in penalties),
    )


TASKS = (
    _task("tricks", 2),
    _task("hearts", -2, [rank + "H" for rank in RANKS]),
    _task("queens", -4, ["Q" + suit for suit in SUITS]),
    _task("king", -16, ["KS"]),
)
"""The four deals of a floor, in their fixed order."""


def leader_of(deal: int) -> int:
    """Return the seat that leads deal number ``deal`` (from 0): the one after the dealer (P5)."""
    return (deal + 1) % SEATS


def dealt(order: Sequence[int], leader: int) -> list[int]:
    """Return the hands by seat, as masks, of a deck dealt one card at a time from the leader on.

    Args:
        order: a permutation of the indices of `DECK`.
        leader: the seat that gets the first card.
    """
    hands = [0] * SEATS
    for turn, seat in enumerate(_FROM_LEADER[leader]):
        hands[seat] = sum(itemgetter(*order[turn::SEATS])(_BITS_OF_DECK))
    return hands


def follow_texts(follow: int) -> tuple[str, ...]:
    """Return the sorted texts of cards that are all of one suit."""
    return _TEXTS[follow]


def hand_texts(hand: int) -> tuple[str, ...]:
    """Return the sorted texts of any cards."""
    first, second, third, fourth = _QUARTERS
    texts = _TEXTS
    return texts[hand & first] + texts[hand & second] + texts[hand & third] + texts[hand & fourth]


def play_out_deal(
    hands: list[int], leader: int, task: Task, random: Callable[[], float]
) -> tuple[int, list[int]]:
    """Play random legal cards until the deal ends.

    Args:
        hands: by seat, as masks of equal size; left as they are when the deal ends.
        leader: the seat that leads the first trick.
        task: what counts, and so when the deal ends.
        random: returns a number from 0 up to 1 without it; asked only where there is a choice.

    Returns:
        How many cards were played, and the points of the deal by seat.
    """
    penalties = task.penalty_mask
    left = task.count
    taken = [0] * SEATS
    for size in range(TRICKS, 0, -1):
        led = trick = best = 0
        for seat in _FROM_LEADER[leader]:
            hand = hands[seat]
            follow = hand & led
            if follow:
                options = _POSITIONS[follow]
                count = len(options)
                card = options[int(random() * count)] if count > 1 else options[0]
                if _STRENGTHS[card] > best:
                    best = _STRENGTHS[card]
                    leader = seat
            else:
                card = _chosen(hand, int(random() * size) if size > 1 else 0)
                if not led:
                    led = _SUITS[card]
                    best = _STRENGTHS[card]
            hands[seat] = hand ^ _BITS[card]
            trick |= _BITS[card]
        fallen = (trick & penalties).bit_count() if penalties else 1
        taken[leader] += fallen
        left -= fallen
        if not left:
            break
    return SEATS * (TRICKS + 1 - size), [count * task.points for count in taken]


def _chosen(hand: int, number: int) -> int:
    """Return the position of the hand's card ``number``, counted from its lowest bit."""
    for quarter in _QUARTERS:
        options = _POSITIONS[hand & quarter]
        if number < len(options):
            return options[number]
        number -= len(options)
    raise IndexError(number)
