"""Store a match so that every state can be rebuilt and every outcome verified.

A replay is JSON (compression and files lie above). Each game carries a digest of everything but
times and sentences, the header another, so that no changed byte passes; `verify` re-executes every
game from the match's seed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from referee.errors import InputError, InvalidReplayError
from referee.games.base import Board, Game, State
from referee.games.random_streams import SEED_BYTES, board_seed
from referee.games.registry import parse_ruleset
from referee.games.ruling import entrants_left, rule_on
from referee.outcome import Forfeit, ForfeitReason, Outcome, Termination

FORMAT = "bot-arena replay"
VERSION = 1


class TurnTimes(NamedTuple):
    """Hold the moments of one seat's turn, in microseconds since the start of its game.

    A named tuple, since millions are made.

    Attributes:
        seat: the seat that was asked; not a time.
        ready: it became the seat's turn.
        sent: the turn was written to the bot's stream.
        answered: the bot's answer arrived.
        applied: the action was applied.
        think: thinking time as the bot reports it; a duration.
        charged: time charged by the clock; a duration.
    """

    seat: int
    ready: int
    sent: int
    answered: int
    applied: int
    think: int
    charged: int


@dataclass(frozen=True, slots=True)
class ReplayGame:
    """Hold one game of a match.

    Attributes:
        board: the board's index in the match.
        table: the rotation, which is also the table's number.
        seats: the entrant in each seat.
        actions: every action in order, those that the referee played for a seat included.
        times: one entry per action; None where no bot was asked.
        forfeits: in the order in which they fell.
        termination: why the game ended.
        outcome: points and places by seat, forfeits included.
    """

    board: int
    table: int
    seats: tuple[int, ...]
    actions: tuple[str, ...]
    times: tuple[TurnTimes | None, ...]
    forfeits: tuple[Forfeit, ...]
    termination: Termination
    outcome: Outcome

    def digest(self) -> str:
        """Return 32 hex digits over everything but times and details of forfeits."""
        content = {
            "board": self.board,
            "table": self.table,
            "seats": self.seats,
            "actions": self.actions,
            "forfeits": [(f.seat, f.reason.value, f.ply) for f in self.forfeits],
            "termination": self.termination.value,
            "points": self.outcome.points,
            "places": self.outcome.places,
        }
        text = json.dumps(content, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Replay:
    """Hold a match as it was played.

    Attributes:
        ruleset: canonical text.
        seed: the match's seed, 32 bytes; board i has HMAC(seed, i).
        time_control: as text, ``5+0.05``.
        entrants: the entrants' names, in entrant order.
        games: by board, then by table.
        tier: the sandbox's tier.
    """

    ruleset: str
    seed: bytes
    time_control: str
    entrants: tuple[str, ...]
    games: tuple[ReplayGame, ...]
    tier: str = "none"

    def digest(self) -> str:
        """Return 64 hex digits over the match; equal for equal play, whatever the times."""
        lines = [self.ruleset, self.seed.hex(), *self.entrants, *(g.digest() for g in self.games)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def seed_commitment(seed: bytes) -> str:
    """Return the commitment published before a match: SHA-256 of its seed, in hex."""
    return hashlib.sha256(seed).hexdigest()


def states(replay: Replay, game: ReplayGame) -> list[State]:
    """Return every state of a game, the first and the last included.

    Raises:
        InvalidReplayError: an action is not legal.
    """
    reached = [_first_state(parse_ruleset(replay.ruleset), replay, game)]
    for ply, action in enumerate(game.actions):
        reached.append(_next_state(reached[-1], action, f"{_name(game)}, ply {ply}"))
    return reached


def _first_state(rules: Game, replay: Replay, game: ReplayGame) -> State:
    return rules.start(Board.from_seed(rules, board_seed(replay.seed, game.board)))


def _next_state(state: State, action: str, where: str) -> State:
    try:
        return state.apply(action)
    except InputError as error:
        raise InvalidReplayError(str(error), where=where) from error


def verify(replay: Replay) -> None:
    """Re-execute every game from the seed and compare with what is stored.

    Raises:
        InvalidReplayError: says where the replay differs.
    """
    rules = parse_ruleset(replay.ruleset)
    if rules.ruleset != replay.ruleset:
        raise InvalidReplayError(f"{replay.ruleset!r} is not canonical", where="ruleset")
    if rules.entrants != len(replay.entrants):
        raise InvalidReplayError(
            f"{rules.entrants} entrants play, the replay names {len(replay.entrants)}",
            where="entrants",
        )
    for game in replay.games:
        _verify_game(rules, replay, game)


def _verify_game(rules: Game, replay: Replay, game: ReplayGame) -> None:
    where = _name(game)
    if len(game.seats) != rules.seats or set(game.seats) != set(range(rules.entrants)):
        raise InvalidReplayError(f"seats {list(game.seats)} fit no table", where=where)
    _verify_forfeits(game)
    state = _first_state(rules, replay, game)
    for ply, (action, times) in enumerate(zip(game.actions, game.times, strict=True)):
        where = f"{_name(game)}, ply {ply}"
        seat = state.seat_to_act
        if times is not None and times.seat != seat:
            raise InvalidReplayError(f"not seat {times.seat} acted, but seat {seat}", where=where)
        gone = {game.seats[f.seat] for f in game.forfeits if f.ply <= ply}
        if seat is not None and game.seats[seat] in gone and action != state.legal_actions()[0]:
            raise InvalidReplayError(
                f"seat {seat} had forfeited, and the referee does not play {action}", where=where
            )
        state = _next_state(state, action, where)
    _verify_end(rules, game, state)


def _verify_forfeits(game: ReplayGame) -> None:
    where = _name(game)
    plies = [forfeit.ply for forfeit in game.forfeits]
    if plies != sorted(plies) or not all(0 <= ply <= len(game.actions) for ply in plies):
        raise InvalidReplayError(f"forfeits at the plies {plies} fit no game", where=where)
    entrants = []
    for forfeit in game.forfeits:
        if not 0 <= forfeit.seat < len(game.seats):
            raise InvalidReplayError(f"there is no seat {forfeit.seat} to forfeit", where=where)
        entrants.append(game.seats[forfeit.seat])
    if len(entrants) != len(set(entrants)):
        raise InvalidReplayError("an entrant forfeits twice", where=where)


def _verify_end(rules: Game, game: ReplayGame, last: State) -> None:
    where = _name(game)
    by_forfeit = len(entrants_left(game.seats, game.forfeits)) <= 1
    if last.outcome() is None and not by_forfeit:
        raise InvalidReplayError("the actions stop before the game's end", where=where)
    if by_forfeit and game.forfeits[-1].ply != len(game.actions):
        raise InvalidReplayError("the actions go on after the last forfeit", where=where)
    termination = Termination.FORFEIT if last.outcome() is None else last.termination
    if game.termination != termination:
        raise InvalidReplayError(
            f"the stored termination is {game.termination}, re-execution gives {termination}",
            where=where,
        )
    outcome = rule_on(rules, last, game.seats, game.forfeits)
    if outcome != game.outcome:
        raise InvalidReplayError(
            f"the stored outcome is points {list(game.outcome.points)} places "
            f"{list(game.outcome.places)}, re-execution gives {list(outcome.points)} and "
            f"{list(outcome.places)}",
            where=where,
        )


def _name(game: ReplayGame) -> str:
    return f"board {game.board}, table {game.table}"


def dump(replay: Replay) -> bytes:
    """Return a replay as UTF-8 JSON, one game a line."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "ruleset": replay.ruleset,
        "seed": replay.seed.hex(),
        "commitment": seed_commitment(replay.seed),
        "time_control": replay.time_control,
        "tier": replay.tier,
        "entrants": replay.entrants,
        "digest": replay.digest(),
        "header_digest": _header_digest(replay),
    }
    head = json.dumps(header, ensure_ascii=False, separators=(",", ":"))
    games = ",\n".join(
        json.dumps(_game_to_json(game), ensure_ascii=False, separators=(",", ":"))
        for game in replay.games
    )
    return f'{head[:-1]},"games":[\n{games}\n]}}\n'.encode()


def load(data: bytes) -> Replay:
    """Read a replay and check its digests; `verify` does the rest.

    Raises:
        InvalidReplayError: the bytes are no replay, or a digest differs; says where.
    """
    try:
        document = json.loads(data)
        stored = (document["format"], document["version"])
        replay = _replay_from_json(document) if stored == (FORMAT, VERSION) else None
        digests = [game["digest"] for game in document["games"]]
        stored_header = {key: document[key] for key in ("commitment", "digest", "header_digest")}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidReplayError(f"this is not a replay: {error!r}") from error
    if replay is None:
        raise InvalidReplayError(
            f"this is {stored[0]!r}, version {stored[1]!r}; "
            f"known here is {FORMAT!r}, version {VERSION}",
            where="header",
        )
    _check_digests(replay, digests, **stored_header)
    return replay


def _header_digest(replay: Replay) -> str:
    """Return 32 hex digits over the header's fields that `Replay.digest` leaves out."""
    content = json.dumps([FORMAT, VERSION, replay.time_control, replay.tier])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def _check_digests(
    replay: Replay, digests: list[str], *, commitment: str, digest: str, header_digest: str
) -> None:
    if len(replay.seed) != SEED_BYTES or seed_commitment(replay.seed) != commitment:
        raise InvalidReplayError("the seed does not fit its commitment", where="seed")
    for game, stored in zip(replay.games, digests, strict=True):
        if game.digest() == stored:
            continue
        # Re-execution finds the ply of an illegal change; the digest detects any other.
        _verify_game(parse_ruleset(replay.ruleset), replay, game)
        raise InvalidReplayError(
            "the actions or the outcome were changed: the digest differs", where=_name(game)
        )
    if replay.digest() != digest:
        raise InvalidReplayError(
            "the ruleset, the entrants or the list of games was changed: the digest differs",
            where="header",
        )
    if _header_digest(replay) != header_digest:
        raise InvalidReplayError(
            "the time control or the tier was changed: the digest differs", where="header"
        )


def _game_to_json(game: ReplayGame) -> dict[str, Any]:
    return {
        "board": game.board,
        "table": game.table,
        "seats": game.seats,
        "termination": game.termination.value,
        "points": game.outcome.points,
        "places": game.outcome.places,
        "forfeits": [
            {"seat": f.seat, "reason": f.reason.value, "ply": f.ply, "detail": f.detail}
            for f in game.forfeits
        ],
        "actions": game.actions,
        "times": game.times,
        "digest": game.digest(),
    }


def _replay_from_json(document: dict[str, Any]) -> Replay:
    return Replay(
        ruleset=_text(document["ruleset"]),
        seed=bytes.fromhex(document["seed"]),
        time_control=_text(document["time_control"]),
        entrants=tuple(map(_text, document["entrants"])),
        games=tuple(map(_game_from_json, document["games"])),
        tier=_text(document["tier"]),
    )


def _game_from_json(document: dict[str, Any]) -> ReplayGame:
    game = ReplayGame(
        board=_number(document["board"]),
        table=_number(document["table"]),
        seats=tuple(map(_number, document["seats"])),
        actions=tuple(map(_text, document["actions"])),
        times=tuple(times and TurnTimes(*map(_number, times)) for times in document["times"]),
        forfeits=tuple(
            Forfeit(
                seat=_number(item["seat"]),
                reason=ForfeitReason(item["reason"]),
                detail=_text(item["detail"]),
                ply=_number(item["ply"]),
            )
            for item in document["forfeits"]
        ),
        termination=Termination(document["termination"]),
        outcome=Outcome(
            points=tuple(map(_number, document["points"])),
            places=tuple(map(_number, document["places"])),
        ),
    )
    if len(game.times) != len(game.actions):
        raise ValueError(f"{_name(game)}: {len(game.times)} times, {len(game.actions)} actions")
    return game


def _number(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def without_details(replay: Replay) -> Replay:
    """Return the replay without the details of forfeits; all digests stay the same."""
    return replace(
        replay,
        games=tuple(
            replace(game, forfeits=tuple(replace(forfeit, detail="") for forfeit in game.forfeits))
            for game in replay.games
        ),
    )
