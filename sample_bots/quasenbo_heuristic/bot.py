"""Play Quäsenbö by weighing each action: short, stateless, and the same every time.

An action is good when it costs no quäsenbö, gets rid of a card that seldom fits, leaves cards that
fit on many others, and gives the next seat little to play.
"""

from functools import cached_property

from referee.games import Game, parse_ruleset
from referee.games.decktet import EXCUSE, rank_of, suits_of
from referee.games.quasenbo_core import card_of_action, shown_suits
from referee.sdk import Bot, Turn, Welcome, run

# What things are worth, in cards.
WIN = 100.0
STIFFNESS = 2.0
"""Of getting rid of a card that fits on nothing, against one that fits on everything."""
FOLLOW_UP = 1.0
"""Of having all of the remaining hand fit on the card played, against none of it."""
BLOCK = 2.0
"""Of the next seat being unable to play without drawing or a quäsenbö."""


class Rules:
    """Hold what the bot needs to know of a ruleset."""

    def __init__(self, game: Game) -> None:
        self.deck = frozenset(game.deck)
        self.double = "double=yes" in game.ruleset
        self._wild_ranks = set() if game.name == "quasenbo-magnus" else {"7"}
        self._fits = {(card, top): self._fit(card, top) for card in self.deck for top in self.deck}
        self.flexibility = {
            card: sum(self._fits[card, top] for top in self.deck) / len(self.deck)
            for card in self.deck
        }

    def fits(self, card: str, top: str) -> bool:
        """Return whether a card may be played on what lies on top, ``EX:W`` included."""
        if top in self.deck:
            return self._fits[card, top]
        return card == EXCUSE or self._is_wild(card) or shown_suits(top) in suits_of(card)

    def _fit(self, card: str, top: str) -> bool:
        if EXCUSE in {card, top} or self._is_wild(card):
            return True
        return rank_of(card) == rank_of(top) or bool(set(suits_of(card)) & set(suits_of(top)))

    def _is_wild(self, card: str) -> bool:
        return rank_of(card) in self._wild_ranks


class Position:
    """Evaluate one turn for the seat that is to act."""

    def __init__(self, turn: Turn, rules: Rules) -> None:
        seen = turn.observation
        self.rules = rules
        self.hand = frozenset(seen.hand)
        self.pile = seen.pile
        self.next_hand_size = seen.hand_sizes[(turn.seat + 1) % turn.seats]

    @cached_property
    def unseen(self) -> frozenset[str]:
        """The cards that the others hold, or that lie in the deck."""
        return self.rules.deck - self.hand - {card_of_action(card) for card in self.pile}

    def value(self, action: str) -> float:
        """Return how good an action is, in cards."""
        card = card_of_action(action)
        rest = self.hand - {card}
        penalty = self._penalty(action)
        if not rest and not penalty:
            return WIN
        stiff = 1 - self.rules.flexibility[card]
        follow_up = sum(self.rules.fits(other, action) for other in rest) / (len(rest) or 1)
        return (
            -penalty
            + STIFFNESS * stiff
            + FOLLOW_UP * follow_up
            + BLOCK * self._chance_to_block(action)
        )

    def _penalty(self, action: str) -> int:
        """Return how many cards an action costs: a third of one suit is a quäsenbö."""
        run = 0
        common = set(shown_suits(action))
        for below in self.pile:
            common &= set(shown_suits(below))
            if not common:
                break
            run += 1
        if run < 2:
            return 0
        return run - 1 if self.rules.double else 1

    def _chance_to_block(self, action: str) -> float:
        """Return the chance that no card of the next seat fits without a quäsenbö."""
        running = set(shown_suits(action)) & set(shown_suits(self.pile[0]))
        safe = sum(
            self.rules.fits(card, action) and running.isdisjoint(suits_of(card))
            for card in self.unseen
        )
        return float((1 - safe / (len(self.unseen) or 1)) ** self.next_hand_size)


class QuasenboHeuristic(Bot):
    def prepare(self, welcome: Welcome) -> None:
        self.rules = Rules(parse_ruleset(welcome.ruleset))

    def act(self, turn: Turn) -> str:
        return max(turn.legal_actions, key=Position(turn, self.rules).value)


if __name__ == "__main__":
    run(QuasenboHeuristic())
