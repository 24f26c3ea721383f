"""Rulesets are read, made canonical and refused with what exists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.errors import InvalidBoardError, InvalidRulesetError
from referee.games import Board, GameInfo, games, parse_ruleset
from referee.games.cards import MaskTexts
from referee.games.decktet import BASIC, COURTS, PAWNS, SUITS, deck_of, suits_of


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("quasenbo", "quasenbo"),
        (" quasenbo:players=2 ", "quasenbo"),
        ("quasenbo:players=3,double=yes", "quasenbo:double=yes,players=3"),
        ("quasenbo:hand=7", "quasenbo"),
        ("quasenbo:hand=5", "quasenbo:hand=5"),
        ("quasenbo:hand=5,players=5", "quasenbo:players=5"),
        ("quasenbo:hand=7,players=5", "quasenbo:hand=7,players=5"),
        ("quasenbo:excuse=yes", "quasenbo"),
        ("quasenbo-magnus:excuse=yes,pawns=yes", "quasenbo-magnus:excuse=yes,pawns=yes"),
        ("quasenbo-magnus: excuse = no", "quasenbo-magnus"),
        ("pese-katesh:teams=no,floors=1", "pese-katesh:floors=1"),
    ],
)
def test_a_ruleset_has_one_canonical_text(text: str, canonical: str) -> None:
    """Options are sorted and defaults left out, those that depend on the players too."""
    assert parse_ruleset(text).ruleset == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no game ''; there are quasenbo, quasenbo-magnus, pese-katesh"),
        ("Quasenbo", "there is no game 'Quasenbo'; there are quasenbo,"),
        ("quasenbo:", "no option ''; its options are players, hand, double, excuse, pawns, courts"),
        ("quasenbo:floors=1", "quasenbo has no option 'floors'; its options are players,"),
        ("quasenbo:double", "does not take 'double' without a value; the values of double are yes"),
        ("quasenbo:players=7", "does not take players=7; the values of players are 2, 3, 4, 5, 6"),
        ("quasenbo:double=yes,double=yes", "option 'double' of quasenbo is given twice"),
        ("quasenbo:players=6,hand=7", "need 43 cards, but the deck has 37; hand may be 1 to 6"),
        ("quasenbo:hand=0", "does not take hand=0"),
    ],
)
def test_a_wrong_ruleset_is_refused_with_what_exists(text: str, message: str) -> None:
    """The sentence names what was wrong and lists what is possible."""
    with pytest.raises(InvalidRulesetError) as caught:
        parse_ruleset(text)
    assert message in str(caught.value)


@given(st.data())
def test_a_canonical_text_is_a_fixed_point(data: st.DataObject) -> None:
    """Whatever options are given in whatever order, reading the canonical text changes nothing."""
    info: GameInfo = data.draw(st.sampled_from(games()))
    chosen = data.draw(st.permutations(info.options))[: data.draw(st.integers(1, 3))]
    words = [f"{option.name}={data.draw(st.sampled_from(option.values))}" for option in chosen]
    try:
        game = parse_ruleset(f"{info.name}:{','.join(words)}")
    except InvalidRulesetError:
        return  # hands too large for the deck
    assert parse_ruleset(game.ruleset).ruleset == game.ruleset
    assert parse_ruleset(game.ruleset) == game


@pytest.mark.parametrize("info", games(), ids=lambda info: info.name)
def test_a_game_tells_about_itself(info: GameInfo) -> None:
    """Everything that is shown to people is there, and defaults are possible values."""
    assert info.title
    assert info.summary.endswith(".")
    assert info.seats
    assert len({option.name for option in info.options}) == len(info.options)
    for option in info.options:
        assert option.meaning.endswith(".")
        assert option.default in {"", *option.values}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "one or more whole decks of 37 cards, not 0 cards"),
        ("AM AS", "one or more whole decks of 37 cards, not 2 cards"),
        ("AM 4XX", "'4XX' is not a card of quasenbo; its deck is AM AS AW"),
    ],
)
def test_a_board_text_that_is_no_deck_is_refused(text: str, message: str) -> None:
    """The sentence says which card, or how many cards a deck has."""
    with pytest.raises(InvalidBoardError) as caught:
        Board.parse(parse_ruleset("quasenbo"), text)
    assert message in str(caught.value)


def test_a_board_text_with_a_card_twice_is_refused() -> None:
    """A deck of the right size with a double is told by deal and card."""
    game = parse_ruleset("quasenbo")
    text = " ".join(("AM", *game.deck[:-1]))
    with pytest.raises(InvalidBoardError, match="deal 0 holds AM more than once"):
        Board.parse(game, text)


def test_boards_are_equal_by_seed_and_stacked_decks() -> None:
    """Two boards of one seed are equal, and one that is stacked as well is another."""
    game = parse_ruleset("quasenbo")
    board = Board.from_seed(game, b"a")
    assert board == Board.from_seed(game, b"a")
    assert hash(board) == hash(Board.from_seed(game, b"a"))
    assert board != Board.parse(game, " ".join(game.deck), b"a")
    assert board != Board.from_seed(parse_ruleset("quasenbo-magnus"), b"a")


def test_the_decktet_shows_every_suit_equally_often() -> None:
    """Each suit is on 10 of the basic 36 cards and on 14 of all 45."""
    assert len(BASIC) == 36
    assert len(deck_of(excuse=True, pawns=True, courts=True)) == 45
    for suit in SUITS:
        assert sum(suit in suits_of(card) for card in BASIC) == 10
        assert sum(suit in suits_of(card) for card in (*BASIC, *PAWNS, *COURTS)) == 14
    for rank in "23456789":
        shown = "".join(suits_of(card) for card in BASIC if card[0] == rank)
        assert sorted(shown) == sorted(SUITS)


def test_remembered_mask_texts_stay_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is emptied when it is full, and answers stay right."""
    monkeypatch.setattr("referee.games.cards._MEMO_LIMIT", 4)
    texts = MaskTexts(["a", "b", "c", "d"])
    for mask in range(16):
        assert texts[mask] == tuple(letter for bit, letter in enumerate("abcd") if mask >> bit & 1)
        assert len(texts) <= 4
