"""Every ruling of Pesë Katësh (P1 to P12), and the scenarios that broke other engines."""

import json
from collections.abc import Mapping
from dataclasses import asdict

import pytest

from referee.games.base import Board, Game, State
from referee.games.pese_katesh import PeseKatesh
from referee.games.registry import parse_ruleset

FLOOR = parse_ruleset("pese-katesh:floors=1")
KINDS = ("tricks", "hearts", "queens", "king")
CLUBS, DIAMONDS, HEARTS, SPADES = (
    " ".join(rank + suit for rank in "23456789TJQKA") for suit in "CDHS"
)


def deck_giving(deal: int, hands: Mapping[int, str]) -> str:
    """Return a deck for one deal that gives seats these cards, and fills up with the others."""
    full = {seat: hands.get(seat, "").split() for seat in range(4)}
    given = {card for cards in full.values() for card in cards}
    rest = iter([card for card in FLOOR.deck if card not in given])
    for cards in full.values():
        cards += [next(rest) for _ in range(13 - len(cards))]
    return " ".join(full[(deal + 1 + turn) % 4][turn // 4] for turn in range(52))


def start(deal: int, hands: Mapping[int, str], *, game: Game = FLOOR) -> State:
    """Return the state in which a deal (0 to 3) with these hands begins."""
    decks = [*[" ".join(game.deck)] * deal, deck_giving(deal, hands)]
    state = game.start(Board.parse(game, " ".join(decks), seed=b"later deals"))
    while state.observe(0).deal < deal:
        state = play_lowest(state, 1)
    return state


def play(state: State, cards: str) -> State:
    """Return the state after these cards were played."""
    for card in cards.split():
        state = state.apply(card)
    return state


def play_lowest(state: State, count: int = 10_000) -> State:
    """Return the state after up to ``count`` plays, each the first legal action."""
    for _ in range(count):
        if state.seat_to_act is None:
            break
        state = state.apply(state.legal_actions()[0])
    return state


def events_of(state: State, kind: str) -> list[list[str]]:
    """Return the events of one kind, as words after the kind."""
    words = [event.split() for event in state.events]
    return [rest for first, *rest in words if first == kind]


def scores(state: State) -> list[list[int]]:
    """Return the points of every deal that has ended, by seat."""
    return [[int(word) for word in words] for words in events_of(state, "score")]


@pytest.mark.parametrize("floors", [1, 3, 5])
def test_p1_a_floor_totals_minus_32(floors: int) -> None:
    """The deals of a floor give +26, -26, -16 and -16, so a game gives -32 a floor."""
    game = parse_ruleset(f"pese-katesh:floors={floors}")
    end = play_lowest(game.start(Board.from_seed(game, b"p1")))
    outcome = end.outcome()
    assert outcome is not None
    assert [sum(points) for points in scores(end)] == [26, -26, -16, -16] * floors
    assert sum(outcome.points) == -32 * floors


def test_p2_the_last_trick_of_a_deal_is_played_out() -> None:
    """The king of spades ends its deal only when its trick is complete."""
    state = play(start(3, {0: "3D", 1: "AD", 2: f"KS {HEARTS[3:]}", 3: "9D"}), "3D AD KS")
    assert state.seat_to_act == 3
    assert "9D" in state.legal_actions()
    assert state.apply("9D").outcome() is not None


@pytest.mark.parametrize("seed", [b"one", b"two", b"three"])
def test_p3_the_tricks_deal_always_has_13_tricks(seed: bytes) -> None:
    """The first deal is played to its last card."""
    state = play_lowest(FLOOR.start(Board.from_seed(FLOOR, seed)), 51)
    assert state.observe(0).deal == 0
    assert play_lowest(state, 1).observe(0).deal == 1


def test_p4_clockwise_is_ascending_seats() -> None:
    """Within a trick the seats play in ascending order, seat 0 after seat 3."""
    state = play_lowest(FLOOR.start(Board.from_seed(FLOOR, b"p4")), 4)
    assert [seat for seat, _ in events_of(state, "play")] == ["1", "2", "3", "0"]


def test_p5_the_dealer_rotates_through_all_floors() -> None:
    """Deal k is led by seat (k + 1) mod 4, in every floor."""
    game = parse_ruleset("pese-katesh")
    end = play_lowest(game.start(Board.from_seed(game, b"p5")))
    wanted = [[str(deal), KINDS[deal % 4], str((deal + 1) % 4)] for deal in range(20)]
    assert events_of(end, "deal") == wanted


@pytest.mark.parametrize("deal", range(4))
def test_p5_cards_are_dealt_one_at_a_time_from_the_leader_on(deal: int) -> None:
    """The first four cards of the deck go to the leader and the seats after it, and so on."""
    state = FLOOR.start(Board.parse(FLOOR, " ".join(FLOOR.deck * 4)))
    while state.observe(0).deal < deal:
        state = play_lowest(state, 1)
    for turn in range(4):
        assert state.hand((deal + 1 + turn) % 4) == FLOOR.deck[turn::4]


def test_p6_the_winner_leads_the_next_trick() -> None:
    """The highest card of the suit led wins, and its seat leads, whatever was discarded."""
    state = play(start(0, {1: "9C", 2: f"AS {HEARTS[3:]}", 3: "TC", 0: "2C"}), "9C AS TC 2C")
    assert state.seat_to_act == 3
    assert state.observe(0).leader == 3
    assert state.events[-1] == "trick 3"


def test_p7_anything_may_be_led_and_discarded() -> None:
    """A lead is free in every deal, and so is the discard of a seat without the suit led."""
    for deal in range(4):
        leader = (deal + 1) % 4
        state = start(deal, {leader: CLUBS, (deal + 2) % 4: f"{HEARTS[3:]} KS"})
        assert state.legal_actions() == tuple(sorted(CLUBS.split()))
        assert len(state.apply("2C").legal_actions()) == 13


def test_p8_penalty_cards_count_only_in_their_own_deal() -> None:
    """The queen of hearts counts -2 and the king of spades nothing in the hearts deal."""
    hands = {2: "AS", 3: "KS", 0: f"QH {DIAMONDS[3:]}", 1: "2S"}
    assert play(start(1, hands), "AS KS QH 2S").observe(2).deal_scores == (0, 0, -2, 0)
    hands = {3: "AS", 0: "KS", 1: f"2H {DIAMONDS[3:]}", 2: "QS"}
    assert play(start(2, hands), "AS KS 2H QS").observe(2).deal_scores == (0, 0, 0, -4)


def test_p9_partners_sum_their_scores() -> None:
    """Play is the same in teams; places follow the sums of seats 0 + 2 and 1 + 3."""
    teams = parse_ruleset("pese-katesh:floors=1,teams=yes")
    assert teams.seat_entrants == (0, 1, 0, 1)
    assert FLOOR.seat_entrants == (0, 1, 2, 3)
    together = play_lowest(teams.start(Board.from_seed(teams, b"p9"))).outcome()
    alone = play_lowest(FLOOR.start(Board.from_seed(FLOOR, b"p9"))).outcome()
    assert together is not None
    assert alone is not None
    assert together.points == alone.points
    first, second = (together.points[team] + together.points[team + 2] for team in (0, 1))
    assert first != second
    assert together.places == ((1, 2, 1, 2) if first > second else (2, 1, 2, 1))


@pytest.mark.parametrize(
    ("ruleset", "points", "places"),
    [
        ("pese-katesh:floors=1", (-8, -8, -8, -8), (1, 1, 1, 1)),
        ("pese-katesh:floors=1", (0, -10, 0, -22), (1, 3, 1, 4)),
        ("pese-katesh:floors=1,teams=yes", (0, -10, -16, -6), (1, 1, 1, 1)),
        ("pese-katesh:floors=1,teams=yes", (0, -10, -20, -2), (2, 1, 2, 1)),
    ],
)
def test_p10_equal_totals_share_the_place(
    ruleset: str, points: tuple[int, ...], places: tuple[int, ...]
) -> None:
    """A place is one more than the number of entrants with a better total."""
    game = parse_ruleset(ruleset)
    assert isinstance(game, PeseKatesh)
    assert game.outcome_of(points).places == places


@pytest.mark.parametrize("floors", [1, 3, 5])
def test_p10_all_deals_are_played(floors: int) -> None:
    """A game has four deals a floor, even when the lead cannot be caught."""
    game = parse_ruleset(f"pese-katesh:floors={floors}")
    end = play_lowest(game.start(Board.from_seed(game, b"p10")))
    assert len(scores(end)) == 4 * floors


def test_p11_cards_left_are_never_revealed() -> None:
    """Two games that differ only in the cards left when a deal ended early look the same after."""
    game = parse_ruleset("pese-katesh:floors=3")
    shown = {0: "3D", 1: "AD", 2: f"KS {HEARTS[3:]}", 3: "9D"}
    one = play(start(3, {**shown, 0: "3D 2S", 3: "9D 5S"}, game=game), "3D AD KS 9D")
    other = play(start(3, {**shown, 0: "3D 5S", 3: "9D 2S"}, game=game), "3D AD KS 9D")
    assert one != other
    assert one.observe(0).deal == 4
    assert one.events == other.events
    assert all(one.observe(seat) == other.observe(seat) for seat in range(4))


def test_p12_the_whole_play_of_a_deal_is_seen() -> None:
    """From the cards and leaders observed a seat can tell who played each card."""
    state = play_lowest(FLOOR.start(Board.from_seed(FLOOR, b"p12")), 30)
    seen = state.observe(2)
    rebuilt = [
        [str((seen.leaders[index // 4] + index) % 4), card]
        for index, card in enumerate(seen.played)
    ]
    assert len(rebuilt) == 30
    assert rebuilt == events_of(state, "play")


def test_scenario_10_the_hearts_deal_stops_with_the_thirteenth_heart() -> None:
    """The hearts deal ends after the trick in which the last heart fell."""
    hands = {2: "AH KH QH JH", 3: "TH 9H 8H", 0: "7H 6H 5H", 1: "4H 3H 2H"}
    state = play(start(1, hands), "AH TH 7H 4H KH 9H 6H 3H QH 8H 5H 2H JH")
    assert state.observe(0).deal == 1
    state = play_lowest(state, 3)
    assert state.observe(0).deal == 2
    assert scores(state)[1] == [0, 0, -26, 0]


def test_scenario_10_the_queens_deal_stops_with_the_fourth_queen() -> None:
    """With the fourth queen in trick six, exactly 24 cards are played in the queens deal."""
    state = start(2, {3: CLUBS, 0: DIAMONDS, 1: HEARTS, 2: SPADES})
    before = state.ply
    state = play(state, "2C 2D 2H 2S 3C 3D 3H 3S 4C QD 4H 4S 5C 5D QH 5S 6C 6D 6H QS QC 7D 7H")
    assert state.observe(0).deal == 2
    state = state.apply("7S")
    assert state.observe(0).deal == 3
    assert state.ply - before == 24
    assert scores(state)[2] == [0, 0, 0, -16]


def test_scenario_11_the_example_of_the_rules() -> None:
    """3D AD KS 9D in the king deal: the second to play gets -16, and the deal is over."""
    hands = {0: "3D", 1: "AD", 2: f"KS {HEARTS[3:]}", 3: "9D"}
    state = start(3, hands, game=parse_ruleset("pese-katesh:floors=3"))
    before = state.event_count
    state = play(state, "3D AD KS 9D")
    assert state.events_since(before) == (
        "play 0 3D",
        "play 1 AD",
        "play 2 KS",
        "play 3 9D",
        "trick 1",
        "score 0 -16 0 0",
        "deal 4 tricks 1",
    )
    assert state.seat_to_act == 1


@pytest.mark.parametrize("void", [False, True])
@pytest.mark.parametrize("position", range(4))
def test_scenario_12_suit_must_be_followed(position: int, void: bool) -> None:  # noqa: FBT001 - parametrised
    """In each position of a trick: clubs only with clubs in hand, else the whole hand."""
    hands = {(1 + turn) % 4: f"{turn + 5}C" for turn in range(4)}
    seat = (1 + position) % 4
    if void:
        hands[seat] = SPADES
    state = play(start(0, hands), " ".join(f"{turn + 5}C" for turn in range(position)))
    hand = state.hand(seat)
    assert state.seat_to_act == seat
    clubs = [card for card in hand if card[1] == "C"]
    wanted = clubs if position and not void else hand
    assert state.legal_actions() == tuple(sorted(wanted))


def test_scenario_13_the_last_trick_counts_two_points() -> None:
    """The winner of trick 13 of the tricks deal gets its +2."""
    state = play_lowest(FLOOR.start(Board.from_seed(FLOOR, b"13")), 51)
    wanted = list(state.observe(0).deal_scores)
    state = play_lowest(state, 1)
    winner = int(events_of(state, "trick")[-1][0])
    wanted[winner] += 2
    assert scores(state) == [wanted]


def test_scenario_13_the_last_trick_counts_its_penalty() -> None:
    """The winner of trick 13 of the king deal gets the king that falls in it."""
    state = start(3, {0: CLUBS, 1: SPADES, 2: HEARTS, 3: DIAMONDS})
    kept = f"{SPADES[:33]} AS KS"
    hands = (cards.split() for cards in (CLUBS, kept, HEARTS, DIAMONDS))
    state = play(state, " ".join(" ".join(trick) for trick in zip(*hands, strict=True)))
    assert scores(state)[3] == [-16, 0, 0, 0]
    assert state.outcome() is not None


def test_scenario_14_a_serialised_view_holds_no_secret() -> None:
    """Every card in a seat's view is its own or was played; there is no deck and no seed."""
    seed = bytes(range(32))
    state = FLOOR.start(Board.from_seed(FLOOR, seed))
    while state.seat_to_act is not None:
        for seat in range(4):
            view = state.observe(seat)
            text = json.dumps(asdict(view))
            allowed = {*state.hand(seat), *view.played}
            assert {card for card in FLOOR.deck if f'"{card}"' in text} == allowed
            assert seed.hex() not in text
            assert not any(isinstance(value, bytes | Board) for value in asdict(view).values())
        state = state.apply(state.legal_actions()[0])
