"""Test that a game conforms to the interface of `referee.games.base`.

`check_game` plays one random game and checks every state; `playthrough` returns a game as text, to
be compared with a golden copy. Both use the public interface alone.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from referee.errors import IllegalActionError, InvalidActionError
from referee.games.base import Board
from referee.games.random_streams import RandomStream, shuffled
from referee.games.registry import parse_ruleset
from referee.outcome import places_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from referee.games.base import Game, State

_NO_ACTIONS = ("", " ", "?", "ace of moons", "EX:", "EX:Q", "AM AS", "\N{BLACK HEART SUIT}")
_HIDDEN_TRIALS = 24


class ConformanceError(AssertionError):
    """A game violates the interface; the message says which rule, and in which state."""


def check_game(game: Game, *, seed: bytes) -> None:
    """Play one random game and check every state of it.

    Args:
        game: the rules to check.
        seed: of the board and of the choices of actions, any number of bytes.

    Raises:
        ConformanceError: the game violates the interface.
    """
    _check_ruleset(game)
    board = Board.from_seed(game, seed)
    states, actions = _random_game(game, board, RandomStream(seed, "conformance/choose"))
    for state, action, after in zip(states, actions, states[1:], strict=False):
        _check_waiting(state)
        _check_cards(state)
        _check_observations(state)
        _check_refusals(state)
        _check_apply(state, action, after)
    _check_end(states[-1])
    _check_events(states)
    _check_same_luck(game, board, states, actions)
    _check_hidden_cards(game, board, states, actions)
    _check_playout(game, board)


def playthrough(game: Game, *, seed: bytes) -> str:
    """Return one random game as text: for every ply the events, observation and actions."""
    board = Board.from_seed(game, seed)
    states, actions = _random_game(game, board, RandomStream(seed, "conformance/choose"))
    lines = [f"ruleset {game.ruleset}", f"seed {seed.hex()}"]
    told = 0
    for state, action in zip(states, (*actions, None), strict=True):
        lines += (f"event {event}" for event in state.events_since(told))
        told = state.event_count
        if action is not None:
            lines += _waiting_lines(state, action)
    outcome = states[-1].outcome()
    if outcome is None:
        raise ConformanceError(f"{states[-1]!r}: a game without legal actions has an outcome")
    lines.append(f"points {' '.join(map(str, outcome.points))}")
    lines.append(f"places {' '.join(map(str, outcome.places))}")
    lines.append(f"termination {states[-1].termination}")
    return "\n".join(lines) + "\n"


def _waiting_lines(state: State, action: str) -> Iterator[str]:
    seat = state.seat_to_act
    _require(seat is not None, state, "a state with legal actions has a seat to act")
    yield f"ply {state.ply} seat {seat}"
    observation = state.observe(seat or 0)
    for name, value in _fields_of(observation):
        shown = " ".join(map(str, value)) if isinstance(value, tuple) else value
        yield f"  {name}: {shown}".rstrip()
    yield f"  legal: {' '.join(state.legal_actions())}"
    yield f"  action: {action}"


def _random_game(
    game: Game, board: Board, stream: RandomStream
) -> tuple[list[State], tuple[str, ...]]:
    states = [game.start(board)]
    chosen = []
    while actions := states[-1].legal_actions():
        state = states[-1]
        chosen.append(actions[stream.below(len(actions))])
        states.append(state.apply(chosen[-1]))
        same = (state.legal_actions(), state.ply) == (actions, len(chosen) - 1)
        _require(same, state, "an action leaves the old state unchanged")
    return states, tuple(chosen)


def _check_ruleset(game: Game) -> None:
    again = parse_ruleset(game.ruleset)
    _require(again == game, game, "the ruleset text gives the same game")
    _require(again.ruleset == game.ruleset, game, "the ruleset text is canonical")
    _require(len(set(game.deck)) == len(game.deck), game, "no card is twice in the deck")
    _require(len(game.seat_entrants) == game.seats, game, "every seat has an entrant")
    entrants = set(game.seat_entrants)
    _require(entrants == set(range(game.entrants)), game, "entrants are numbered from 0")


def _check_waiting(state: State) -> None:
    actions = state.legal_actions()
    _require(state.seat_to_act in range(state.game.seats), state, "a seat is to act")
    _require(actions == tuple(sorted(set(actions))), state, "legal actions are sorted, each once")
    _require(state.outcome() is None, state, "no outcome before the end")
    _require(state.termination is None, state, "no termination before the end")


def _check_cards(state: State) -> None:
    zones = state.zones()
    lying = sorted(card for cards in zones.values() for card in cards)
    _require(lying == sorted(state.game.deck), state, "every card lies in exactly one zone")
    order = state.game.deck.index
    for seat in range(state.game.seats):
        hand = state.hand(seat)
        _require(zones[f"hand {seat}"] == hand, state, "a hand's zone is the hand")
        _require(list(hand) == sorted(hand, key=order), state, "a hand is in the deck's order")


def _check_observations(state: State) -> None:
    for seat in range(state.game.seats):
        observation = state.observe(seat)
        _require(is_dataclass(observation), state, "an observation is a dataclass")
        _require(hash(observation) == hash(state.observe(seat)), state, "it is a value")
        _require(observation == state.observe(seat), state, "observing twice shows the same")
        _require(observation.hand == state.hand(seat), state, "a seat sees its hand")
        hidden = _hidden_from(state, seat)
        shown = set(_words_of(value for _, value in _fields_of(observation)))
        _require(not hidden & shown, state, f"seat {seat} does not see {sorted(hidden & shown)}")


def _check_refusals(state: State) -> None:
    legal = state.legal_actions()
    before = _snapshot(state)
    known = set(state.game.deck).difference(legal)
    texts = (*_NO_ACTIONS, *known, *(f" {text}" for text in legal), *map(str.lower, legal))
    for text in texts:
        try:
            state.apply(text)
        except (InvalidActionError, IllegalActionError) as error:
            right = text in known or isinstance(error, InvalidActionError)
            _require(right, state, f"{text!r} is refused as no action at all")
        else:
            _require(text in legal, state, f"{text!r} is refused")
    _require(_snapshot(state) == before, state, "a refusal leaves the state unchanged")


def _check_apply(state: State, action: str, after: State) -> None:
    before = _snapshot(state)
    for text in state.legal_actions():
        following = state.apply(text)
        _require(following.ply == state.ply + 1, state, "an action is one ply")
        _require(following.event_count > state.event_count, state, "an action is told")
        _require(following != state, state, "an action makes another state")
        waiting = following.seat_to_act is not None
        _require(waiting == bool(following.legal_actions()), state, "a seat to act can act")
        _require(waiting == (following.outcome() is None), state, "a game ends with an outcome")
    again = state.apply(action)
    _require(again == after and hash(again) == hash(after), state, "equal actions, equal states")
    _require(_snapshot(state) == before, state, "an action leaves the old state unchanged")


def _check_end(state: State) -> None:
    game = state.game
    _require(state.seat_to_act is None, state, "no seat acts after the end")
    _require(state.legal_actions() == (), state, "nothing is legal after the end")
    outcome = state.outcome()
    if outcome is None:
        raise ConformanceError(f"{game.ruleset}: the end has an outcome")
    _require(len(outcome.points) == game.seats, state, "every seat has points")
    totals = [0] * game.entrants
    for seat, entrant in enumerate(game.seat_entrants):
        totals[entrant] += outcome.points[seat]
    places = tuple(places_of(totals)[entrant] for entrant in game.seat_entrants)
    _require(outcome.places == places, state, "places follow the points of entrants")
    _require(state.termination is not None, state, "the end has a termination")
    _check_cards(state)
    for card in game.deck:
        try:
            state.apply(card)
        except (InvalidActionError, IllegalActionError):
            continue
        raise ConformanceError(f"{game.ruleset}: {card} is refused after the end")


def _check_events(states: list[State]) -> None:
    last = states[-1]
    events = last.events
    _require(len(events) == last.event_count, last, "event_count counts the events")
    for state in states:
        count = state.event_count
        _require(last.events_since(count) == events[count:], state, "events only grow")
        _require(state.events_since(count) == (), state, "nothing has happened since now")
    middle = states[len(states) // 2]
    _require(middle.events == events[: middle.event_count], middle, "earlier events stay")


def _check_same_luck(
    game: Game, board: Board, states: list[State], actions: tuple[str, ...]
) -> None:
    """Play the actions again from the same seed, and with the first deal stacked by hand."""
    text = " ".join(game.deck[index] for index in board.deal(0))
    for other in (Board.from_seed(game, board.seed), Board.parse(game, text, board.seed)):
        state = game.start(other)
        for expected, action in zip(states, (*actions, None), strict=True):
            _require(
                _snapshot(state) == _snapshot(expected), expected, "the same luck, the same game"
            )
            state = state if action is None else state.apply(action)
        _require(state.events == states[-1].events, state, "the same luck, the same events")
    _require(game.start(Board.from_seed(game, board.seed)) == states[0], states[0], "starts equal")


def _check_hidden_cards(
    game: Game, board: Board, states: list[State], actions: tuple[str, ...]
) -> None:
    """Swap two cards that a seat cannot see: as long as all events stay, so must all it sees."""
    stream = RandomStream(board.seed, "conformance/swap")
    for trial in range(_HIDDEN_TRIALS):
        seat = trial % game.seats
        ply = 0 if trial < game.seats else stream.below(min(len(actions), len(game.deck)))
        sets = [_hidden_from(earlier, seat) for earlier in states[: ply + 1]]
        hidden = sorted(set.intersection(*sets))
        first, second = shuffled(hidden, stream)[:2] if len(hidden) > 1 else ("", "")
        swap = {first: second, second: first}
        cards = [game.deck[index] for index in board.deal(0)]
        text = " ".join(swap.get(card, card) for card in cards)
        _compare_what_a_seat_sees(
            game.start(Board.parse(game, text, board.seed)), states[: ply + 1], actions, seat
        )


def _hidden_from(state: State, seat: int) -> set[str]:
    """Return the cards in other hands and in the deck."""
    zones = state.zones()
    hands = [zones[f"hand {other}"] for other in range(state.game.seats) if other != seat]
    return set(zones.get("deck", ())).union(*hands)


def _compare_what_a_seat_sees(
    state: State, states: list[State], actions: tuple[str, ...], seat: int
) -> None:
    for expected, action in zip(states, actions, strict=False):
        told = (state.seat_to_act, state.event_count, state.events)
        if told != (expected.seat_to_act, expected.event_count, expected.events):
            return  # the swap changed what happened openly: nothing to compare
        _require(state.observe(seat) == expected.observe(seat), state, "hidden cards do not show")
        if state.seat_to_act == seat:
            same = state.legal_actions() == expected.legal_actions()
            _require(same, state, "hidden cards do not change what is legal")
        if action not in state.legal_actions():
            return
        state = state.apply(action)


def _check_playout(game: Game, board: Board) -> None:
    choose = Random(1)  # noqa: S311 - a reproducible choice of actions, no secret
    state = game.start(board)
    while actions := state.legal_actions():
        count = len(actions)
        state = state.apply(actions[int(choose.random() * count) if count > 1 else 0])
    played = game.playout(board, Random(1))  # noqa: S311 - the same choices
    _require(played == (state.ply, state.outcome()), state, "the fast core plays the same game")


def _snapshot(state: State) -> tuple[object, ...]:
    seats = range(state.game.seats)
    return (
        state.seat_to_act,
        state.ply,
        state.event_count,
        state.legal_actions(),
        tuple(state.observe(seat) for seat in seats),
        state.outcome(),
        state.zones(),
    )


def _fields_of(observation: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(observation):
        yield field.name, getattr(observation, field.name)


def _words_of(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, tuple):
            yield from _words_of(value)
        else:
            yield from str(value).replace(":", " ").split()


def _require(kept: bool, where: State | Game, promise: str) -> None:  # noqa: FBT001 - a condition
    if not kept:
        raise ConformanceError(f"{where!r}: {promise}")
