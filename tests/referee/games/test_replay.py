"""Replays: the round trip, the proof of the outcome, and that no change passes."""

import dataclasses
import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.errors import InvalidReplayError
from referee.games import parse_ruleset
from referee.games.replay import (
    Replay,
    ReplayGame,
    TurnTimes,
    dump,
    load,
    seed_commitment,
    states,
    verify,
    without_details,
)
from referee.games.ruling import entrants_left, rule_on
from referee.match.boards import make_board, seating
from referee.outcome import Forfeit, ForfeitReason, Termination

SEED = bytes(range(32))
RULESETS = ["quasenbo", "quasenbo:players=4", "quasenbo:double=yes", "pese-katesh"]


def play_one(
    replay_ruleset: str, seed: bytes, board: int, table: int, choose: random.Random
) -> ReplayGame:
    """Play a game of random actions in which now and then a seat forfeits."""
    game = parse_ruleset(replay_ruleset)
    seats = seating(game, board=board, rotation=table)
    state = game.start(make_board(game, seed=seed, index=board))
    actions: list[str] = []
    times: list[TurnTimes | None] = []
    forfeits: list[Forfeit] = []
    while (seat := state.seat_to_act) is not None:
        if choose.random() < 0.02 and seats[seat] in entrants_left(seats, forfeits):
            reason = choose.choice(list(ForfeitReason))
            forfeits.append(Forfeit(seat=seat, reason=reason, detail="späť", ply=state.ply))
            if len(entrants_left(seats, forfeits)) <= 1:
                break
        asked = seats[seat] in entrants_left(seats, forfeits)
        legal = state.legal_actions()
        actions.append(choose.choice(legal) if asked else legal[0])
        now = state.ply * 1000
        times.append(TurnTimes(seat, now, now + 1, now + 5, now + 6, 3, 4) if asked else None)
        state = state.apply(actions[-1])
    return ReplayGame(
        board=board,
        table=table,
        seats=seats,
        actions=tuple(actions),
        times=tuple(times),
        forfeits=tuple(forfeits),
        termination=state.termination or Termination.FORFEIT,
        outcome=rule_on(game, state, seats, forfeits),
    )


def make_replay(ruleset: str, *, number: int = 0, boards: int = 2, seed: bytes = SEED) -> Replay:
    """Play a match without a referee."""
    game = parse_ruleset(ruleset)
    choose = random.Random(number)
    games = [
        play_one(ruleset, seed, board, table, choose)
        for board in range(boards)
        for table in range(game.rotations)
    ]
    return Replay(
        ruleset=ruleset,
        seed=seed,
        time_control="5+0.05",
        entrants=tuple(f"bot_{number}" for number in range(game.entrants)),
        games=tuple(games),
    )


@pytest.mark.parametrize("ruleset", RULESETS)
@settings(max_examples=12)
@given(number=st.integers(0, 10**6), seed=st.binary(min_size=32, max_size=32))
def test_a_replay_survives_the_round_trip_and_proves_itself(
    ruleset: str, number: int, seed: bytes
) -> None:
    """What is dumped loads as the same value, and re-execution reaches the stored outcome."""
    replay = make_replay(ruleset, number=number, boards=1, seed=seed)
    read = load(dump(replay))
    assert read == replay
    assert read.digest() == replay.digest()
    verify(read)


def test_states_rebuild_every_position() -> None:
    """One more state than actions, from the deal to the end."""
    replay = make_replay("quasenbo", number=3)
    for game in replay.games:
        reached = states(replay, game)
        assert [state.ply for state in reached] == list(range(len(game.actions) + 1))


def test_the_digest_leaves_times_and_sentences_out() -> None:
    """Equal play has an equal digest, however long it took and whatever was said of it."""
    replay = make_replay("quasenbo:players=4", number=1, boards=4)
    assert any(game.forfeits for game in replay.games)
    bare = replace(
        without_details(replay),
        games=tuple(replace(game, times=(None,) * len(game.times)) for game in replay.games),
    )
    assert bare != replay
    assert bare.digest() == replay.digest()
    verify(load(dump(bare)))


def changed_byte(data: bytes, at: int, choose: random.Random) -> bytes:
    """Replace one byte by another of its kind, so that the JSON mostly stays JSON."""
    old = chr(data[at])
    kinds = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    kind = next((kind for kind in kinds if old in kind), '0aA:,"[]{} ')
    new = choose.choice([char for char in kind if char != old])
    return data[:at] + new.encode() + data[at + 1 :]


def proved_parts(data: bytes) -> list[int]:
    """Return the places of every byte that is neither white space, a time nor a sentence."""
    places = list(range(len(data)))
    blanked = bytearray(data)
    for name, opening, closing in ((b'"times":[', b"[", b"]]"), (b'"detail":"', b'"', b'"')):
        at = 0
        while (at := data.find(name, at)) >= 0:
            start = at + len(name)
            if opening == b"[":
                end = data.index(b'],"digest"' if b'"digest"' in data[start:] else closing, start)
            else:
                end = data.index(closing, start)
            blanked[start:end] = b" " * (end - start)
            at = end
    return [place for place in places if blanked[place : place + 1].strip()]


@pytest.mark.parametrize(
    ("ruleset", "number"), [("quasenbo", 3), ("quasenbo:players=4", 1), ("pese-katesh:floors=1", 2)]
)
def test_no_changed_byte_passes(ruleset: str, number: int) -> None:
    """Header, seed, actions, seats, forfeits, outcomes, digests: loading or verifying fails."""
    data = dump(make_replay(ruleset, number=number, boards=1))
    choose = random.Random(0)
    places = proved_parts(data)
    for at in choose.sample(places, min(len(places), 1500)):
        changed = changed_byte(data, at, choose)
        with pytest.raises(InvalidReplayError):  # noqa: PT012 -- either step may refuse
            verify(load(changed))
            raise AssertionError(f"{data[at - 20 : at + 20]!r} -> {changed[at - 20 : at + 20]!r}")


def forged(replay: Replay, **changes: Any) -> Replay:
    """Change the first game, and write digests that fit."""
    game = dataclasses.replace(replay.games[0], **changes)
    return load(dump(dataclasses.replace(replay, games=(game, *replay.games[1:]))))


def other_action(game: ReplayGame) -> dict[str, Any]:
    """Replace the first action by one that another seat holds, most likely."""
    return {"actions": (game.actions[-1], *game.actions[1:])}


def better_outcome(game: ReplayGame) -> dict[str, Any]:
    """Let the loser win."""
    places = tuple(reversed(game.outcome.places))
    return {"outcome": dataclasses.replace(game.outcome, places=places)}


def last_seat(game: ReplayGame) -> int:
    """Return the seat that acted last."""
    assert game.times[-1] is not None
    return game.times[-1].seat


FORGERIES: dict[str, tuple[Callable[[ReplayGame], dict[str, Any]], str]] = {
    "an action": (other_action, "ply 0: "),
    "the places": (better_outcome, "the stored outcome is points"),
    "the termination": (
        lambda _: {"termination": Termination.PLAY_CAP},
        "the stored termination is play_cap, re-execution gives finished",
    ),
    "the end": (
        lambda game: {"actions": game.actions[:-1], "times": game.times[:-1]},
        "the actions stop before the game's end",
    ),
    "the seats": (lambda game: {"seats": (0,) * len(game.seats)}, "fit no table"),
    "too many actions": (
        lambda game: {"actions": (*game.actions, game.actions[-1]), "times": (*game.times, None)},
        "the game is over",
    ),
    "a forfeit": (
        lambda game: {
            "forfeits": (
                Forfeit(
                    seat=1 - last_seat(game),
                    reason=ForfeitReason.RESIGN,
                    detail="",
                    ply=len(game.actions) - 1,
                ),
            )
        },
        "the actions go on after the last forfeit",
    ),
    "a seat that is none": (
        lambda _: {"forfeits": (Forfeit(seat=7, reason=ForfeitReason.RESIGN, detail="", ply=0),)},
        "there is no seat 7",
    ),
    "a ply that is none": (
        lambda _: {
            "forfeits": (Forfeit(seat=0, reason=ForfeitReason.RESIGN, detail="", ply=9999),)
        },
        "forfeits at the plies [9999] fit no game",
    ),
    "who acted": (
        lambda game: {"times": (TurnTimes(1, 0, 0, 0, 0, 0, 0), *game.times[1:])},
        "not seat 1 acted, but seat 0",
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_with_fitting_digests_fails_by_re_execution(forgery: str) -> None:
    """Who can write digests still cannot write another history; the error says where."""
    replay = make_replay("quasenbo", number=2, boards=1)
    game = replay.games[0]
    assert game.forfeits == ()
    change, sentence = FORGERIES[forgery]
    fake = forged(replay, **change(game))
    with pytest.raises(InvalidReplayError) as caught:
        verify(fake)
    assert sentence in str(caught.value)
    assert caught.value.where.startswith("board 0, table 0")


def test_the_house_plays_the_first_legal_action_for_who_forfeited() -> None:
    """With more than two entrants the game goes on, and anything else in that seat is a forgery."""
    for number in range(100):
        replay = make_replay("quasenbo:players=4", number=number, boards=1)
        game = replay.games[0]
        if len(game.forfeits) == 1 and game.termination is Termination.FINISHED:
            break
    reached = states(replay, game)
    out = game.forfeits[0].seat
    for ply in range(game.forfeits[0].ply, len(game.actions)):
        legal = reached[ply].legal_actions()
        if reached[ply].seat_to_act == out and len(legal) > 1:
            break
    actions = [*game.actions]
    actions[ply] = legal[1]
    with pytest.raises(InvalidReplayError, match="the referee does not play") as caught:
        verify(forged(replay, actions=tuple(actions)))
    assert caught.value.where == f"board 0, table 0, ply {ply}"


def test_a_wrong_seed_is_found_by_its_commitment() -> None:
    """What was published before the match binds the cards."""
    document = json.loads(dump(make_replay("quasenbo")))
    document["seed"] = "00" * 32
    with pytest.raises(InvalidReplayError, match="seed: the seed does not fit its commitment"):
        load(json.dumps(document).encode())
    assert document["commitment"] == seed_commitment(SEED)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "this is not a replay"),
        (b"[]", "this is not a replay"),
        (b"[" * 100_000, "this is not a replay"),
        (b'{"format": "bot-arena replay"}', "this is not a replay: KeyError('version')"),
        (b"\xff\xfe", "this is not a replay"),
    ],
)
def test_what_is_no_replay_is_refused(data: bytes, sentence: str) -> None:
    """Whatever the bytes, the error is the same kind."""
    with pytest.raises(InvalidReplayError) as caught:
        load(data)
    assert sentence in str(caught.value)


def test_a_later_version_is_named() -> None:
    """The reader learns which version would be needed."""
    document = json.loads(dump(make_replay("quasenbo")))
    document["version"] = 2
    with pytest.raises(InvalidReplayError, match="version 2; known here is"):
        load(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("key", "value"),
    [("board", 0.0), ("board", True), ("actions", [1]), ("seats", "01"), ("times", []),
     ("points", [None, None]), ("forfeits", [{}]), ("termination", "rain")],
)  # fmt: skip
def test_values_of_the_wrong_type_are_refused(key: str, value: Any) -> None:
    """Nothing but whole numbers and texts comes through, where they belong."""
    document = json.loads(dump(make_replay("quasenbo", number=2)))
    document["games"][0][key] = value
    with pytest.raises(InvalidReplayError, match="this is not a replay"):
        load(json.dumps(document).encode())


@pytest.mark.parametrize("key", ["time_control", "tier", "ruleset", "entrants"])
def test_a_changed_header_says_so(key: str) -> None:
    """Each of its lines is under a digest."""
    document = json.loads(dump(make_replay("quasenbo")))
    document[key] = ["x", "y"] if key == "entrants" else "quasenbo:double=yes"
    with pytest.raises(InvalidReplayError, match=r"header: .*the digest differs"):
        load(json.dumps(document).encode())


def test_a_replay_with_other_entrants_than_the_rules_have_is_refused() -> None:
    """Two bots cannot have played a game of four."""
    replay = dataclasses.replace(make_replay("quasenbo"), entrants=("a", "b", "c"))
    with pytest.raises(InvalidReplayError, match="2 entrants play, the replay names 3"):
        verify(replay)


def test_a_ruleset_that_is_not_canonical_is_refused() -> None:
    """One text per ruleset, or equal matches would differ."""
    replay = dataclasses.replace(make_replay("quasenbo"), ruleset="quasenbo:players=2")
    with pytest.raises(InvalidReplayError, match="is not canonical"):
        verify(replay)
