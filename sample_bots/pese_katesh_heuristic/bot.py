"""Play Pesë Katësh by weighing each card: what the trick will bring, and what is kept in hand.

Each kind of deal is a policy of its own. All share one view of the turn, which knows who showed
out of which suit and guesses the rest. Stateless, and the same every time.
"""

# ruff: noqa: ARG002 -- not every policy looks at all that it is told

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from math import prod

from referee.games.pese_katesh_core import DECK, RANKS, SEATS, SUITS, TASKS
from referee.sdk import Bot, Turn, run

TASK_OF = {task.kind: task for task in TASKS}
RANK_OF = {card: RANKS.index(card[0]) for card in DECK}


class View:
    """Hold what a seat knows of the cards.

    Attributes:
        later: the seats that play after this one in the trick.
        partner: the seat whose points count like one's own; None without teams.
    """

    def __init__(self, turn: Turn) -> None:
        seen = turn.observation
        self.seat = turn.seat
        self.hand = seen.hand
        self.trick = seen.trick
        self.leader = seen.leader
        self.led = seen.trick[0][1] if seen.trick else ""
        self.later = [(turn.seat + i) % SEATS for i in range(1, SEATS - len(seen.trick))]
        self.partner = (turn.seat + 2) % SEATS if "teams=yes" in turn.ruleset else None
        gone = {*seen.hand, *seen.played}
        self.unseen = {s: [c for c in DECK if c[1] == s and c not in gone] for s in SUITS}
        self.hidden = sum(map(len, self.unseen.values()))
        self._played = seen.played
        self._leaders = seen.leaders

    @cached_property
    def voids(self) -> set[tuple[int, str]]:
        """The seats that did not follow a suit, with that suit."""
        found = set()
        for place, card in enumerate(self._played):
            trick, turn = divmod(place, SEATS)
            led = self._played[trick * SEATS][1]
            if card[1] != led:
                found.add(((self._leaders[trick] + turn) % SEATS, led))
        return found

    @cached_property
    def winning(self) -> tuple[int, int]:
        """The rank and the seat that win the trick so far; -1 and the leader before a lead."""
        ranks = [RANK_OF[card] if card[1] == self.led else -1 for card in self.trick] or [-1]
        return max(ranks), (self.leader + ranks.index(max(ranks))) % SEATS

    def around(self, card: str) -> tuple[int, int]:
        """Return how many unseen cards of the suit are lower and higher."""
        lower = sum(RANK_OF[other] < RANK_OF[card] for other in self.unseen[card[1]])
        return lower, len(self.unseen[card[1]]) - lower

    def chance_void(self, seat: int, suit: str) -> float:
        """Return the chance that a seat has no card of a suit."""
        if (seat, suit) in self.voids or not self.unseen[suit]:
            return 1.0
        return (1 - len(self.unseen[suit]) / self.hidden) ** len(self.hand)


class Policy(ABC):
    """Play one kind of deal; values are points for this seat, more is better."""

    def __init__(self, view: View, kind: str) -> None:
        self.view = view
        self.task = TASK_OF[kind]

    def value(self, card: str) -> float:
        """Return how good it is to play a card."""
        rest = [other for other in self.view.hand if other != card]
        return self._chance_ours(card) * self.trick_value(card) + self.hand_value(rest)

    @abstractmethod
    def trick_value(self, card: str) -> float:
        """Return what the trick will bring to its taker."""

    @abstractmethod
    def hand_value(self, hand: list[str]) -> float:
        """Return what a hand will bring in later tricks."""

    @abstractmethod
    def chance_over(self, seat: int, card: str) -> float:
        """Return the chance that a seat to come plays over a card."""

    def _chance_ours(self, card: str) -> float:
        """Return the chance that the trick falls to this seat or its partner."""
        view = self.view
        rank, holder = view.winning
        best = RANKS[rank] + view.led
        if card[1] == (view.led or card[1]) and RANK_OF[card] > rank:
            holder, best = view.seat, card
        if holder not in {view.seat, view.partner}:
            return 0.0
        rivals = [seat for seat in view.later if seat != view.partner]
        return prod(1 - self.chance_over(seat, best) for seat in rivals)


class Tricks(Policy):
    """Take what is sure, do not waste what is not, play long suits."""

    def trick_value(self, card: str) -> float:
        return 2.0

    def hand_value(self, hand: list[str]) -> float:
        value = 0.0
        for card in hand:
            lower, higher = self.view.around(card)
            value += 1.2 * ((lower + 1) / (lower + higher + 1)) ** 2
        return value

    def chance_over(self, seat: int, card: str) -> float:
        """Whoever can takes."""
        _, higher = self.view.around(card)
        if (seat, card[1]) in self.view.voids or not higher:
            return 0.0
        return 1 - (1 - higher / self.view.hidden) ** len(self.view.hand)


class Avoidance(Policy):
    """Duck, dump penalties on others, get rid of what will be caught, void suits.

    The dangers of its kinds were found by play: how many penalties a card is to fear.
    """

    VOID = 0.1
    """Penalties that a void suit saves."""
    GUARD = 0.5
    """How much each lower card of the suit protects a dangerous one."""

    def trick_value(self, card: str) -> float:
        suit = self.view.led or card[1]
        lies = sum(other in self.task.penalties for other in (*self.view.trick, card))
        return self.task.points * (lies + self.followed(suit, card) + self.dumped(suit))

    @abstractmethod
    def followed(self, suit: str, card: str) -> float:
        """Return how many penalties of the suit led the seats to come will have to add."""

    @abstractmethod
    def danger(self, card: str) -> float:
        """Return how many penalties a card catches when it takes a trick."""

    def dumped(self, suit: str) -> float:
        """Return how many penalties of other suits the seats to come will discard."""
        left = sum(len(self.hunted(other)) for other in SUITS if other != suit)
        voids = sum(self.view.chance_void(seat, suit) for seat in self.view.later)
        return voids * min(1.0, left / 3)

    def hunted(self, suit: str) -> list[str]:
        """Return the penalties of a suit that nobody has shown."""
        return [card for card in self.view.unseen[suit] if card in self.task.penalties]

    def hand_value(self, hand: list[str]) -> float:
        caught = 0.0
        for suit in SUITS:
            cards = sorted((card for card in hand if card[1] == suit), key=RANK_OF.__getitem__)
            for guards, card in enumerate(cards):
                lower, higher = self.view.around(card)
                chance = lower / (lower + higher) if lower else 0.0
                caught += self.danger(card) * chance / (1 + self.GUARD * guards)
            if not cards:
                caught -= self.VOID
        return self.task.points * caught

    def chance_over(self, seat: int, card: str) -> float:
        """Who can ducks."""
        lower, higher = self.view.around(card)
        if not higher:
            return 0.0
        held = max(1.0, (lower + higher) * len(self.view.hand) / self.view.hidden)
        forced = (higher / (lower + higher)) ** held
        return float((1 - self.view.chance_void(seat, card[1])) * forced)


class Hearts(Avoidance):
    """Avoid hearts, each a penalty: low hearts are safe, high cards of every suit are not."""

    def followed(self, suit: str, card: str) -> float:
        return sum(1 - self.view.chance_void(s, suit) for s in self.view.later) * (suit == "H")

    def danger(self, card: str) -> float:
        return 1.2 if card[1] == "H" else 0.4


class HighCards(Avoidance):
    """Avoid queens, or the king of spades: lead below them, never above."""

    def followed(self, suit: str, card: str) -> float:
        return 0.6 * sum(RANK_OF[other] < RANK_OF[card] for other in self.hunted(suit))

    def danger(self, card: str) -> float:
        if card in self.task.penalties:
            return 0.8
        return 0.2 + 0.6 * sum(RANK_OF[other] < RANK_OF[card] for other in self.hunted(card[1]))


POLICIES: dict[str, Callable[[View, str], Policy]] = {
    "tricks": Tricks,
    "hearts": Hearts,
    "queens": HighCards,
    "king": HighCards,
}


class PeseKateshHeuristic(Bot):
    def act(self, turn: Turn) -> str:
        kind = turn.observation.deal_kind
        return max(turn.legal_actions, key=POLICIES[kind](View(turn), kind).value)


if __name__ == "__main__":
    run(PeseKateshHeuristic())
