"""Define the Decktet: P.D. Magnus's cards of six suits, most of which show two or three.

A card reads rank, then suits in writing order: ``AM``, ``4YK``, ``PMSL``, ``TSWY``, ``CY``; the
Excuse, without rank and suit, reads ``EX``. Ranks: A Ace, 2 to 9, P Pawn, T Court, C Crown. Each
suit is on 10 of the basic 36 cards and on 14 of all 45.
"""

from __future__ import annotations

from types import MappingProxyType

SUITS = "MSWLYK"
"""Moons, Suns, Waves, Leaves, Wyrms, Knots, in writing order."""

SUIT_NAMES = MappingProxyType(
    dict(zip(SUITS, ("Moons", "Suns", "Waves", "Leaves", "Wyrms", "Knots"), strict=True))
)

BASIC_NAMES = MappingProxyType(
    {
        **{f"A{suit}": f"Ace of {name}" for suit, name in SUIT_NAMES.items()},
        "2MK": "Author",
        "2SY": "Desert",
        "2WL": "Origin",
        "3MW": "Journey",
        "3SK": "Painter",
        "3LY": "Savage",
        "4MS": "Mountain",
        "4WL": "Sailor",
        "4YK": "Battle",
        "5ML": "Forest",
        "5SW": "Discovery",
        "5YK": "Soldier",
        "6MW": "Lunatic",
        "6SY": "Penitent",
        "6LK": "Market",
        "7ML": "Chance Meeting",
        "7SK": "Castle",
        "7WY": "Cave",
        "8MS": "Diplomat",
        "8WL": "Mill",
        "8YK": "Betrayal",
        "9MS": "Pact",
        "9WY": "Darkness",
        "9LK": "Merchant",
        "CM": "Huntress",
        "CS": "Bard",
        "CW": "Sea",
        "CL": "End",
        "CY": "Calamity",
        "CK": "Windfall",
    }
)
PAWN_NAMES = MappingProxyType(
    {"PMSL": "Harvest", "PMYK": "Watchman", "PSWK": "Light Keeper", "PWLY": "Borderland"}
)
COURT_NAMES = MappingProxyType(
    {"TMWK": "Consul", "TMLY": "Rite", "TSWY": "Island", "TSLK": "Window"}
)

BASIC = tuple(BASIC_NAMES)
PAWNS = tuple(PAWN_NAMES)
COURTS = tuple(COURT_NAMES)
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
