"""Play Pesë Katësh: an Albanian trick-taking game of four seats, played in floors of four deals.

The rules are those of the Spanish text "Pesë Katësh - Reglas"; section numbers are its own. A floor
has four deals with fixed tasks (section 2): tricks, +2 each; hearts, -2 each; queens, -4 each; the
king of spades, -16. 52 cards, ace high, no trumps; suit must be followed, and a seat that cannot
may discard anything; the highest card of the suit led wins (section 5). The most points after all
deals win (section 4). Section 8 gives the options: five, three or one floor, and teams.

Where the text is silent or contradicts itself, these rulings hold; each is a test:

P1  The scoring table (sections 2, 6 and 10) rules: +26, -26, -16 and -16 a deal, so -32 a floor;
    asserted after every deal. The "in total zero" of section 6 contradicts it.
P2  A deal "ends at once": the trick in which the last penalty card falls is played out and taken.
    The example of section 5 plays the 9 of diamonds after the king fell.
P3  The tricks deal has no penalty cards: always 13 tricks.
P4  Clockwise is ascending seats; the numbers in the text's example are labels.
P5  Deal k (from 0) is dealt by seat k mod 4 and led by seat (k + 1) mod 4, on through all floors;
    13 cards each, one at a time, starting with the leader.
P6  The winner of a trick leads the next.
P7  Any card may be led, and any card discarded by a seat that cannot follow.
P8  The queen of hearts and the king of spades count only in their own deal: one task a deal.
P9  Teams are seats 0 and 2 against 1 and 3: play is unchanged, the scores are summed.
P10 All deals are played, even when the game is decided; equal totals share the place.
P11 Cards left when a deal ends early count nothing and are never shown to another seat.
P12 Every seat sees the whole public history of play: any bot could have recorded it.

Notation: rank, then suit: ``AS``, ``TH``, ``2C``; an action is a card of the hand. Public events:
``deal NUMBER KIND LEADER``, ``play SEAT CARD``, ``trick WINNER``, and at the end of a deal
``score P0 P1 P2 P3``, the points of that deal by seat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from referee.errors import IllegalActionError, InvalidActionError
from referee.games.base import Game, GameInfo, Option, State
from referee.games.pese_katesh_core import (
    BIT_OF,
    DECK,
    RANKS,
    SEATS,
    STRENGTH_OF,
    SUIT_OF,
    SUITS,
    TASKS,
    Task,
    dealt,
    follow_texts,
    hand_texts,
    leader_of,
    play_out_deal,
)
from referee.outcome import Outcome, places_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from referee.games.base import Board

INFO = GameInfo(
    name="pese-katesh",
    title="Pesë Katësh",
    summary="Take tricks in the first deal of each floor; in the other three avoid hearts, queens "
    "and the king of spades.",
    seats="4",
    options=(
        Option(
            name="floors",
            values=("5", "3", "1"),
            default="5",
            meaning="How many floors of four deals a game has.",
        ),
        Option(
            name="teams",
            values=("no", "yes"),
            default="no",
            meaning="Whether seats 0 and 2 add up their scores against seats 1 and 3.",
        ),
    ),
)
_EVENTS_OF_TRICK = SEATS + 1
_DECK_INDEX = {card: index for index, card in enumerate(DECK)}


def build(options: Mapping[str, str]) -> PeseKatesh:
    """Return the game for a valid value of every option of `INFO`."""
    return PeseKatesh(
        ruleset=INFO.canonical_ruleset(options),
        floors=int(options["floors"]),
        teams=options["teams"] == "yes",
    )


@dataclass(frozen=True, slots=True)
class PeseKateshObservation:
    """Hold all that a seat may see; ``played`` and ``leaders`` tell who played what in this deal.

    Attributes:
        hand: the seat's cards, in the deck's order.
        trick: the cards of the trick so far, in the order of play.
        leader: the seat that led the trick, or is to lead it.
        deal_kind: the deal's task: ``tricks``, ``hearts``, ``queens`` or ``king``.
        deal: the deal's number, from 0.
        deals: how many deals the game has.
        tricks_taken: in this deal, by seat.
        scores: points before this deal, by seat.
        deal_scores: points of this deal so far, by seat.
        played: every card played in this deal, in order, those of the trick included.
        leaders: the leader of each trick of this deal, the present one included: card j of trick i
            was played by seat ``(leaders[i] + j) % 4``.
    """

    hand: tuple[str, ...]
    trick: tuple[str, ...]
    leader: int
    deal_kind: str
    deal: int
    deals: int
    tricks_taken: tuple[int, ...]
    scores: tuple[int, ...]
    deal_scores: tuple[int, ...]
    played: tuple[str, ...]
    leaders: tuple[int, ...]


class PeseKatesh(Game):
    """Play Pesë Katësh with its options; ``deals`` is the number of deals of a game."""

    def __init__(self, *, ruleset: str, floors: int, teams: bool) -> None:
        self.name = INFO.name
        self.ruleset = ruleset
        self.seats = SEATS
        self.deck = DECK
        self.seat_entrants = (0, 1, 0, 1) if teams else (0, 1, 2, 3)
        self.deals = len(TASKS) * floors

    def start(self, board: Board) -> PeseKateshState:
        """Return the first state: deal 0 dealt, seat 1 to lead."""
        return PeseKateshState(_Deal(self, board, 0, (0,) * SEATS, None), ply=0)

    def playout(self, board: Board, choose: Random) -> tuple[int, Outcome]:
        actions = 0
        scores = [0] * SEATS
        for number in range(self.deals):
            task = TASKS[number % len(TASKS)]
            leader = leader_of(number)
            hands = dealt(board.deal(number), leader)
            cards, points = play_out_deal(hands, leader, task, choose.random)
            _assert_total(points, task)
            actions += cards
            scores = [score + gain for score, gain in zip(scores, points, strict=True)]
        return actions, self.outcome_of(scores)

    def outcome_of(self, scores: Sequence[int]) -> Outcome:
        """Return the outcome for final scores by seat; partners share their entrant's place."""
        totals = [0] * self.entrants
        for seat, score in enumerate(scores):
            totals[self.seat_entrants[seat]] += score
        places = places_of(totals)
        return Outcome(
            points=tuple(scores), places=tuple(places[entrant] for entrant in self.seat_entrants)
        )


def _assert_total(points: Sequence[int], task: Task) -> None:
    assert sum(points) == task.total, (points, task.kind)  # P1


class _Deal:
    """Hold what the states of one deal share.

    Attributes:
        game: the game being played.
        board: where the deals come from.
        number: from 0.
        scores: points before this deal, by seat.
        before: the last state of the deal before, which knows its events; None for the first.
        task: what counts in this deal.
        first_event: how many events there were before this deal.
    """

    __slots__ = ("before", "board", "first_event", "game", "number", "scores", "task")

    def __init__(
        self,
        game: PeseKatesh,
        board: Board,
        number: int,
        scores: tuple[int, ...],
        before: PeseKateshState | None,
    ) -> None:
        self.game = game
        self.board = board
        self.number = number
        self.scores = scores
        self.before = before
        self.task = TASKS[number % len(TASKS)]
        self.first_event = 0 if before is None else before.event_count


class PeseKateshState(State):
    """Hold a position in a game of Pesë Katësh, as a value. Made by `PeseKatesh.start` and `apply`.

    Two states are equal when they have the same game, board and actions.
    """

    # Everything public of a deal follows from the cards played and the leaders of its tricks;
    # `_leaders` has one seat for every trick and, from the last card of a trick on, its winner.
    # `_led` is the mask of the suit to follow, 0 before a lead; `_left` counts the tricks or
    # penalty cards still to be taken. `_hands` is a list for speed; no state changes it.
    __slots__ = (
        "_deal",
        "_hands",
        "_leaders",
        "_led",
        "_left",
        "_played",
        "_ply",
        "_points",
        "_seat",
    )

    def __init__(self, deal: _Deal, *, ply: int) -> None:
        leader = leader_of(deal.number)
        self._deal = deal
        self._hands = dealt(deal.board.deal(deal.number), leader)
        self._leaders: tuple[int, ...] = (leader,)
        self._led = 0
        self._left = deal.task.count
        self._played: tuple[str, ...] = ()
        self._ply = ply
        self._points: tuple[int, ...] = (0,) * SEATS
        self._seat: int | None = leader

    @property
    def game(self) -> PeseKatesh:
        return self._deal.game

    @property
    def seat_to_act(self) -> int | None:
        return self._seat

    @property
    def ply(self) -> int:
        return self._ply

    def legal_actions(self) -> tuple[str, ...]:
        if self._seat is None:
            return ()
        hand = self._hands[self._seat]
        # Suit must be followed.
        follow = hand & self._led
        if follow:
            return follow_texts(follow)
        # A lead, or a discard of a seat that cannot follow: anything (P7).
        return hand_texts(hand)

    def apply(self, text: str) -> PeseKateshState:
        bit = BIT_OF.get(text)
        if bit is None:
            raise InvalidActionError(
                f"{text!r} is no card; an action is a rank ({', '.join(RANKS)}) and a suit "
                f"({', '.join(SUITS)}), such as AS"
            )
        seat = self._seat
        if seat is None:
            raise IllegalActionError(f"{text} cannot be played: the game is over")
        hand = self._hands[seat]
        if not bit & (hand & self._led or hand):
            why = "must follow suit" if bit & hand else "does not hold it"
            raise IllegalActionError(
                f"{text} is not legal: seat {seat} {why}; "
                f"it can play {', '.join(self.legal_actions())}"
            )
        return self._after(seat, text, bit)

    def _after(self, seat: int, text: str, bit: int) -> PeseKateshState:
        after = object.__new__(PeseKateshState)
        after._deal = self._deal
        after._ply = self._ply + 1
        hands = self._hands.copy()
        hands[seat] ^= bit
        after._hands = hands
        played = (*self._played, text)
        after._played = played
        after._points = self._points
        after._left = self._left
        if len(played) % SEATS:
            after._seat = (seat + 1) % SEATS
            after._led = self._led or SUIT_OF[text]
            after._leaders = self._leaders
            return after
        return after._with_trick_taken(self._leaders)

    def _with_trick_taken(self, leaders: tuple[int, ...]) -> PeseKateshState:
        """Complete this new state, whose last card completed a trick; return the one to act in."""
        task = self._deal.task
        trick = self._played[-SEATS:]
        strengths = [*map(STRENGTH_OF[trick[0][1]].__getitem__, trick)]
        winner = (leaders[-1] + strengths.index(max(strengths))) % SEATS
        self._leaders = (*leaders, winner)
        self._led = 0
        self._seat = winner
        taken = len(task.penalties.intersection(trick)) if task.penalties else 1
        if taken:
            points = list(self._points)
            points[winner] += taken * task.points
            self._points = tuple(points)
            self._left -= taken
            if not self._left:
                return self._with_deal_ended()
        return self

    def _with_deal_ended(self) -> PeseKateshState:
        """Close this new state, the last of its deal; return the next deal's first, or itself."""
        deal = self._deal
        _assert_total(self._points, deal.task)
        self._seat = None
        number = deal.number + 1
        if number == deal.game.deals:
            return self
        return PeseKateshState(
            _Deal(deal.game, deal.board, number, self._scores(), self), ply=self._ply
        )

    def _scores(self) -> tuple[int, ...]:
        pairs = zip(self._deal.scores, self._points, strict=True)
        return tuple(score + points for score, points in pairs)

    def hand(self, seat: int) -> tuple[str, ...]:
        return tuple(sorted(hand_texts(self._hands[seat]), key=_DECK_INDEX.__getitem__))

    def observe(self, seat: int) -> PeseKateshObservation:
        deal = self._deal
        leaders = self._leaders
        winners = leaders[1:]
        return PeseKateshObservation(
            hand=self.hand(seat),
            trick=self._played[SEATS * len(winners) :],
            leader=leaders[-1],
            deal_kind=deal.task.kind,
            deal=deal.number,
            deals=deal.game.deals,
            tricks_taken=(winners.count(0), winners.count(1), winners.count(2), winners.count(3)),
            scores=deal.scores,
            deal_scores=self._points,
            played=self._played,
            leaders=leaders,
        )

    def zones(self) -> dict[str, tuple[str, ...]]:
        """Return where every card of this deal lies.

        ``taken N`` are the cards of the tricks that seat N took; ``trick`` is the trick so far.
        """
        zones = {f"hand {seat}": self.hand(seat) for seat in range(SEATS)}
        taken: list[tuple[str, ...]] = [()] * SEATS
        for trick, winner in enumerate(self._leaders[1:]):
            taken[winner] += self._played[SEATS * trick : SEATS * (trick + 1)]
        zones.update((f"taken {seat}", cards) for seat, cards in enumerate(taken))
        zones["trick"] = self._played[SEATS * (len(self._leaders) - 1) :]
        return zones

    def outcome(self) -> Outcome | None:
        return self._deal.game.outcome_of(self._scores()) if self._seat is None else None

    @property
    def event_count(self) -> int:
        return self._deal.first_event + self._deal_event_count()

    @property
    def events(self) -> tuple[str, ...]:
        return self.events_since(0)

    def events_since(self, count: int) -> tuple[str, ...]:
        first = self._deal.first_event
        indices = range(max(count - first, 0), self._deal_event_count())
        events = tuple(self._deal_event(index) for index in indices)
        before = self._deal.before
        return events if before is None or count >= first else before.events_since(count) + events

    def _deal_event_count(self) -> int:
        # The deal, a play for every card, a trick for every winner, at the end the score.
        return len(self._played) + len(self._leaders) + (not self._left)

    def _deal_event(self, index: int) -> str:
        deal = self._deal
        if not index:
            return f"deal {deal.number} {deal.task.kind} {self._leaders[0]}"
        trick, turn = divmod(index - 1, _EVENTS_OF_TRICK)
        if turn == SEATS:
            return f"trick {self._leaders[trick + 1]}"
        card = SEATS * trick + turn
        if card == len(self._played):
            return "score " + " ".join(map(str, self._points))
        return f"play {(self._leaders[trick] + turn) % SEATS} {self._played[card]}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PeseKateshState):
            return NotImplemented
        return (
            self._ply == other._ply
            and self._deal.game == other._deal.game
            and self._deal.board == other._deal.board
            and self._played == other._played
            and self._deal.before == other._deal.before
        )

    def __hash__(self) -> int:
        return hash((self._deal.game, self._deal.board, self._ply, self._played))

    def __repr__(self) -> str:
        return f"<PeseKateshState {self.game.ruleset} ply {self._ply} seat {self._seat}>"
