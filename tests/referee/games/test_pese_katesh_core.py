"""Compare the fast core of Pesë Katësh with its states, and check its random choices."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.games.base import Board
from referee.games.pese_katesh_core import (
    BIT_OF,
    CARDS,
    DECK,
    RANKS,
    SUITS,
    TASKS,
    Task,
    hand_texts,
    play_out_deal,
)
from referee.games.registry import parse_ruleset


def mask(cards: str) -> int:
    """Return the mask of cards given as texts."""
    return sum(BIT_OF[card] for card in cards.split())


@given(
    seed=st.binary(min_size=1, max_size=8),
    choices=st.integers(),
    ruleset=st.sampled_from(["pese-katesh", "pese-katesh:floors=1,teams=yes"]),
)
def test_the_core_plays_as_the_states_do(seed: bytes, choices: int, ruleset: str) -> None:
    """The same random numbers choose the same actions and give the same outcome in both."""
    game = parse_ruleset(ruleset)
    board = Board.from_seed(game, seed)
    core_random, state_random = Random(choices), Random(choices)
    state = game.start(board)
    while state.seat_to_act is not None:
        actions = state.legal_actions()
        number = int(state_random.random() * len(actions)) if len(actions) > 1 else 0
        state = state.apply(actions[number])
    assert game.playout(board, core_random) == (state.ply, state.outcome())
    assert core_random.getstate() == state_random.getstate()


@given(cards=st.sets(st.sampled_from(DECK)))
def test_a_mask_reads_back_as_sorted_texts(cards: set[str]) -> None:
    """Cards become a mask and come back sorted."""
    assert hand_texts(mask(" ".join(cards))) == tuple(sorted(cards))
    assert sorted(DECK) == list(CARDS)


@pytest.mark.parametrize(("task", "total"), list(zip(TASKS, (26, -26, -16, -16), strict=True)))
def test_a_deal_ends_with_the_last_trick_that_counts(task: Task, total: int) -> None:
    """A seat that wins every trick gets the whole deal, and no card is played after its end."""
    suits = [" ".join(rank + suit for rank in RANKS) for suit in SUITS]
    hands = [mask(cards) for cards in suits]
    cards, points = play_out_deal(hands, 0, task, Random(1).random)
    assert points == [total, 0, 0, 0]
    assert sum(hand.bit_count() for hand in hands) == 52 - cards
    assert not any(hand & task.penalty_mask for hand in hands)
    assert cards == 52 or task.kind != "tricks"
