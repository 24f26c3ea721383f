"""What the bots that search imagine agrees with what they saw."""

import importlib.util
import sys
from datetime import timedelta
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from referee.games import Board, State, parse_ruleset
from referee.games.pese_katesh_core import DECK, SEATS, TASKS
from referee.games.quasenbo import QuasenboGame
from tests.sample_bots.playing import SAMPLE_BOTS


def program_of(bot: str) -> ModuleType:
    """The program of a sample bot, as a module."""
    spec = importlib.util.spec_from_file_location(bot, SAMPLE_BOTS / bot / "bot.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[bot] = module
    spec.loader.exec_module(module)
    return module


quasenbo = program_of("quasenbo_search")
pese_katesh = program_of("pese_katesh_search")


def turn_of(state: State, *, events: tuple[str, ...], random: Random) -> Any:
    """What a search reads of a turn."""
    seat = state.seat_to_act
    assert seat is not None
    return SimpleNamespace(
        seat=seat,
        seats=state.game.seats,
        ply=state.ply,
        rng=random,
        legal_actions=state.legal_actions(),
        observation=state.observe(seat),
        events=events,
    )


@pytest.mark.parametrize("ruleset", ["quasenbo", "quasenbo:double=yes,pawns=yes,players=4"])
@pytest.mark.parametrize("seed", range(5))
def test_worlds_of_quasenbo_agree_with_the_turn(ruleset: str, seed: int) -> None:
    """Every world has the seat's own view, and what the memory excludes no other seat holds."""
    game = parse_ruleset(ruleset)
    assert isinstance(game, QuasenboGame)
    rules = game.rules
    random = Random(seed)
    memory = quasenbo.Memory(rules)
    state: State = game.start(Board.from_seed(game, bytes([seed]) * 32))
    heard = 0
    while state.outcome() is None:
        turn = turn_of(state, events=state.events_since(heard), random=random)
        heard = state.event_count
        memory.hear(turn.events)
        for seat in set(range(game.seats)) - {turn.seat}:
            held = sum(rules.card_bits[game.deck.index(card)] for card in state.hand(seat))
            assert not held & memory.excluded[seat]
        world = quasenbo.Worlds(turn, memory).deal()
        assert tuple(map(rules.cards_in, world.hands)) == turn.observation.hand_sizes
        assert len(world.deck) == turn.observation.deck_size
        assert sum(world.hands) + sum(rules.card_bits[card] for card in world.deck) + sum(
            rules.card_bits[rules.card_of[code]] for code in world.pile_codes()
        ) == sum(rules.card_bits)
        assert [rules.actions[code] for code in range(64) if world.legal >> code & 1] == list(
            turn.legal_actions
        )
        state = state.apply(random.choice(turn.legal_actions))


@pytest.mark.parametrize("seed", range(5))
def test_worlds_of_pese_katesh_agree_with_the_turn(seed: int) -> None:
    """Every world deals all hidden cards, in the right numbers, and none of a suit shown out."""
    game = parse_ruleset("pese-katesh:floors=1")
    random = Random(seed)
    state: State = game.start(Board.from_seed(game, bytes([seed]) * 32))
    while (seat := state.seat_to_act) is not None:
        seen = state.observe(seat)
        hands = pese_katesh.Worlds(seen, seat, random).deal()
        real = [pese_katesh.mask_of(state.hand(other)) for other in range(SEATS)]
        assert [hand.bit_count() for hand in hands] == [hand.bit_count() for hand in real]
        assert sum(hands) == sum(real)
        assert hands[seat] == real[seat]
        voids = pese_katesh.voids_of(seen)
        assert not any(hand & void for hand, void in zip(real, voids, strict=True))
        assert not any(hand & void for hand, void in zip(hands, voids, strict=True))
        state = state.apply(random.choice(state.legal_actions()))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.kind)
def test_rollouts_of_pese_katesh_hand_out_every_point(task: Any) -> None:
    """The rest of a deal is worth what is left of it, whoever gets it."""
    for seed in range(20):
        random = Random(seed)
        cards = random.sample(DECK, len(DECK))
        hands = [pese_katesh.mask_of(cards[seat::SEATS]) for seat in range(SEATS)]
        gains = pese_katesh.Rollouts(task, random).finish(hands, [], seed % SEATS, task.count)
        assert sum(gains) == task.total


@pytest.mark.parametrize("program", [quasenbo, pese_katesh], ids=lambda program: program.__name__)
@pytest.mark.parametrize("increment", [timedelta(0), timedelta(milliseconds=50)])
def test_a_search_never_spends_its_bank(program: ModuleType, increment: timedelta) -> None:
    """However many turns a game has, time is left for the next one."""
    left = timedelta(seconds=5)
    for _ in range(500):
        left -= timedelta(seconds=program.seconds_for(left, increment))
        assert left > timedelta(0)
        left += increment


@pytest.mark.parametrize(
    ("program", "turns"), [(quasenbo, 20), (pese_katesh, 200)], ids=["quasenbo", "pese_katesh"]
)
@pytest.mark.parametrize("bank", [timedelta(seconds=1), timedelta(seconds=4)])
def test_a_search_thinks_longer_with_more_time_and_keeps_half(
    program: ModuleType, turns: int, bank: timedelta
) -> None:
    """A game of the usual length leaves half of a bank, for turns that a busy machine holds up."""
    left = bank
    for _ in range(turns):
        left -= timedelta(seconds=program.seconds_for(left, timedelta(0)))
    assert left > 0.5 * bank
    assert program.seconds_for(bank, timedelta(0)) > program.seconds_for(bank / 2, timedelta(0))
