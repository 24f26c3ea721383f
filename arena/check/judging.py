"""Judges one bot by the matches it played. Entrant 0 is the bot that is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.check.report import StepState, shorten
from referee.outcome import ForfeitReason
from referee.sandbox.output import FREE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from referee.clock import TimeControl
    from referee.games.replay import ReplayGame
    from referee.match.connection import ProcessRecord
    from referee.match.runner import MatchResult
    from referee.outcome import Forfeit

CHECKED = 0
"""The entrant that is checked."""

_SLOW_START = 0.5
_MUCH_MEMORY = 0.75
_MUCH_TIME = 0.5

ADVICE = {
    ForfeitReason.ILLEGAL_ACTION: "answer with an element of the turn's legal actions, unchanged",
    ForfeitReason.INVALID_MESSAGE: (
        "answer every turn once, in the order in which the turns came; the SDK does so by itself"
    ),
    ForfeitReason.TIMEOUT: "think less: turn.time_left tells how much time the game has left",
    ForfeitReason.STALL: "answer every turn, even when its time is over",
    ForfeitReason.CRASH: "see what the bot printed; it must run until MatchOver has come",
    ForfeitReason.OUT_OF_MEMORY: "use less memory, and fewer files in /tmp and /dev/shm",
    ForfeitReason.NO_SHOW: "connect at once, and load what takes long before Ready",
    ForfeitReason.RESIGN: "play the games out",
    ForfeitReason.PRESSURE: "think on one core, and only while a turn is open",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a step; see `arena.check.report.Step`."""

    state: StepState
    detail: str
    advice: str = ""
    output: str = ""


def ok(detail: str) -> Finding:
    """Return a finding without a fault."""
    return Finding(StepState.OK, detail)


def judge_start(result: MatchResult, *, limit: float) -> Finding:
    """Judge whether every process of the bot got ready within ``limit`` seconds, and how fast."""
    for record in records(result):
        if record.start_seconds is None:
            forfeit = next(iter(forfeits(result)), None)
            detail = forfeit[1].detail if forfeit else "the process was never ready"
            reason = forfeit[1].reason if forfeit else ForfeitReason.NO_SHOW
            return Finding(StepState.FAIL, detail, ADVICE[reason], printed([record]))
    slowest = max(record.start_seconds or 0.0 for record in records(result))
    detail = f"ready after {slowest:.2f} s; the limit is {limit:g} s"
    if slowest > limit * _SLOW_START:
        return Finding(StepState.WARN, detail, "load less, or later: a busy machine is slower")
    return ok(detail)


def judge_play(result: MatchResult) -> Finding:
    """Judge whether the bot played without a forfeit."""
    games = len(result.replay.games)
    lost = list(forfeits(result))
    if not lost:
        return ok(f"{games} games without a forfeit")
    game, forfeit = lost[0]
    return Finding(
        StepState.FAIL,
        f"{len(lost)} of {games} games forfeited, the first on board {game.board} at ply "
        f"{forfeit.ply}: {forfeit.reason}: {forfeit.detail}",
        ADVICE[forfeit.reason],
        printed(records(result)),
    )


def judge_order(results: Sequence[MatchResult]) -> Finding:
    """Judge whether every message of the bot was well-formed and in order."""
    for result in results:
        for _, forfeit in forfeits(result):
            if forfeit.reason is ForfeitReason.INVALID_MESSAGE:
                advice = ADVICE[forfeit.reason]
                return Finding(StepState.FAIL, forfeit.detail, advice, printed(records(result)))
    turns = sum(len(list(asked(game))) for result in results for game in result.replay.games)
    return ok(f"{turns} turns answered, each once and in order")


def judge_time(results: Sequence[MatchResult], control: TimeControl) -> Finding:
    """Judge how much of its time the bot took in its slowest game."""
    worst_share, worst_turn = 0.0, 0.0
    for game in (game for result in results for game in result.replay.games):
        charged = list(asked(game))
        if charged:
            allowed = (control.bank + control.increment * len(charged)).total_seconds()
            worst_share = max(worst_share, sum(charged) / allowed)
            worst_turn = max(worst_turn, *charged)
    detail = (
        f"at most {worst_share:.0%} of a game's time at {control}, "
        f"and {worst_turn * 1e3:.0f} ms for a turn"
    )
    if worst_share > _MUCH_TIME:
        return Finding(StepState.WARN, detail, "think less: many games run at the same time")
    return ok(detail)


def judge_end(results: Sequence[MatchResult], *, limit: float) -> Finding:
    """Judge whether the bot's processes ended by themselves within ``limit`` seconds of MatchOver.

    One that is late now and then may have waited for a core of a busy machine, which is no fault of
    the bot's: it fails when most of them are.
    """
    ended = [
        record
        for result in results
        if not list(forfeits(result))
        for record in records(result)
        if record.start_seconds is not None
    ]
    late = [record for record in ended if record.report.stopped]
    if late:
        return Finding(
            StepState.FAIL if 2 * len(late) > len(ended) else StepState.WARN,
            f"{len(late)} of {len(ended)} processes still ran {limit:g} s after MatchOver, "
            "and were ended",
            "say Goodbye and exit when MatchOver comes; end threads and child processes",
            printed(late[:1]),
        )
    failed = [record for record in ended if record.report.code != 0]
    if failed:
        return Finding(
            StepState.WARN,
            f"the process ended with {failed[0].report}",
            "exit with 0 after MatchOver, so that a crash can be told from the end",
            printed(failed[:1]),
        )
    return ok(f"ended by itself after MatchOver; the limit is {limit:g} s")


def judge_memory(results: Sequence[MatchResult], *, limit: int) -> Finding:
    """Judge the bot's largest use of memory; ``limit`` in bytes."""
    peak = max(record.report.peak_memory for result in results for record in records(result))
    detail = f"{_mib(peak)} at most; the limit is {_mib(limit)}"
    reasons = {forfeit.reason for result in results for _, forfeit in forfeits(result)}
    ran_out = ForfeitReason.OUT_OF_MEMORY in reasons
    if ran_out or peak > limit * _MUCH_MEMORY:
        state = StepState.FAIL if ran_out else StepState.WARN
        return Finding(state, detail, ADVICE[ForfeitReason.OUT_OF_MEMORY])
    return ok(detail)


def judge_output(results: Sequence[MatchResult]) -> Finding:
    """Judge how much the bot prints."""
    most = max(record.report.output_bytes for result in results for record in records(result))
    detail = f"{most} bytes printed in a match at most"
    if most > FREE_BYTES:
        return Finding(
            StepState.WARN,
            f"{detail}; beyond {_mib(FREE_BYTES)} a bot is slowed down by its own output",
            "print less: the first and the last 64 KiB are kept",
        )
    return ok(detail)


def judge_determinism(first: MatchResult, second: MatchResult) -> Finding:
    """Judge whether the bot repeats its actions with the same seed."""
    for one, two in zip(first.replay.games, second.replay.games, strict=True):
        if one.actions != two.actions:
            pairs = enumerate(zip(one.actions, two.actions, strict=False))
            shorter = min(len(one.actions), len(two.actions))
            ply = next((ply for ply, (a, b) in pairs if a != b), shorter)
            return Finding(
                StepState.WARN,
                f"with the same seed board {one.board} went another way from ply {ply} on",
                "take chance from turn.rng, and clocks and threads into no decision, if you want "
                "to play a game again",
            )
    return ok(f"{len(first.replay.games)} games went the same way with the same seed")


def records(result: MatchResult) -> list[ProcessRecord]:
    """Return the processes of the checked bot."""
    return [record for record in result.processes if record.entrant == CHECKED]


def forfeits(result: MatchResult) -> Iterator[tuple[ReplayGame, Forfeit]]:
    """Yield the forfeits of the checked bot."""
    for game in result.replay.games:
        for forfeit in game.forfeits:
            if game.seats[forfeit.seat] == CHECKED:
                yield game, forfeit


def asked(game: ReplayGame) -> Iterator[float]:
    """Yield the seconds charged for each turn that the checked bot answered."""
    for times in game.times:
        if times is not None and game.seats[times.seat] == CHECKED:
            yield times.charged * 1e-6


def printed(processes: Iterable[ProcessRecord]) -> str:
    """Return the output of the first process that printed anything, stderr first."""
    for record in processes:
        if text := "\n".join(text for text in (record.stderr, record.stdout) if text.strip()):
            return shorten(text)
    return ""


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"
