"""The conformance suite notices a game that breaks a promise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from referee.games import Board, parse_ruleset
from referee.games.conformance import ConformanceError, check_game, playthrough
from referee.games.quasenbo import QuasenboGame, QuasenboObservation, QuasenboState

if TYPE_CHECKING:
    from collections.abc import Callable

    from referee.outcome import Outcome


def leak_the_next_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the top of the deck to every seat."""
    honest = QuasenboState.observe

    def observe(self: QuasenboState, seat: int) -> QuasenboObservation:
        return replace(honest(self, seat), decree=self.zones()["deck"][0])

    monkeypatch.setattr(QuasenboState, "observe", observe)


def leak_a_count_of_hidden_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell how early in the alphabet the deck's next card is, without naming a card."""
    honest = QuasenboState.observe

    def observe(self: QuasenboState, seat: int) -> QuasenboObservation:
        deck = self.zones()["deck"]
        return replace(honest(self, seat), deck_size=self.game.deck.index(deck[0]) if deck else 0)

    monkeypatch.setattr(QuasenboState, "observe", observe)


def change_the_old_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply actions in place."""
    honest = QuasenboState.apply

    def apply(self: QuasenboState, text: str) -> QuasenboState:
        self._core = honest(self, text)._core
        return self

    monkeypatch.setattr(QuasenboState, "apply", apply)


def lose_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the bottom card of the pile lie nowhere."""
    honest = QuasenboState.zones

    def zones(self: QuasenboState) -> dict[str, tuple[str, ...]]:
        found = honest(self)
        return {**found, "pile": found["pile"][:-1]}

    monkeypatch.setattr(QuasenboState, "zones", zones)


def leave_actions_unsorted(monkeypatch: pytest.MonkeyPatch) -> None:
    """List legal actions from the last to the first."""
    honest = QuasenboState.legal_actions
    monkeypatch.setattr(QuasenboState, "legal_actions", lambda self: honest(self)[::-1])


def accept_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play the first legal action whatever was asked for."""
    honest = QuasenboState.apply

    def apply(self: QuasenboState, text: str) -> QuasenboState:
        legal = self.legal_actions()
        return honest(self, text if text in legal or not legal else legal[0])

    monkeypatch.setattr(QuasenboState, "apply", apply)


def miscount_the_fast_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell one action too many of a playout."""
    honest = QuasenboGame.playout

    def playout(self: QuasenboGame, board: Board, choose: object) -> tuple[int, Outcome]:
        actions, outcome = honest(self, board, choose)  # type: ignore[arg-type]
        return actions + 1, outcome

    monkeypatch.setattr(QuasenboGame, "playout", playout)


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (leak_the_next_card, "does not see"),
        (leak_a_count_of_hidden_cards, "hidden cards do not show"),
        (change_the_old_state, "leaves the old state unchanged"),
        (lose_a_card, "every card lies in exactly one zone"),
        (leave_actions_unsorted, "legal actions are sorted"),
        (accept_anything, "is refused"),
        (miscount_the_fast_core, "the fast core plays the same game"),
    ],
)
def test_the_suite_notices(
    break_it: Callable[[pytest.MonkeyPatch], None], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each broken promise is told as such."""
    break_it(monkeypatch)
    with pytest.raises(ConformanceError, match=message):
        check_game(parse_ruleset("quasenbo"), seed=b"suite")


def test_a_playthrough_is_the_same_every_time() -> None:
    """The same game and seed are written down alike, another seed is not."""
    game = parse_ruleset("quasenbo")
    assert playthrough(game, seed=b"a") == playthrough(game, seed=b"a")
    assert playthrough(game, seed=b"a") != playthrough(game, seed=b"b")
