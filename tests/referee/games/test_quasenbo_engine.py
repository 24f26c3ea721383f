"""The engine plays as a plain model does, and its text face as its core does, in random games."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from referee.errors import InvalidRulesetError
from referee.games import Board, parse_ruleset
from referee.games.conformance import check_game
from referee.games.decktet import EXCUSE
from referee.games.quasenbo import QuasenboGame, QuasenboState
from referee.games.quasenbo_core import QuasenboCore
from referee.games.random_streams import RandomStream, shuffled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

YES_NO = st.sampled_from(["yes", "no"])
OPTIONS = st.fixed_dictionaries(
    {
        "players": st.sampled_from("23456"),
        "hand": st.integers(1, 22).map(str),
        "double": YES_NO,
        "excuse": YES_NO,
        "pawns": YES_NO,
        "courts": YES_NO,
    }
)
PRESETS = st.sampled_from(["quasenbo", "quasenbo-magnus"])
SEEDS = st.binary(min_size=32, max_size=32)


def game_of(preset: str, options: Mapping[str, str]) -> QuasenboGame:
    """Return the game, or give up this example when its hands are too large."""
    told = ",".join(f"{name}={value}" for name, value in options.items())
    try:
        game = parse_ruleset(f"{preset}:{told}")
    except InvalidRulesetError:
        assume(condition=False)
        raise
    assert isinstance(game, QuasenboGame)
    return game


class PlainModel:
    """The rules once more, on texts and lists, as slow and as close to the words as possible."""

    def __init__(
        self, preset: str, options: Mapping[str, str], deck: list[str], seed: bytes
    ) -> None:
        self.wild = preset == "quasenbo"
        self.double = options["double"] == "yes"
        self.seats = int(options["players"])
        self.seed = seed
        self.hands: list[list[str]] = [[] for _ in range(self.seats)]
        for _ in range(int(options["hand"])):
            for hand in self.hands:
                hand.append(deck.pop(0))
        self.deck = deck
        self.pile = [deck.pop(0)]  # bottom first
        self.events = [f"start {self.pile[0]}"]
        self.recycles = self.plays = self.seat = 0
        self.over = False
        self.begin_turn()

    @staticmethod
    def suits(lying: str) -> set[str]:
        """The suits of a card as it lies in the pile."""
        return set(lying.partition(":")[2] if lying.startswith(EXCUSE) else lying[1:])

    def fits(self, card: str) -> bool:
        """Whether a card may go on top."""
        top = self.pile[-1]
        if EXCUSE in {card, top} or (card[0] == "7" and self.wild):
            return True
        return bool(self.suits(card) & self.suits(top)) or card[0] == top[0]

    def legal(self) -> list[str]:
        """The sorted legal actions."""
        if self.over:
            return []
        fitting = [card for card in self.hands[self.seat] if self.fits(card)]
        plain = [card for card in fitting if card != EXCUSE]
        return sorted(plain + [f"EX:{suit}" for suit in "MSWLYK" if EXCUSE in fitting])

    def draw_one(self) -> str | None:
        """Draw a card for the seat to act, after a recycle if need be."""
        if not self.deck:
            if len(self.pile) <= 2:
                return None
            cards = [lying.partition(":")[0] for lying in self.pile[:-2]]
            self.pile = self.pile[-2:]
            self.deck = shuffled(cards, RandomStream(self.seed, f"recycle/{self.recycles}"))
            self.recycles += 1
            self.events.append(f"recycle {len(cards)}")
        self.hands[self.seat].append(self.deck.pop(0))
        return self.hands[self.seat][-1]

    def tell_drawn(self, verb: str) -> None:
        """Add one card to the event that ends the log, or begin a new one."""
        *words, count = self.events[-1].split()
        if words == [verb, str(self.seat)]:
            self.events[-1] = f"{verb} {self.seat} {int(count) + 1}"
        else:
            self.events.append(f"{verb} {self.seat} 1")

    def begin_turn(self) -> None:
        """Draw until a seat can play."""
        while not self.legal():
            card = self.draw_one()
            if card is None:
                self.events.append(f"pass {self.seat}")
                self.seat = (self.seat + 1) % self.seats
            else:
                self.tell_drawn("draw")

    def apply(self, action: str) -> None:
        """Play a card."""
        self.hands[self.seat].remove(action.partition(":")[0])
        self.pile.append(action)
        self.plays += 1
        self.events.append(f"play {self.seat} {action}")
        runs = [1]
        for suit in self.suits(action):
            run = 0
            while run < len(self.pile) and suit in self.suits(self.pile[-1 - run]):
                run += 1
            runs.append(run)
        if max(runs) >= 3:
            self.events.append(f"quasenbo {self.seat} {max(runs)}")
            for _ in range(max(runs) - 2 if self.double else 1):
                assert self.draw_one() is not None
                self.tell_drawn("penalty")
        if not self.hands[self.seat] or self.plays == 1000:
            self.over = True
            return
        self.seat = (self.seat + 1) % self.seats
        self.begin_turn()


def codes_in(mask: int) -> Sequence[int]:
    """Return the indices of the bits of a mask."""
    return [code for code in range(mask.bit_length()) if mask >> code & 1]


def assert_alike(state: QuasenboState, model: PlainModel) -> None:
    """Assert that everything that can be seen of both is the same."""
    assert state.legal_actions() == tuple(model.legal())
    assert state.events_since(0) == tuple(model.events)
    assert state.seat_to_act == (None if model.over else model.seat)
    for seat, hand in enumerate(model.hands):
        assert sorted(state.hand(seat)) == sorted(hand)
    assert state.zones()["deck"] == tuple(model.deck)
    assert state.observe(0).pile == tuple(reversed(model.pile))


@given(preset=PRESETS, options=OPTIONS, seed=SEEDS)
def test_the_engine_plays_as_the_plain_model_does(
    preset: str, options: dict[str, str], seed: bytes
) -> None:
    """Legal actions, events, hands, deck and pile agree after every action of a random game."""
    game = game_of(preset, options)
    board = Board.from_seed(game, seed)
    model = PlainModel(preset, options, [game.deck[index] for index in board.deal(0)], seed)
    state = game.start(board)
    choose = Random(seed)
    assert_alike(state, model)
    while actions := state.legal_actions():
        action = choose.choice(actions)
        state = state.apply(action)
        model.apply(action)
        assert_alike(state, model)
    outcome = state.outcome()
    assert outcome is not None
    assert outcome.points == tuple(-len(hand) for hand in model.hands)


@given(preset=PRESETS, options=OPTIONS, seed=SEEDS)
def test_the_text_face_and_the_core_are_equal(
    preset: str, options: dict[str, str], seed: bytes
) -> None:
    """A core changed in place holds after every action what the state's own core holds."""
    game = game_of(preset, options)
    board = Board.from_seed(game, seed)
    state, core = game.start(board), QuasenboCore.start(game.rules, board)
    choose = Random(seed)
    while core.legal:
        code = choose.choice(codes_in(core.legal))
        assert state.legal_actions() == tuple(game.rules.actions[c] for c in codes_in(core.legal))
        before = state
        state = state.apply(game.rules.actions[code])
        core.apply(code)
        for name in QuasenboCore.__slots__:
            if name != "events":
                assert getattr(state._core, name) == getattr(core, name), name
        assert state == QuasenboState(game, game._notation, core)
        assert state != before
    assert state.legal_actions() == ()


@settings(max_examples=25)
@given(preset=PRESETS, options=OPTIONS, seed=SEEDS)
def test_random_games_with_any_options_keep_every_promise(
    preset: str, options: dict[str, str], seed: bytes
) -> None:
    """Among them: cards are conserved, hidden cards do not show, texts are refused or legal."""
    check_game(game_of(preset, options), seed=seed)


@given(preset=PRESETS, options=OPTIONS, seed=SEEDS, plies=st.integers(0, 60), data=st.data())
def test_what_a_seat_sees_does_not_depend_on_hidden_cards(
    preset: str, options: dict[str, str], seed: bytes, plies: int, data: st.DataObject
) -> None:
    """Other hands and the deck, permuted in the middle of a game, leave the observation alone."""
    game = game_of(preset, options)
    state = game.start(Board.from_seed(game, seed))
    choose = Random(seed)
    while state.ply < plies and state.legal_actions():
        state = state.apply(choose.choice(state.legal_actions()))
    seat = data.draw(st.integers(0, game.seats - 1))
    core = state._core.copy()
    places = [other for other in range(game.seats) if other != seat]
    sizes = [len(state.hand(other)) for other in places]
    hidden = [card for other in places for card in state.hand(other)]
    hidden = data.draw(st.permutations([*hidden, *state.zones()["deck"]]))
    indices = [game.deck.index(card) for card in hidden]
    for other, size in zip(places, sizes, strict=True):
        core.hands[other] = sum(game.rules.card_bits[index] for index in indices[:size])
        indices = indices[size:]
    core.deck, core.deck_at = tuple(indices), 0
    permuted = QuasenboState(game, game._notation, core)
    assert permuted.observe(seat) == state.observe(seat)
    assert permuted.events == state.events
    if state.seat_to_act == seat:
        assert permuted.legal_actions() == state.legal_actions()


def test_an_old_state_stays_as_it_was() -> None:
    """Two actions from one state lead to two states, and the first is unchanged."""
    game = parse_ruleset("quasenbo")
    state = game.start(Board.from_seed(game, bytes(32)))
    before = (state.legal_actions(), state.observe(0), state.events)
    first, second = (state.apply(action) for action in state.legal_actions()[:2])
    assert first != second
    assert (state.legal_actions(), state.observe(0), state.events) == before
