"""The random streams give the published test vectors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.games import Board, parse_ruleset
from referee.games.random_streams import RandomStream, board_seed, seed_from_text, shuffled

ZERO = bytes(32)
DECKS = {
    "quasenbo": """
        7ML 7WY AK CS 9WY CW 7SK CM 4YK 8WL 9LK CK CL 5YK 3SK AL 4WL AW 2MK 5ML EX 4MS CY 3LY AY
        6SY 2WL 8MS 3MW 6LK 6MW AS 2SY 8YK 5SW AM 9MS
    """,
    "quasenbo-magnus": """
        8YK CW CS 7WY AS 8MS 6LK AM 9MS 6SY 5ML 4WL AK 8WL 4MS CM 5SW 7ML 7SK 4YK 3MW 9LK 3LY CK
        CY 2SY 9WY AW AY 5YK 6MW AL 2WL 3SK CL 2MK
    """,
    "quasenbo:courts=yes,pawns=yes": """
        AS PMSL 5ML 2MK CM 5YK 7WY PSWK 8YK 3SK TMWK 3MW 6LK CL 6SY 5SW PWLY 3LY 7ML 7SK CK 4YK
        AM CW AL 9WY TSLK CS 6MW 4MS 2SY 9MS EX CY 9LK TSWY TMLY AY AK 8WL 4WL AW PMYK 2WL 8MS
    """,
    "pese-katesh": """
        TS 2D 9C 7S 3C 2S QH 3S AC 2C AS 9H JS QC 4D 8H 7H 4C KD TC 7C 6C KS QS 4S QD 5C KC 6D
        AD 6H 9S 2H TD 9D JD 6S KH AH 3D 5S 8S 4H 7D JH 5H 3H 8D JC 5D 8C TH
    """,
}


@pytest.mark.parametrize(
    ("seed", "name", "words"),
    [
        (
            ZERO,
            "deal/0",
            "73adbcb2 363a1be0 a3b77418 827e3748 be615f63 b827c5e1 0e14db4f b732f2be 28c46ea6",
        ),
        (
            ZERO,
            "deal/1",
            "fba67824 b534538a d455b384 898488bb a9c4e46b 01854b5d 7ece864e 6822b2d0 92f08b4c",
        ),
        (
            ZERO,
            "recycle/0",
            "378327d0 4d9e78f5 99c52965 e21c1c4c 28186775 e2a663cd 3948e8ef 72538259 c1cedf20",
        ),
        (
            bytes(range(32)),
            "deal/0",
            "f3caa719 00bfe4be 1a8b8c3c 01c627e4 1addeed7 c83160a8 af19e9fb b325fcdb b7346602",
        ),
        (
            b"seed",
            "deal/0",
            "dc33cedd 1e962875 3059a713 61626df4 541fd422 17622224 c370c779 5cb9dcca 95019617",
        ),
        (
            b"",
            "deal/0",
            "386f324f 3aeedf50 ab524d70 eb51c0aa 4eb0a790 5b40e91b b5a550ac 6b2a0bf5 606df4f8",
        ),
    ],
)
def test_a_stream_gives_the_published_words(seed: bytes, name: str, words: str) -> None:
    """The first nine words reach into the second block."""
    stream = RandomStream(seed, name)
    assert " ".join(f"{stream.word():08x}" for _ in range(9)) == words


def test_numbers_below_a_limit_skip_unfair_words() -> None:
    """Three of the first nine words are skipped for a limit of three thousand million."""
    stream = RandomStream(ZERO, "deal/0")
    assert [stream.below(3_000_000_000) for _ in range(6)] == [
        1940765874, 909777888, 2746709016, 2189309768, 236247887, 683962022
    ]  # fmt: skip


def test_a_number_below_one_takes_no_word() -> None:
    """Zero is the only number below one, so nothing is drawn for it."""
    stream = RandomStream(ZERO, "deal/0")
    assert stream.below(1) == 0
    assert stream.word() == 0x73ADBCB2


@pytest.mark.parametrize("limit", [0, -1, 2**32 + 1])
def test_an_impossible_limit_is_refused(limit: int) -> None:
    """A limit is 1 to 2**32."""
    with pytest.raises(ValueError, match="a limit is 1 to 4294967296"):
        RandomStream(ZERO, "deal/0").below(limit)


@pytest.mark.parametrize(
    ("name", "order"),
    [("deal/0", [5, 9, 6, 3, 7, 1, 2, 8, 0, 4]), ("recycle/0", [4, 9, 2, 3, 6, 7, 1, 5, 0, 8])],
)
def test_a_shuffle_gives_the_published_order(name: str, order: list[int]) -> None:
    """Ten numbers are shuffled as every other language must shuffle them."""
    assert shuffled(range(10), RandomStream(ZERO, name)) == order


@given(seed=st.binary(max_size=40), size=st.integers(0, 80))
def test_a_shuffle_is_fisher_yates_over_below(seed: bytes, size: int) -> None:
    """The fast shuffle takes the same words as the plain one, and leaves the stream as it would."""
    plain, fast = RandomStream(seed, "deal/0"), RandomStream(seed, "deal/0")
    cards = list(range(size))
    for last in range(size - 1, 0, -1):
        other = plain.below(last + 1)
        cards[last], cards[other] = cards[other], cards[last]
    assert shuffled(range(size), fast) == cards
    assert fast.word() == plain.word()


def test_a_shuffle_skips_unfair_words() -> None:
    """A word at the very top of the range, unfair for most limits, is not used."""
    plain, fast = RandomStream(ZERO, "deal/0"), RandomStream(ZERO, "deal/0")
    for stream in (plain, fast):
        stream._words = [5, 2**32 - 1, 2**32 - 1, 4]
    cards = list("abc")
    for last in (2, 1):
        other = plain.below(last + 1)
        cards[last], cards[other] = cards[other], cards[last]
    assert shuffled("abc", fast) == cards == ["a", "c", "b"]
    assert fast._words == plain._words


@pytest.mark.parametrize("ruleset", DECKS)
def test_a_seed_gives_the_published_deck(ruleset: str) -> None:
    """The order of the unshuffled deck and the shuffle make the deck that the vectors show."""
    game = parse_ruleset(ruleset)
    deck = [game.deck[index] for index in Board.from_seed(game, ZERO).deal(0)]
    assert deck == DECKS[ruleset].split()


def test_boards_of_a_match_have_the_published_seeds() -> None:
    """A board's seed is the HMAC of its number under the match's seed."""
    assert board_seed(ZERO, 0).hex() == (
        "f375180aba92888401f1919be4a8715a62763b65c1c10e1d0858e81d4d6f9fd2"
    )
    assert board_seed(ZERO, 1).hex() == (
        "a4a11ce5fbe8f96bf3028035286c2c9274cd4259cbc224e37a73d971923903d3"
    )


@pytest.mark.parametrize(
    ("text", "seed"),
    [
        ("0A" * 32, "0a" * 32),
        ("seed", "19b25856e1c150ca834cffc8b59b23adbd0ec0389e58eb22b3b64768098d002b"),
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ],
)
def test_a_seed_is_read_from_text(text: str, seed: str) -> None:
    """Exactly 64 hexadecimal digits are the bytes; any other text is hashed."""
    assert seed_from_text(text).hex() == seed


@pytest.mark.parametrize("text", ["0a" * 31, "0a" * 33, "0a" * 32 + "\n", "0x" * 32])
def test_a_text_that_is_nearly_a_seed_is_hashed(text: str) -> None:
    """Digits too few or too many, a line end or a prefix make it an ordinary text."""
    assert len(seed_from_text(text)) == 32
    assert seed_from_text(text).hex() not in text
