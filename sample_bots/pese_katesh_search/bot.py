"""Play Pesë Katësh by search: deals the hidden cards at random, again and again, and plays on.

Each world that agrees with what was seen, with the suits of which a seat showed out above all, is
played to the end of the deal once for every card that is still in the race; the card that brings
most points wins it. Deals do not depend on each other, so that nothing beyond this one matters.

A card is its number in the deck, by suit and then by rank, and a hand is a bit mask of them: the
lowest card of a suit is the lowest bit of its part, the highest one the highest.
"""

import time
from collections.abc import Sequence
from datetime import timedelta
from random import Random

from referee.games.pese_katesh import PeseKateshObservation
from referee.games.pese_katesh_core import DECK, RANKS, SEATS, SUITS, TASKS, Task
from referee.sdk import Bot, Turn, run

BANK_SHARE = 0.003
"""How much of the bank one turn may take; two hundred turns leave half, for a busy machine."""
INCREMENT_SHARE = 0.5
"""How much of the increment one turn may take."""
MOST_SECONDS = 0.03
"""What no turn exceeds."""
LEAST_WORLDS = 3
"""Worlds that are played before cards leave the race, even when time is short."""
BOLD = 0.6
"""How often whoever can take a trick of the tricks deal before the last seat tries to."""

LENGTH = len(RANKS)
INDEX = {card: index for index, card in enumerate(DECK)}
SUIT_MASKS = [((1 << LENGTH) - 1) << LENGTH * suit for suit in range(len(SUITS))]


def mask_of(cards: Sequence[str]) -> int:
    """Return the mask of some cards."""
    return sum(1 << INDEX[card] for card in cards)


class Worlds:
    """Deal the hidden cards of one turn."""

    def __init__(self, seen: PeseKateshObservation, seat: int, random: Random) -> None:
        self._seat = seat
        self._hand = mask_of(seen.hand)
        self._random = random
        gone = {*seen.hand, *seen.played}
        self._unseen = [1 << index for card, index in INDEX.items() if card not in gone]
        played_already = [(seen.leader + turn) % SEATS for turn in range(len(seen.trick))]
        # By seat, where its cards lie among the unseen ones once they are shuffled.
        self._parts: list[slice] = []
        # By place among the unseen cards: those that cannot lie there.
        self._banned: list[int] = []
        voids = voids_of(seen)
        for other in range(SEATS):
            size = 0 if other == seat else len(seen.hand) - (other in played_already)
            self._parts.append(slice(len(self._banned), len(self._banned) + size))
            self._banned += [voids[other]] * size

    def deal(self) -> list[int]:
        """Return hands by seat that agree with what was seen."""
        cards = self._random.sample(self._unseen, len(self._unseen))
        for place, ban in enumerate(self._banned):
            if cards[place] & ban:
                self._change(cards, place)
        hands = [sum(cards[part]) for part in self._parts]
        hands[self._seat] = self._hand
        return hands

    def _change(self, cards: list[int], place: int) -> None:
        """Change the card at a place for another one, where both may lie."""
        card, ban = cards[place], self._banned[place]
        for other in self._random.sample(range(len(cards)), len(cards)):
            if not (cards[other] & ban or card & self._banned[other]):
                cards[place], cards[other] = cards[other], card
                return


def voids_of(seen: PeseKateshObservation) -> list[int]:
    """Return, by seat, the mask of the suits of which it showed out."""
    voids = [0] * SEATS
    for place, card in enumerate(seen.played):
        trick, turn = divmod(place, SEATS)
        led = seen.played[trick * SEATS][1]
        if card[1] != led:
            voids[(seen.leaders[trick] + turn) % SEATS] |= SUIT_MASKS[SUITS.index(led)]
    return voids


class Rollouts:
    """Play the rest of a deal fast, sensibly, and never twice the same."""

    def __init__(self, task: Task, random: Random) -> None:
        self._task = task
        self._penalties = mask_of([*task.penalties])
        # What takes an unwelcome card: aces and kings over queens, the ace over the king.
        ranks = {"queens": "KA", "king": "A"}.get(task.kind, "")
        suits = {"king": "S"}.get(task.kind, SUITS)
        self._feared = mask_of([rank + suit for rank in ranks for suit in suits])
        self._draw = random.random

    def finish(self, hands: list[int], trick: list[int], leader: int, left: int) -> list[int]:
        """Play to the end of the deal.

        Args:
            hands: by seat; played from.
            trick: the cards of the trick so far.
            leader: who led it, or is to lead.
            left: how many tricks or penalties are still to be taken.

        Returns:
            The points by seat that were still to be had.
        """
        taken = [0] * SEATS
        penalties = self._penalties
        choose = self._avoid if penalties else self._take
        while left:
            led = best = -1
            winner = leader
            fallen = 0
            for turn in range(SEATS):
                seat = (leader + turn) % SEATS
                if turn < len(trick):
                    card = trick[turn]
                else:
                    card = choose(hands[seat], led, best, free=turn == SEATS - 1 and not fallen)
                    hands[seat] ^= 1 << card
                if led < 0:
                    led = card // LENGTH
                if card // LENGTH == led and card > best:
                    best = card
                    winner = seat
                fallen += penalties >> card & 1
            count = fallen if penalties else 1
            taken[winner] += count
            left -= count
            leader = winner
            trick = []
        return [count * self._task.points for count in taken]

    def _avoid(self, hand: int, led: int, best: int, *, free: bool) -> int:
        """Duck, dump, lead low; a trick that is ``free`` of penalties is taken with a high card."""
        if led < 0:
            return _lowest(self._some_suit(hand))
        follow = hand & SUIT_MASKS[led]
        if not follow:
            return _highest(hand & self._penalties or hand & self._feared or self._some_suit(hand))
        below = follow & ((1 << best) - 1)
        if free:
            return _highest(follow & ~self._penalties or below or follow)
        return _highest(below) if below else _lowest(follow)

    def _take(self, hand: int, led: int, best: int, *, free: bool) -> int:
        """Take with the cheapest card as the last seat, ``free``; with the highest before it."""
        if led < 0:
            suit = self._some_suit(hand)
            return _highest(suit) if self._draw() < BOLD else _lowest(suit)
        follow = hand & SUIT_MASKS[led]
        above = follow >> best + 1 << best + 1
        if above and free:
            return _lowest(above)
        if above and self._draw() < BOLD:
            return _highest(above)
        return _lowest(follow or self._some_suit(hand))

    def _some_suit(self, hand: int) -> int:
        """Return the cards of a suit that the hand has."""
        suit = int(self._draw() * len(SUITS))
        while not hand & SUIT_MASKS[suit]:
            suit = (suit + 1) % len(SUITS)
        return hand & SUIT_MASKS[suit]


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _highest(mask: int) -> int:
    return mask.bit_length() - 1


class PeseKateshSearch(Bot):
    def act(self, turn: Turn) -> str:
        seen = turn.observation
        task = next(task for task in TASKS if task.kind == seen.deal_kind)
        left = task.count - sum(seen.deal_scores) // task.points
        trick = [INDEX[card] for card in seen.trick]
        side = {turn.seat, (turn.seat + 2) % SEATS} if "teams=yes" in turn.ruleset else {turn.seat}
        worlds = Worlds(seen, turn.seat, turn.rng)
        rollouts = Rollouts(task, turn.rng)

        def points(hands: list[int], card: int) -> int:
            hands = hands.copy()
            hands[turn.seat] ^= 1 << card
            gains = rollouts.finish(hands, [*trick, card], seen.leader, left)
            return sum(gains[seat] for seat in side)

        # Half of the cards leave the race after each lap.
        scores = dict.fromkeys([INDEX[card] for card in turn.legal_actions], 0)
        laps = (len(scores) - 1).bit_length()
        seconds = seconds_for(turn.time_left, turn.increment)
        deadline = time.perf_counter()
        for _ in range(laps):
            deadline += seconds / laps
            count = 0
            while count < LEAST_WORLDS or time.perf_counter() < deadline:
                count += 1
                hands = worlds.deal()
                for card in scores:
                    scores[card] += points(hands, card)
            ranked = sorted(scores, key=scores.__getitem__, reverse=True)
            scores = {card: scores[card] for card in ranked[: (len(ranked) + 1) // 2]}
        return DECK[max(scores, key=scores.__getitem__)]


def seconds_for(left: timedelta, increment: timedelta) -> float:
    """Return how long a turn may be thought about: the bank never runs out."""
    share = BANK_SHARE * left + INCREMENT_SHARE * increment
    return min(MOST_SECONDS, share.total_seconds())


if __name__ == "__main__":
    run(PeseKateshSearch())
