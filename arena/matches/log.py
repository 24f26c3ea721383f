"""Renders the log of a match: every turn, its times, what the bot printed, why it lost.

The four times of a turn, in milliseconds: *queue* from when the seat was to act until the turn was
sent, which waits for a free core; *transport* from there to the answer, less what the bot says it
thought: the way there and back, and the bot's other turns before it; *think* what the bot says it
thought; *charged* what the clock took.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from arena.matches.process_log import process_key
from arena.matches.report import numbered
from referee.games.replay import states
from referee.outcome import ForfeitReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.matches.process_log import ProcessLog
    from referee.games.replay import Replay, ReplayGame, TurnTimes
    from referee.outcome import Forfeit

LEGEND: Final = (
    "Times in ms. queue: until the turn was sent; transport: from there to the answer, less think; "
    "think: what the bot says; charged: by the clock."
)

_WORDS: Final = {
    ForfeitReason.ILLEGAL_ACTION: "by an illegal action",
    ForfeitReason.INVALID_MESSAGE: "by breaking the protocol",
    ForfeitReason.TIMEOUT: "on time",
    ForfeitReason.STALL: "by falling silent",
    ForfeitReason.CRASH: "by a crash",
    ForfeitReason.OUT_OF_MEMORY: "by using too much",
    ForfeitReason.NO_SHOW: "by not getting ready",
    ForfeitReason.RESIGN: "by resigning",
    ForfeitReason.PRESSURE: "by burning too much processor time",
}
_LED_IN: Final = {ForfeitReason.TIMEOUT: "it needed at least "}
"""What goes before a forfeit's sentence to make it one."""

_ENDED: Final = {ForfeitReason.CRASH, ForfeitReason.NO_SHOW, ForfeitReason.OUT_OF_MEMORY}
"""Reasons for which the last line on stderr may tell more."""


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """One action of a game.

    Attributes:
        action: None where the answer never came, and the game ended.
        by: ``bot``, ``referee`` where there was no choice, ``house`` for one who had forfeited.
        times: None where no bot answered.
        printed: what the bot printed meanwhile; empty where that is not known.
    """

    ply: int
    seat: int
    bot: str
    legal_actions: tuple[str, ...]
    action: str | None
    by: str
    times: TurnTimes | None
    printed: str

    @property
    def millis(self) -> dict[str, float]:
        """The four times in ms; empty where no bot answered."""
        times = self.times
        if times is None:
            return {}
        micros = {
            "queue": times.sent - times.ready,
            "transport": max(0, times.answered - times.sent - times.think),
            "think": times.think,
            "charged": times.charged,
        }
        return {part: micro / 1e3 for part, micro in micros.items()}


@dataclass(frozen=True, slots=True)
class LoggedGame:
    """One game of a match: its index in the replay, its turns, a sentence for each forfeit.

    A last turn may never have been answered.
    """

    number: int
    game: ReplayGame
    turns: tuple[LoggedTurn, ...]
    forfeits: tuple[str, ...]


class MatchLog:
    """The log of a match; ``processes`` may be those of one owner alone.

    Without ``names`` the entrants have the replay's, numbered.
    """

    def __init__(
        self,
        replay: Replay,
        processes: Sequence[ProcessLog] = (),
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        self._replay = replay
        self._names = tuple(names) if names else numbered(replay.entrants)
        self._processes = {(each.table, each.entrant, each.member): each for each in processes}
        self._printed = {key: each.printed() for key, each in self._processes.items()}

    def game(self, number: int) -> LoggedGame:
        """Return one game."""
        game = self._replay.games[number]
        reached = states(self._replay, game)
        turns = []
        for ply, state in enumerate(reached):
            seat = state.seat_to_act
            if seat is None:
                break
            printed = self._printed.get(process_key(game, seat), {})
            answered = ply < len(game.actions)
            times = game.times[ply] if answered else None
            turns.append(
                LoggedTurn(
                    ply=ply,
                    seat=seat,
                    bot=self._names[game.seats[seat]],
                    legal_actions=state.legal_actions(),
                    action=game.actions[ply] if answered else None,
                    by=_by(game, seat=seat, ply=ply),
                    times=times,
                    printed=printed.get((game.board, ply), ""),
                )
            )
        sentences = tuple(self.sentence(number, forfeit) for forfeit in game.forfeits)
        return LoggedGame(number, game, tuple(turns), sentences)

    def sentence(self, number: int, forfeit: Forfeit) -> str:
        """Return in words who lost a game by forfeit, and why.

        An arena's replays lack the details, which come from the processes' logs.
        """
        game = self._replay.games[number]
        reason = forfeit.reason
        told = f"{self._names[game.seats[forfeit.seat]]} lost game {number} {_WORDS[reason]}"
        if reason is not ForfeitReason.NO_SHOW:
            told += f" at ply {forfeit.ply}"
        process = self._processes.get(process_key(game, forfeit.seat))
        kept = process.forfeits.get(number, "") if process is not None else ""
        if detail := forfeit.detail or kept:
            told += f": {_LED_IN.get(reason, '')}{detail}"
        if reason in _ENDED and process is not None and process.last_words:
            told += f"; the last that it said: {process.last_words}"
        return told

    def lines(self, *, game: int | None = None) -> Iterator[str]:
        """Yield the log as text, line by line; of one game or of all.

        The last lines are the `verdicts`.
        """
        replay = self._replay
        yield (
            f"{replay.ruleset}, {' - '.join(self._names)}, {replay.time_control}, "
            f"sandbox: {replay.tier}"
        )
        yield LEGEND
        numbers = range(len(replay.games)) if game is None else [game]
        for number in numbers:
            yield ""
            yield from self._game_lines(self.game(number))
        for process in self._processes_of(game):
            yield from self._process_lines(process)
        yield ""
        yield from self.verdicts(numbers)

    def verdicts(self, numbers: Sequence[int]) -> Iterator[str]:
        """Yield why games were forfeited, the first of each entrant and reason in full."""
        games: dict[tuple[int, ForfeitReason], list[int]] = {}
        sentences: dict[tuple[int, ForfeitReason], str] = {}
        for number in numbers:
            game = self._replay.games[number]
            for forfeit in game.forfeits:
                key = (game.seats[forfeit.seat], forfeit.reason)
                games.setdefault(key, []).append(number)
                sentences.setdefault(key, self.sentence(number, forfeit))
        for key, sentence in sentences.items():
            others = games[key][1:]
            word = "games" if len(others) > 1 else "game"
            yield f"{sentence} (likewise {word} {_ranges(others)})" if others else sentence
        if not sentences:
            yield "no game was forfeited"

    def document(self, *, game: int | None = None) -> dict[str, Any]:
        """Return the log as JSON; of one game or of all."""
        replay = self._replay
        numbers = range(len(replay.games)) if game is None else [game]
        return {
            "ruleset": replay.ruleset,
            "entrants": list(self._names),
            "time_control": replay.time_control,
            "sandbox": replay.tier,
            "games": [_game_document(self.game(number)) for number in numbers],
            "processes": [
                {
                    "bot": self._names[process.entrant],
                    "table": process.table,
                    "hand": process.member,
                    "facts": list(process.facts),
                    "stdout": process.stdout,
                    "stderr": process.stderr,
                }
                for process in self._processes_of(game)
            ],
            "verdicts": list(self.verdicts(numbers)),
        }

    def _processes_of(self, game: int | None) -> list[ProcessLog]:
        """Return the processes that played a game, or any."""
        table = None if game is None else self._replay.games[game].table
        return [each for each in self._processes.values() if table in {None, each.table}]

    def _game_lines(self, log: LoggedGame) -> Iterator[str]:
        game = log.game
        seats = ", ".join(
            f"seat {seat} {self._names[entrant]}" for seat, entrant in enumerate(game.seats)
        )
        yield f"game {log.number}, board {game.board}, table {game.table}: {seats}"
        wide = max(map(len, self._names))
        heads = ("ply", "seat", "bot".ljust(wide), *map("{:>9}".format, _PARTS), "action")
        yield "{:>5} {:>4} {} {} {} {} {}  {}".format(*heads)
        for turn in log.turns:
            yield _turn_line(turn, wide=wide)
            for line in turn.printed.splitlines():
                yield f"{'':11}| {line}"
        yield f"{game.termination}: " + ", ".join(
            f"{self._names[entrant]} {game.outcome.points[seat]} points, place "
            f"{game.outcome.places[seat]}"
            for seat, entrant in enumerate(game.seats)
        )
        yield from log.forfeits

    def _process_lines(self, process: ProcessLog) -> Iterator[str]:
        """Yield a process's output that belongs to no turn."""
        hand = f", hand {process.member}" if process.member else ""
        yield ""
        yield f"{self._names[process.entrant]} at table {process.table}{hand}:"
        yield from (f"  {fact}" for fact in process.facts)
        known = {
            (game.board, ply)
            for game in self._replay.games
            for ply in range(len(game.actions) + 1)
            if game.table == process.table
        }
        for turn, text in process.printed().items():
            if turn not in known:
                yield from (f"  | {line}" for line in text.splitlines())


_PARTS: Final = ("queue", "transport", "think", "charged")


def _turn_line(turn: LoggedTurn, *, wide: int) -> str:
    if turn.times is not None:
        times = " ".join(f"{turn.millis[part]:9.3f}" for part in _PARTS)
    else:
        why = {"bot": "no answer", "referee": "no choice", "house": "by the house"}[turn.by]
        times = why.center(len(_PARTS) * 10 - 1)
    action = turn.action if turn.action is not None else "-"
    legal = " ".join(turn.legal_actions)
    return (
        f"{turn.ply:5} {turn.seat:4} {turn.bot.ljust(wide)} {times}  {action.ljust(6)} of {legal}"
    )


def _by(game: ReplayGame, *, seat: int, ply: int) -> str:
    if ply >= len(game.actions) or game.times[ply] is not None:
        return "bot"
    gone = any(
        game.seats[forfeit.seat] == game.seats[seat] and forfeit.ply <= ply
        for forfeit in game.forfeits
    )
    return "house" if gone else "referee"


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers for people: ``1-3, 7``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def _game_document(log: LoggedGame) -> dict[str, Any]:
    game = log.game
    return {
        "game": log.number,
        "board": game.board,
        "table": game.table,
        "seats": list(game.seats),
        "termination": str(game.termination),
        "points": list(game.outcome.points),
        "places": list(game.outcome.places),
        "turns": [
            {
                "ply": turn.ply,
                "seat": turn.seat,
                "bot": turn.bot,
                "legal_actions": list(turn.legal_actions),
                "action": turn.action,
                "by": turn.by,
                **{f"{part}_ms": millis for part, millis in turn.millis.items()},
                "printed": turn.printed,
            }
            for turn in log.turns
        ],
        "forfeits": list(log.forfeits),
    }
