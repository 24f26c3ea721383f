"""Play Quäsenbö by search: deals the hidden cards at random, again and again, and plays on.

Each world that agrees with what was seen is played to its end once for every action that is still
in the race; the action that beats most others wins it. The worlds are `QuasenboCore`, the engine
on integers, so that a world takes some fifty microseconds an action.
"""

import time
from collections.abc import Sequence
from datetime import timedelta
from functools import reduce
from operator import and_
from random import Random

from referee.games import Board, parse_ruleset
from referee.games.quasenbo import QuasenboGame
from referee.games.quasenbo_core import QuasenboCore, QuasenboRules
from referee.sdk import Bot, GameEnd, GameStart, Turn, Welcome, run

BANK_SHARE = 0.02
"""How much of the bank one turn may take."""
INCREMENT_SHARE = 0.5
"""How much of the increment one turn may take."""
MOST_SECONDS = 0.05
"""What no turn exceeds."""
LEAST_WORLDS = 3
"""Worlds that are played before actions leave the race, even when time is short."""


class QuickBoard(Board):
    """Shuffle with a fast generator."""

    def __init__(self, random: Random) -> None:
        super().__init__(deck=(), seed=b"")
        self._random = random

    def recycle(self, number: int, cards: Sequence[int]) -> tuple[int, ...]:
        del number
        return tuple(self._random.sample(cards, len(cards)))


class Memory:
    """Infer the other hands from the events of one game: who draws holds nothing that fits.

    Attributes:
        excluded: by seat, the bits of actions that the seat cannot hold.
    """

    def __init__(self, rules: QuasenboRules) -> None:
        self.rules = rules
        self.code_of = {text: code for code, text in enumerate((*rules.actions, "EX"))}
        self.excluded = [0] * rules.seats
        self._top = 0

    def hear(self, events: Sequence[str]) -> None:
        """Take in the events since the last turn."""
        for event in events:
            kind, *facts = event.split()
            if kind == "start":
                self._top = self.code_of[facts[0]]
            elif kind == "play":
                self._top = self.code_of[facts[1]]
            elif kind in {"draw", "pass"}:
                # All cards that were drawn before one fitted did not fit; that one is played.
                self.excluded[int(facts[0])] = self.rules.match[self._top]
            elif kind == "penalty":
                self.excluded[int(facts[0])] = 0


class Worlds:
    """Deal worlds that agree with one turn."""

    def __init__(self, turn: Turn, memory: Memory) -> None:
        seen = turn.observation
        rules = memory.rules
        bits = dict(zip(rules.deck, rules.card_bits, strict=True))
        pile = [memory.code_of[card] for card in seen.pile]
        gone = {rules.card_of[code] for code in pile} | {rules.deck.index(c) for c in seen.hand}
        self._unseen = [index for index in range(len(rules.deck)) if index not in gone]
        self._sizes = seen.hand_sizes
        self._excluded = memory.excluded
        self._random = turn.rng
        self._seat = turn.seat
        hands = [0] * turn.seats
        hands[turn.seat] = sum(bits[card] for card in seen.hand)
        self._core = QuasenboCore.resume(
            rules,
            QuickBoard(turn.rng),
            hands=hands,
            pile=pile,
            deck=(),
            seat=turn.seat,
            plays=turn.ply,
        )

    def deal(self) -> QuasenboCore:
        """Return a position in which the hidden cards lie at random."""
        core = self._core.copy()
        card_bits = core.rules.card_bits
        cards = self._unseen.copy()
        self._random.shuffle(cards)
        for seat, size in enumerate(self._sizes):
            if seat != self._seat:
                excluded = self._excluded[seat]
                # Where too few cards agree, the memory is at fault: any will do.
                cards.sort(key=lambda card: card_bits[card] & excluded != 0)
                core.hands[seat] = sum(card_bits[card] for card in cards[:size])
                del cards[:size]
        self._random.shuffle(cards)
        core.deck = tuple(cards)
        return core


class Search:
    """Find the best action of a turn within its share of the time."""

    def __init__(self, rules: QuasenboRules) -> None:
        self._rules = rules
        codes = range(len(rules.actions))
        # By suits that would run: the actions that do not commit a quäsenbö.
        self._safe = [
            sum(1 << code for code in codes if not rules.suits[code] & running)
            for running in range(64)
        ]
        self._single = sum(1 << code for code in codes if rules.suits[code].bit_count() == 1)
        # The actions that do not fit on everything.
        self._tame = ~reduce(and_, rules.match)

    def best(self, codes: list[int], worlds: Worlds, seconds: float) -> int:
        """Return the code of the action that does best; half of them leave the race at a time."""
        scores = dict.fromkeys(codes, 0.0)
        laps = (len(codes) - 1).bit_length()
        deadline = time.perf_counter()
        for _ in range(laps):
            deadline += seconds / laps
            count = 0
            while count < LEAST_WORLDS or time.perf_counter() < deadline:
                count += 1
                world = worlds.deal()
                for code in scores:
                    core = world.copy()
                    core.apply(code)
                    scores[code] += self._play_out(core, world.seat)
            ranked = sorted(scores, key=scores.__getitem__, reverse=True)
            scores = {code: scores[code] for code in ranked[: (len(ranked) + 1) // 2]}
        return max(scores, key=scores.__getitem__)

    def _play_out(self, core: QuasenboCore, seat: int) -> float:
        """Play to the end; return how the seat fares, 0 to 1.

        All seats avoid a quäsenbö, keep what fits everywhere, and get rid of single suits first.
        Without chance in it, two actions in one world differ by their own merit.
        """
        preferences = (self._tame, self._single)
        safe = self._safe
        while legal := core.legal:
            legal = legal & safe[core.pair_suits] or legal
            for preferred in preferences:
                legal = legal & preferred or legal
            core.apply((legal & -legal).bit_length() - 1)
        left = [self._rules.cards_in(hand) for hand in core.hands]
        beaten = sum(cards > left[seat] for cards in left)
        return beaten / (len(left) - 1) - 0.01 * left[seat]


class QuasenboSearch(Bot):
    def prepare(self, welcome: Welcome) -> None:
        game = parse_ruleset(welcome.ruleset)
        assert isinstance(game, QuasenboGame)
        self.rules = game.rules
        self.search = Search(game.rules)
        self.memories: dict[int, Memory] = {}

    def game_started(self, start: GameStart) -> None:
        self.memories[start.game] = Memory(self.rules)

    def act(self, turn: Turn) -> str:
        memory = self.memories[turn.game]
        memory.hear(turn.events)
        codes = [memory.code_of[action] for action in turn.legal_actions]
        seconds = seconds_for(turn.time_left, turn.increment)
        best = self.search.best(codes, Worlds(turn, memory), seconds)
        return self.rules.actions[best]

    def game_over(self, end: GameEnd) -> None:
        del self.memories[end.game]


def seconds_for(left: timedelta, increment: timedelta) -> float:
    """Return how long a turn may be thought about: the bank never runs out."""
    share = BANK_SHARE * left + INCREMENT_SHARE * increment
    return min(MOST_SECONDS, share.total_seconds())


if __name__ == "__main__":
    run(QuasenboSearch())
