"""Quäsenbö's rulings Q1 to Q19, one test each, and the scenarios that broke other engines."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import product, takewhile
from typing import TYPE_CHECKING

import pytest

from referee.errors import IllegalActionError, InvalidActionError
from referee.games import Board, parse_ruleset
from referee.games.decktet import rank_of, suits_of
from referee.games.quasenbo import QuasenboObservation, QuasenboState
from referee.games.random_streams import RandomStream, shuffled
from referee.outcome import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Iterable

    from referee.games import State


# With 18 cards in each of two hands and a start card, the deck is empty.
UNLIKE_AM = "2SY 2WL 3SK 3LY 4WL 4YK 5SW 5YK 6SY 6LK 8WL 8YK 9WY 9LK CW CL CY CK"
LIKE_AM = "2MK 3MW 4MS 5ML 6MW 7ML 8MS 9MS CM AW AL AY AK 7SK 7WY EX CS"
HALVES = (
    "2MK 3MW 4MS 5ML 6MW 7ML AS AW AL CS 2SY 3SK 4WL 5SW 6SY 8WL 9WY CW",
    "8MS 9MS CM AY AK 7SK 7WY EX 2WL 3LY 4YK 5YK 6LK 8YK 9LK CL CY CK",
)


def deal(ruleset: str, *hands: str, start: str, draws: str = "", seed: bytes = b"") -> State:
    """Return the first state of a stacked game: a hand by seat, the start card, the next cards.

    Cards that are not named fill hands given as "" and then the rest of the deck.
    """
    dealt = [hand.split() for hand in hands]
    size = max(map(len, dealt))
    comma = "," if ":" in ruleset else ":"
    game = parse_ruleset(f"{ruleset}{comma}players={len(hands)},hand={size}")
    named = {start, *draws.split(), *(card for hand in dealt for card in hand)}
    rest = [card for card in game.deck if card not in named]
    for hand in dealt:
        while len(hand) < size:
            hand.append(rest.pop(0))
    order = [hand[turn] for turn in range(size) for hand in dealt]
    text = " ".join((*order, start, *draws.split(), *rest))
    return game.start(Board.parse(game, text, seed))


def play(state: State, actions: str) -> State:
    """Return the state after some actions in turn."""
    for action in actions.split():
        state = state.apply(action)
    return state


def deed(state: State, actions: str) -> tuple[str, ...]:
    """Return what the last of some actions brought on its own seat, the play itself left out."""
    *before, last = actions.split()
    state = play(state, " ".join(before))
    seat = str(state.seat_to_act)
    _, *told = state.apply(last).events_since(state.event_count)
    return tuple(
        takewhile(lambda event: event.startswith("recycle") or event.split()[1] == seat, told)
    )


def look(state: State, seat: int = 0) -> QuasenboObservation:
    """Return what a seat sees."""
    assert isinstance(state, QuasenboState)
    return state.observe(seat)


def words(actions: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(actions.split())


def holds(cards: Iterable[str], hand: Iterable[str]) -> bool:
    """Return whether all cards are in a hand."""
    return set(cards) <= set(hand)


def test_q1_seat_0_starts_then_ascending_seats() -> None:
    """Seats act 0, 1, 2 and then 0 again."""
    state = deal("quasenbo", "AM AS CS", "AL AY CL", "AW AK CW", start="CM")
    seats = [state.seat_to_act]
    for action in ("CS", "CL", "CW"):
        state = state.apply(action)
        seats.append(state.seat_to_act)
    assert seats == [0, 1, 2, 0]


def test_q2_cards_are_dealt_one_at_a_time_and_the_next_starts_the_pile() -> None:
    """Seat s of n holds every n-th card from s on; the start card and the deck follow."""
    game = parse_ruleset("quasenbo:players=3,hand=4")
    state = game.start(Board.parse(game, " ".join(game.deck)))
    for seat in range(3):
        assert state.hand(seat) == game.deck[seat:12:3]
    assert state.events == ("start 4MS",)
    assert state.zones()["deck"] == game.deck[13:]


def test_q3_an_excuse_that_starts_has_no_decree_and_no_suit() -> None:
    """Anything may follow it, and it is no part of a run."""
    state = deal("quasenbo", "AM 4YK CS", "2MK 8WL 9WY", start="EX")
    assert state.events == ("start EX",)
    assert look(state).pile == ("EX",)
    assert look(state).decree == ""
    assert state.legal_actions() == words("4YK AM CS")
    assert deed(state, "AM 2MK") == ()


def test_q4_a_seven_that_starts_must_be_matched() -> None:
    """It is as any other card: by suit or rank."""
    state = deal("quasenbo", "AS AL 8WL 7SK", "", start="7ML")
    assert state.legal_actions() == words("7SK 8WL AL")


def test_q5_a_seat_that_can_play_must_play_even_a_quasenbo() -> None:
    """The only playable card is the only legal action, although it commits a quäsenbö."""
    state = play(deal("quasenbo", "2MK CS", "3MW AL", start="CM"), "2MK")
    assert state.legal_actions() == ("3MW",)
    assert deed(state, "3MW") == ("quasenbo 1 3", "penalty 1 1")


def test_q6_a_seat_that_cannot_play_draws_until_it_can_and_plays_that_card() -> None:
    """The drawn playable card is the only legal action, in the same turn."""
    state = deal("quasenbo", "CS 8WL", "", start="AM", draws="9WY 4YK 5ML")
    assert state.events == ("start AM", "draw 0 3")
    assert state.seat_to_act == 0
    assert state.legal_actions() == ("5ML",)
    assert state.apply("5ML").hand(0) == words("4YK 8WL 9WY CS")


def test_q6_a_drawn_excuse_leaves_its_six_decrees() -> None:
    """The Excuse is playable as soon as it is drawn; its suit is the seat's choice."""
    state = deal("quasenbo", "CS 8WL", "", start="AM", draws="EX")
    assert state.legal_actions() == words("EX:K EX:L EX:M EX:S EX:W EX:Y")


def test_q6_a_drawn_card_commits_the_usual_quasenbo() -> None:
    """The drawn card is checked as one from the hand is."""
    state = deal("quasenbo", "2MK CS", "8WL 9WY", start="AM", draws="CL 5ML CW")
    assert deed(state, "2MK 5ML") == ("quasenbo 1 3", "penalty 1 1")
    assert play(state, "2MK 5ML").hand(1) == words("8WL 9WY CW CL")


def test_q7_a_run_is_one_suit_on_three_cards_the_start_card_included() -> None:
    """Start, first and second play share a suit: a quäsenbö."""
    state = deal("quasenbo", "2MK CS", "3MW AL", start="AM")
    assert deed(state, "2MK 3MW") == ("quasenbo 1 3", "penalty 1 1")


@pytest.mark.parametrize(
    ("start", "first", "second"), [("AM", "4MS", "CS"), ("AM", "AS", "AL"), ("CM", "3MW", "3SK")]
)
def test_q7_neither_two_suits_in_turn_nor_ranks_are_a_run(
    start: str, first: str, second: str
) -> None:
    """Without one suit on all three cards nothing happens."""
    state = deal("quasenbo", f"{first} 9WY", f"{second} 8YK", start=start)
    assert deed(state, f"{first} {second}") == ()


def test_q8_several_suits_that_run_at_once_are_one_quasenbo() -> None:
    """Moons and Leaves run together; one card is drawn."""
    state = deal("quasenbo:pawns=yes,courts=yes", "TMLY CS", "5ML CK", start="PMSL")
    assert deed(state, "TMLY 5ML") == ("quasenbo 1 3", "penalty 1 1")
    assert len(play(state, "TMLY 5ML").hand(1)) == 2


def test_q9_a_played_excuse_has_its_decreed_suit_and_no_rank() -> None:
    """Only the decreed suit, wild Sevens and nothing else may follow; it counts in a run."""
    state = deal("quasenbo", "EX CS", "CW AS 7ML 8WL 9LK", start="AW")
    state = play(state, "EX:W")
    assert look(state).decree == "W"
    assert look(state).pile == ("EX:W", "AW")
    assert state.legal_actions() == words("7ML 8WL CW")
    assert deed(state, "CW") == ("quasenbo 1 3", "penalty 1 1")


def test_q9_an_excuse_is_played_only_with_a_decree() -> None:
    """Its bare text is no action at all, and neither is a suit that does not exist."""
    state = deal("quasenbo", "EX CS", "", start="AW")
    for text in ("EX", "EX:", "EX:Q", "EX:WL"):
        with pytest.raises(InvalidActionError, match="the Excuse with its decree, EX:W"):
            state.apply(text)


def test_q10_a_wild_seven_goes_on_anything_and_runs_by_its_printed_suits() -> None:
    """Off-suit, on a decree, and then as the first card of a run."""
    state = deal("quasenbo", "EX 4MS CL", "7SK AL AY", start="CM")
    assert deed(state, "EX:W 7SK") == ()
    state = deal("quasenbo", "7SK 4MS CL", "CS AL AY", start="AM")
    assert deed(state, "7SK CS 4MS") == ("quasenbo 0 3", "penalty 0 1")


def test_q10_sevens_are_ordinary_in_the_magnus_version() -> None:
    """They match by suit or rank only."""
    state = deal("quasenbo-magnus", "7SK 7ML CM", "", start="AM")
    assert state.legal_actions() == words("7ML CM")
    with pytest.raises(IllegalActionError, match="7SK is not legal for seat 0 here"):
        state.apply("7SK")


def test_q11_an_empty_deck_is_recycled_only_when_a_card_must_be_drawn() -> None:
    """All but the top two cards of the pile are shuffled, listed from the bottom up."""
    state = deal("quasenbo", *HALVES, start="AM", seed=b"q11")
    while True:
        after = state.apply(state.legal_actions()[0])
        if any(event.startswith("recycle") for event in after.events):
            break
        assert look(after).deck_size == 0
        state = after
    pile = (state.legal_actions()[0], *state.zones()["pile"])
    assert len(pile) > 4
    new_deck = shuffled(reversed(pile[2:]), RandomStream(b"q11", "recycle/0"))
    drawn = len(new_deck) - look(after).deck_size
    assert f"recycle {len(new_deck)}" in after.events
    assert after.zones()["pile"] == pile[:2]
    assert after.zones()["deck"] == tuple(new_deck[drawn:])


def test_q12_with_nothing_to_draw_the_turn_passes() -> None:
    """The deck is empty and the pile too small to recycle."""
    state = deal("quasenbo", UNLIKE_AM, f"{LIKE_AM} AS", start="AM")
    assert state.events == ("start AM", "pass 0")
    assert state.seat_to_act == 1


def test_q12_a_penalty_can_always_be_paid() -> None:
    """With an empty deck the third card of a run frees the one card that is due."""
    state = play(deal("quasenbo", *HALVES, start="AM"), "2MK CM")
    assert state.events[-3:] == ("quasenbo 1 3", "recycle 1", "penalty 1 1")
    assert holds(["AM"], state.hand(1))


@pytest.mark.parametrize("ruleset", ["players=2,hand=18", "players=4,hand=9", "players=6,hand=6"])
def test_q13_some_seat_can_always_play(ruleset: str) -> None:
    """With all cards in hands, whatever starts the pile, fewer passes than seats come first."""
    game = parse_ruleset(f"quasenbo:{ruleset}")
    for number in range(300):
        state = game.start(Board.from_seed(game, number.to_bytes(2, "big")))
        assert state.legal_actions()
        assert len(state.events) <= game.seats


def test_q14_a_last_card_that_commits_a_quasenbo_does_not_win() -> None:
    """The penalty is drawn before victory is judged, and play goes on."""
    state = deal("quasenbo", "2MK 3MW", "5ML CY", start="AM", draws="CK CW")
    assert deed(state, "2MK 5ML 3MW") == ("quasenbo 0 4", "penalty 0 1")
    state = play(state, "2MK 5ML 3MW")
    assert len(state.hand(0)) == 1
    assert state.outcome() is None
    assert state.seat_to_act == 1


def test_q15_the_first_seat_without_cards_wins_and_others_rank_by_cards_left() -> None:
    """Points are minus the cards left."""
    state = deal("quasenbo", "AL CL", "AS 2WL", "CW 8WL", start="AM", draws="9LK CS")
    state = play(state, "AL AS CS CL")
    assert state.outcome() == Outcome(points=(0, -1, -3), places=(1, 2, 3))
    assert state.termination is Termination.FINISHED
    assert state.seat_to_act is None
    assert state.legal_actions() == ()
    with pytest.raises(IllegalActionError, match="the game is over"):
        state.apply("2WL")


def test_q15_equal_counts_share_the_place() -> None:
    """Two losers with one card each are both second."""
    state = play(deal("quasenbo", "AL", "2WL", "8WL", start="AM"), "AL")
    assert state.outcome() == Outcome(points=(0, -1, -1), places=(1, 2, 2))


@pytest.mark.parametrize(("ruleset", "count"), [("quasenbo", 1), ("quasenbo:double=yes", 2)])
def test_q16_a_run_of_four_costs_two_cards_in_the_double_game_only(
    ruleset: str, count: int
) -> None:
    """A run of L cards costs L-2, else always one."""
    state = deal(ruleset, "CM 3MW 9WY", "2MK CK CL", start="AM")
    assert deed(state, "CM 2MK 3MW") == ("quasenbo 0 4", f"penalty 0 {count}")
    assert len(play(state, "CM 2MK 3MW").hand(0)) == 1 + count


def test_q16_the_longest_run_counts_whatever_other_suits_do() -> None:
    """Suns run over three cards, Moons over four."""
    state = deal("quasenbo:double=yes", "4MS 9MS CL", "8MS CK CY", start="AM")
    assert deed(state, "4MS 8MS 9MS") == ("quasenbo 0 4", "penalty 0 2")


def test_q16_a_run_is_counted_on_the_cards_that_lie_in_the_pile() -> None:
    """A recycle shortens the pile, so the fourth card of a suit makes a run of three."""
    state = play(deal("quasenbo:double=yes", *HALVES, start="AM"), "2MK CM 3MW")
    assert state.events[-8:-4] == ("play 1 CM", "quasenbo 1 3", "recycle 1", "penalty 1 1")
    assert state.events[-4:] == ("play 0 3MW", "quasenbo 0 3", "recycle 1", "penalty 0 1")


def test_q17_endless_play_ends_at_the_cap_and_the_fewest_cards_rank_first() -> None:
    """Two seats that seek penalties in the double game play 1000 times."""
    game = parse_ruleset("quasenbo:double=yes")
    state: State = game.start(Board.from_seed(game, b"q17"))
    while actions := state.legal_actions():
        seat = state.seat_to_act
        assert seat is not None
        state = max(map(state.apply, actions), key=lambda after: len(after.hand(seat)))
    assert state.ply == 1000
    assert state.termination is Termination.PLAY_CAP
    counts = [len(state.hand(seat)) for seat in range(2)]
    assert min(counts) > 0
    outcome = state.outcome()
    assert outcome is not None
    assert outcome.points == tuple(-count for count in counts)
    assert outcome.places[counts.index(min(counts))] == 1


def test_q17_the_last_play_may_still_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seat that gets rid of its last card with the capped play has finished the game."""
    monkeypatch.setattr("referee.games.quasenbo_core.PLAY_CAP", 1)
    finished = play(deal("quasenbo", "AL", "2WL", start="AM"), "AL")
    assert finished.termination is Termination.FINISHED
    capped = play(deal("quasenbo", "AL 4YK", "2WL 8WL", start="AM"), "AL")
    assert capped.termination is Termination.PLAY_CAP
    assert capped.outcome() == Outcome(points=(-1, -2), places=(1, 2))


def test_q18_a_quasenbo_is_told_with_its_run_length() -> None:
    """Nobody has to call out; the event is there for viewers, in the single game too."""
    state = play(deal("quasenbo", "CM 3MW 9WY", "2MK CK CL", start="AM"), "CM 2MK 3MW")
    told = [event for event in state.events if event.startswith("quasenbo")]
    assert told == ["quasenbo 1 3", "quasenbo 0 4"]


def test_q19_a_seat_sees_its_hand_the_pile_and_counts() -> None:
    """Cards of others, the deck's order and drawn cards are not in it."""
    state = deal("quasenbo", "CS 8WL", "2SY AL", start="AM", draws="9WY 4YK 5ML")
    assert look(state, 1) == QuasenboObservation(
        hand=("AL", "2SY"), pile=("AM",), hand_sizes=(5, 2), deck_size=29, decree=""
    )
    assert state.events == ("start AM", "draw 0 3")


def test_scenario_1_deck_empty_pile_of_two_unable_exactly_one_pass() -> None:
    """Nothing can be recycled, so the seat passes once and the next seat is to act."""
    state = deal("quasenbo", f"{LIKE_AM} AM", UNLIKE_AM, start="AS").apply("AM")
    assert look(state).pile == ("AM", "AS")
    assert state.events == ("start AS", "play 0 AM", "pass 1")
    assert state.seat_to_act == 0


def test_scenario_2_a_game_ends_on_the_excuse_and_the_next_starts_without_a_decree() -> None:
    """No decree is carried over from one game to the next."""
    state = deal("quasenbo", "EX", "8WL", start="CM")
    game = state.game
    ended = state.apply("EX:Y")
    assert ended.outcome() == Outcome(points=(0, -1), places=(1, 2))
    assert look(ended).decree == "Y"
    following = game.start(Board.parse(game, " ".join(game.deck)))
    assert look(following).decree == ""
    assert look(following).pile == ("AW",)


def test_scenario_3_a_decree_stands_while_the_next_seat_draws_five_cards() -> None:
    """Waves were decreed, and Waves are still required after the draws."""
    state = deal("quasenbo", "EX AL", "AS CS", start="CM", draws="AY AK CY CK 2WL")
    state = state.apply("EX:W")
    assert state.events[-1] == "draw 1 5"
    assert look(state).decree == "W"
    assert state.legal_actions() == ("2WL",)


def test_scenario_4_a_recycled_excuse_gets_a_new_decree() -> None:
    """It was Waves, was recycled and drawn, and is Suns now."""
    waves_0 = "EX 2WL 6MW AS AL 2SY 2MK 3SK 4MS 5ML 6SY 6LK 7ML 7SK 8MS 9MS CS CM"
    state = deal("quasenbo", waves_0, "", start="AW")
    state = play(state, "EX:W CW 2WL")
    assert state.events[-3:] == ("quasenbo 0 3", "recycle 1", "penalty 0 1")
    assert holds(["EX"], state.hand(0))
    state = play(state, "8WL EX:S")
    assert look(state).decree == "S"
    assert look(state).pile[:2] == ("EX:S", "8WL")
    for action in state.legal_actions():
        assert "S" in suits_of(action) or rank_of(action) == "7"


def test_scenario_5_cards_are_conserved_over_two_recycles_in_a_row() -> None:
    """Hands, deck and pile are the whole deck after every action."""
    state = deal("quasenbo", *HALVES, start="AM")
    for action in ("2MK", "CM", "3MW"):
        state = state.apply(action)
        lying = [card for cards in state.zones().values() for card in cards]
        assert sorted(lying) == sorted(state.game.deck)
    assert [event for event in state.events if "recycle" in event] == ["recycle 1", "recycle 1"]


def test_scenario_6_a_penalty_that_recycles_a_pile_of_three_keeps_two_cards() -> None:
    """The previous and the played card stay, and the next run is found on them."""
    state = play(deal("quasenbo", *HALVES, start="AM"), "2MK CM")
    assert look(state).pile == ("CM", "2MK")
    state = state.apply("3MW")
    assert state.events[-3] == "quasenbo 0 3"
    assert look(state).pile == ("3MW", "CM")


@pytest.mark.parametrize(
    ("last", "events", "seat"),
    [("5YK", ("draw 0 1", "pass 0"), 1), ("CM", ("draw 0 1",), 0)],
)
def test_scenario_7_five_hands_of_seven_leave_one_card_to_draw(
    last: str, events: tuple[str, ...], seat: int
) -> None:
    """The first seat cannot play, draws the last card, and passes if that does not fit either."""
    hand = "2SY 2WL 3SK 3LY 4WL 4YK 5SW"
    state = deal("quasenbo", hand, "CK 2MK AS AL AW AY AK", "", "", "", start="AM", draws=last)
    assert state.events[1:] == events
    assert state.seat_to_act == seat
    assert look(state).deck_size == 0


def test_scenario_8_the_last_card_makes_a_quasenbo_and_the_next_seat_acts() -> None:
    """A hand of one, no win: in a game of three seats it is the next seat's turn."""
    state = deal("quasenbo", "2MK 3MW", "CK 5ML", "9LK AL", start="AM", draws="CW")
    assert deed(state, "2MK CK 9LK") == ("quasenbo 2 3", "penalty 2 1")
    state = deal("quasenbo", "2MK 3MW", "5ML 8YK", start="AM", draws="CW CL")
    state = play(state, "2MK 5ML 3MW")
    assert state.outcome() is None
    assert (state.seat_to_act, len(state.hand(0))) == (1, 1)


@pytest.mark.parametrize("preset", ["quasenbo", "quasenbo-magnus:excuse=yes"])
def test_scenario_9_cards_match_through_every_pair_of_suit_positions(preset: str) -> None:
    """Any common suit, wherever it is written, or a common rank; Sevens and the Excuse besides."""
    comma = "," if ":" in preset else ":"
    deck = parse_ruleset(f"{preset}{comma}pawns=yes,courts=yes").deck
    ruleset = f"{preset}{comma}pawns=yes,courts=yes"
    for top, half in product(deck, (0, 1)):
        others = [card for card in deck if card != top]
        hand = others[half::2]
        state = deal(ruleset, " ".join(hand), "", start=top)
        expected = {
            card
            for card in hand
            if card == "EX"
            or top == "EX"
            or card[0] == top[0]
            or set(card[1:]) & set(top[1:])
            or (card[0] == "7" and preset == "quasenbo")
        }
        assert {action.partition(":")[0] for action in state.legal_actions()} == expected


def test_scenario_14_what_a_seat_is_shown_holds_no_other_card_and_no_seed() -> None:
    """The observation and the events, written down, name only cards that the seat may know."""
    seed = bytes(range(32))
    game = parse_ruleset("quasenbo:players=4")
    state = game.start(Board.from_seed(game, seed))
    for seat in range(4):
        shown = json.dumps([asdict(look(state, seat)), state.events])
        known = {*state.hand(seat), *look(state).pile}
        named = {card for card in game.deck if f'"{card}"' in shown}
        assert named == known
        assert seed.hex() not in shown
