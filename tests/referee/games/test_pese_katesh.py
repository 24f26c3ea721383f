"""Pesë Katësh as a whole: options, notation, errors, events, and what seats can see."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.errors import IllegalActionError, InvalidActionError
from referee.games.base import Board, Game, State
from referee.games.pese_katesh import INFO
from referee.games.registry import parse_ruleset
from referee.outcome import Termination

FLOOR = parse_ruleset("pese-katesh:floors=1")
RULESETS = [
    "pese-katesh",
    "pese-katesh:floors=1",
    "pese-katesh:floors=1,teams=yes",
    "pese-katesh:floors=3",
    "pese-katesh:teams=yes",
]
seeds = st.binary(min_size=1, max_size=8)
plies = st.integers(min_value=0, max_value=200)


def played(state: State, count: int, rng: Random) -> State:
    """Return the state after ``count`` random plays, or the end."""
    for _ in range(count):
        if state.seat_to_act is None:
            break
        state = state.apply(rng.choice(state.legal_actions()))
    return state


def started(seed: bytes, game: Game = FLOOR) -> State:
    """Return the first state of the board that a seed gives."""
    return game.start(Board.from_seed(game, seed))


def actions_of(state: State) -> list[str]:
    """Return the actions that led to a state."""
    return [event.split()[2] for event in state.events if event.startswith("play ")]


@pytest.mark.parametrize("ruleset", RULESETS)
def test_rulesets_have_one_canonical_text(ruleset: str) -> None:
    """A canonical text names the game that it came from."""
    assert parse_ruleset(ruleset).ruleset == ruleset


def test_defaults_are_left_out_and_options_sorted() -> None:
    """Options in any order, defaults among them, give the canonical text."""
    game = parse_ruleset("pese-katesh:teams=yes,floors=5")
    assert game.ruleset == "pese-katesh:teams=yes"
    assert (game.name, game.seats, game.entrants, len(game.deck)) == (INFO.name, 4, 2, 52)


@pytest.mark.parametrize("card", FLOOR.deck)
def test_every_card_is_an_action_and_reads_back(card: str) -> None:
    """Each card can be led by its text, and is told by the same text."""
    index = FLOOR.deck.index(card)
    deck = FLOOR.deck[index:] + FLOOR.deck[:index]
    state = FLOOR.start(Board.parse(FLOOR, " ".join(deck)))
    after = state.apply(card)
    assert card in state.legal_actions()
    assert card not in after.hand(1)
    assert after.events_since(state.event_count) == (f"play 1 {card}",)
    assert after.observe(0).trick == (card,)


@given(seed=seeds, ply=plies, text=st.text(max_size=4).filter(lambda word: word not in FLOOR.deck))
def test_a_text_that_is_no_card_is_invalid(seed: bytes, ply: int, text: str) -> None:
    """The error shows the text and how a card reads; the state is unchanged."""
    state, same = (played(started(seed), ply, Random(ply)) for _ in range(2))
    with pytest.raises(InvalidActionError, match="is no card; an action is a rank") as caught:
        state.apply(text)
    assert repr(text) in str(caught.value)
    assert (state, state.zones(), state.events) == (same, same.zones(), same.events)


@given(seed=seeds, ply=plies)
def test_a_card_that_is_not_legal_is_refused(seed: bytes, ply: int) -> None:
    """Every card but the legal ones is illegal, with what is possible; the state is unchanged."""
    state, same = (played(started(seed), ply, Random(ply)) for _ in range(2))
    for card in FLOOR.deck:
        if card in state.legal_actions():
            continue
        with pytest.raises(IllegalActionError) as caught:
            state.apply(card)
        assert card in str(caught.value)
        assert ", ".join(state.legal_actions()) in str(caught.value)
    assert (state, state.zones(), state.events) == (same, same.zones(), same.events)


def test_errors_say_why_a_card_is_not_legal() -> None:
    """A card of another hand, a card off suit and a play after the end have their own sentence."""
    deck = [FLOOR.deck[13 * (turn % 4) + turn // 4] for turn in range(52)]
    deck[1], deck[4] = deck[4], deck[1]
    state = FLOOR.start(Board.parse(FLOOR, " ".join(deck)))
    with pytest.raises(IllegalActionError, match="AS is not legal: seat 1 does not hold it; it"):
        state.apply("AS")
    with pytest.raises(
        IllegalActionError, match=r"4D is not legal: seat 2 must follow suit; it can play 3C$"
    ):
        state.apply("2C").apply("4D")
    with pytest.raises(IllegalActionError, match="the game is over"):
        played(state, 1000, Random(0)).apply("AS")


@given(seed=seeds, ply=plies)
def test_cards_are_conserved(seed: bytes, ply: int) -> None:
    """Hands, tricks taken and the trick on the table are the whole deck, no card twice."""
    state = played(started(seed), ply, Random(seed))
    cards = [card for zone in state.zones().values() for card in zone]
    assert sorted(cards) == sorted(FLOOR.deck)


@given(seed=seeds, ply=plies, seat=st.integers(min_value=0, max_value=3), rng=st.randoms())
def test_a_seat_sees_nothing_that_is_hidden(seed: bytes, ply: int, seat: int, rng: Random) -> None:
    """Other cards in the other hands and in the deals to come leave what a seat sees unchanged."""
    state = played(started(seed), ply, Random(seed))
    # Within a suit, so that whoever followed or discarded before could have done the same.
    exchanged = {card: card for card in FLOOR.deck}
    for suit in "CDHS":
        hidden = [
            card
            for other in range(4)
            if other != seat
            for card in state.hand(other)
            if card[1] == suit
        ]
        exchanged.update(zip(hidden, rng.sample(hidden, len(hidden)), strict=True))
    deal = state.observe(seat).deal
    board = Board.from_seed(FLOOR, seed)
    decks = [[FLOOR.deck[index] for index in board.deal(number)] for number in range(deal + 1)]
    decks[deal] = [exchanged[card] for card in decks[deal]]
    text = " ".join(card for deck in decks for card in deck)
    twin = FLOOR.start(Board.parse(FLOOR, text, seed=b"another" + seed))
    for action in actions_of(state):
        twin = twin.apply(action)
    assert twin.observe(seat) == state.observe(seat)
    assert twin.events == state.events
    if state.seat_to_act == seat:
        assert twin.legal_actions() == state.legal_actions()


@given(seed=seeds, ply=plies)
def test_equal_histories_give_equal_states(seed: bytes, ply: int) -> None:
    """States with the same board and actions are equal; one action more makes them differ."""
    state = played(started(seed), ply, Random(seed))
    again = started(seed)
    for action in actions_of(state):
        again = again.apply(action)
    assert again == state
    assert hash(again) == hash(state)
    assert state != object()
    if state.seat_to_act is not None:
        assert state.apply(state.legal_actions()[0]) != again


def test_different_histories_give_different_states() -> None:
    """Two plays of the first deal differ for ever, although the next deal is the same."""
    low = high = started(b"history")
    for _ in range(52):
        low, high = low.apply(low.legal_actions()[0]), high.apply(high.legal_actions()[-1])
    assert low.zones() == high.zones()
    assert low != high


@given(seed=seeds, ply=st.integers(min_value=0, max_value=700), count=plies)
def test_events_since_is_a_slice_of_the_events(seed: bytes, ply: int, count: int) -> None:
    """Events are counted right and told from any number on, over several deals."""
    game = parse_ruleset("pese-katesh")
    state = played(started(seed, game), ply, Random(seed))
    assert state.event_count == len(state.events)
    start = max(state.event_count - count, 0)
    assert state.events_since(start) == state.events[start:]
    assert state.events_since(state.event_count + 1) == ()


@given(seed=seeds, ply=plies)
def test_an_observation_agrees_with_the_events(seed: bytes, ply: int) -> None:
    """Scores, tricks and the trick so far are what the public events tell."""
    state = played(started(seed), ply, Random(seed))
    last_deal = max(
        number for number, event in enumerate(state.events) if event.startswith("deal ")
    )
    before, deal = state.events[:last_deal], state.events[last_deal:]
    scores = [[int(word) for word in event.split()[1:]] for event in before if event[0] == "s"]
    winners = [int(event.split()[1]) for event in deal if event.startswith("trick ")]
    view = state.observe(0)
    assert f"deal {view.deal} {view.deal_kind} {view.leaders[0]}" == deal[0]
    assert view.scores == tuple(sum(column) for column in zip(*scores, [0] * 4, strict=True))
    assert view.tricks_taken == tuple(winners.count(seat) for seat in range(4))
    assert view.leaders[1:] == tuple(winners)
    assert view.leader == view.leaders[-1]
    assert view.trick == view.played[4 * len(winners) :]
    assert view.deals == 4


@given(seed=seeds)
def test_a_count_by_hand_agrees(seed: bytes) -> None:
    """Counted from the cards alone, tricks go to the highest card and deals end when they must."""
    events = iter(played(started(seed), 1000, Random(seed)).events)
    for kind in ("tricks", "hearts", "queens", "king"):
        leader = next(events).split()[-1]
        points = [0] * 4
        while sum(points) != {"tricks": 26, "hearts": -26}.get(kind, -16):
            plays = [next(events).split()[1:] for _ in range(4)]
            assert [int(seat) for seat, _ in plays] == [(int(leader) + n) % 4 for n in range(4)]
            suit = plays[0][1][1]
            _, leader = max(
                ("23456789TJQKA".index(card[0]), seat) for seat, card in plays if card[1] == suit
            )
            assert next(events) == f"trick {leader}"
            cards = [card for _, card in plays]
            points[int(leader)] += {
                "tricks": 2,
                "hearts": -2 * sum(card[1] == "H" for card in cards),
                "queens": -4 * sum(card[0] == "Q" for card in cards),
                "king": -16 * cards.count("KS"),
            }[kind]
        assert next(events) == f"score {' '.join(map(str, points))}"
    assert next(events, None) is None


def test_the_end_of_a_game() -> None:
    """At the end nobody acts, and points and places are known; not before."""
    state = started(b"end")
    while state.seat_to_act is not None:
        assert state.outcome() is None
        assert state.termination is None
        state = state.apply(state.legal_actions()[-1])
    outcome = state.outcome()
    view = state.observe(0)
    assert outcome is not None
    assert state.termination is Termination.FINISHED
    assert state.legal_actions() == ()
    assert outcome.points == tuple(map(sum, zip(view.scores, view.deal_scores, strict=True)))
    assert state.ply == len(actions_of(state))


@pytest.mark.parametrize("floors", [1, 3, 5])
def test_equal_bots_average_minus_8_a_floor(floors: int) -> None:
    """Four times the same deterministic bot gets -8 points a floor over a board's rotations."""
    game = parse_ruleset(f"pese-katesh:floors={floors}")
    totals = [0] * 4
    for rotation in range(4):
        state = started(b"rotations", game)
        while state.seat_to_act is not None:
            state = state.apply(state.legal_actions()[0])
        outcome = state.outcome()
        assert outcome is not None
        for entrant in range(4):
            totals[entrant] += outcome.points[(entrant + rotation) % 4]
    assert [total / 4 for total in totals] == [-8 * floors] * 4
