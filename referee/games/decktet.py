"""Define the Decktet: P.D. Magnus's cards of six suits, most of which show two or three.

A card reads rank, then suits in writing order: ``AM``, ``4YK``, ``PMSL``, ``TSWY``, ``CY``; the
Excuse, without rank and suit, reads ``EX``. Ranks: A Ace, 2 to 9, P Pawn, T Court, C Crown. Each
suit is on 10 of the basic 36 cards and on 14 of all 45.
"""

from __future__ import annotations

SUITS = "MSWLYK"
"""Moons, Suns, Waves, Leaves, Wyrms, Knots, in writing order."""

BASIC: tuple[str, ...] = (
    *("AM", "AS", "AW", "AL", "AY", "AK"),
    *("2MK", "2SY", "2WL"),
    *("3MW", "3SK", "3LY"),
    *("4MS", "4WL", "4YK"),
    *("5ML", "5SW", "5YK"),
    *("6MW", "6SY", "6LK"),
    *("7ML", "7SK", "7WY"),
    *("8MS", "8WL", "8YK"),
    *("9MS", "9WY", "9LK"),
    *("CM", "CS", "CW", "CL", "CY", "CK"),
)
PAWNS = ("PMSL", "PMYK", "PSWK", "PWLY")
COURTS = ("TMWK", "TMLY", "TSWY", "TSLK")
EXCUSE = "EX"


def deck_of(*, excuse: bool, pawns: bool, courts: bool) -> tuple[str, ...]:
    """Return the unshuffled deck: the basic 36, then Pawns, Courts and the Excuse if they play."""
    deck = BASIC
    if pawns:
        deck += PAWNS
    if courts:
        deck += COURTS
    return (*deck, EXCUSE) if excuse else deck


def rank_of(card: str) -> str:
    """Return the letter or digit of a card's rank; "" for the Excuse."""
    return "" if card == EXCUSE else card[0]


def suits_of(card: str) -> str:
    """Return a card's suits in writing order; "" for the Excuse."""
    return "" if card == EXCUSE else card[1:]
