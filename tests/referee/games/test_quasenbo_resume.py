from random import Random

import pytest

from referee.games import Board, parse_ruleset
from referee.games.quasenbo import QuasenboGame
from referee.games.quasenbo_core import QuasenboCore


@pytest.mark.parametrize(
    "ruleset",
    ["quasenbo", "quasenbo:double=yes,players=3", "quasenbo-magnus:courts=yes,excuse=yes"],
)
@pytest.mark.parametrize("seed", range(20))
def test_a_resumed_position_plays_on_like_the_original(ruleset: str, seed: int) -> None:
    """A position rebuilt from its parts has the same future as the one that was played to."""
    game = parse_ruleset(ruleset)
    assert isinstance(game, QuasenboGame)
    core = QuasenboCore.start(game.rules, Board.from_seed(game, seed.to_bytes(32, "big")))
    choose = Random(seed)
    while core.legal and core.plays < seed:
        core.apply(core.legal.bit_length() - 1)
    if not core.legal or core.recycles:
        return
    resumed = QuasenboCore.resume(
        game.rules,
        core.board,
        hands=core.hands,
        pile=core.pile_codes(),
        deck=core.deck[core.deck_at :],
        seat=core.seat,
        plays=core.plays,
    )
    assert resumed.legal == core.legal
    state = choose.getstate()
    core.playout(choose)
    choose.setstate(state)
    resumed.playout(choose)
    assert (resumed.hands, resumed.plays) == (core.hands, core.plays)
    assert resumed.pile_codes() == core.pile_codes()
