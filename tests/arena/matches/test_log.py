"""The log of a match tells an author each turn, its times, what was printed, and why it lost."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.archive.archive import Archive
from arena.matches import replay_file as replay_files
from arena.matches.log import MatchLog
from arena.matches.process_log import ProcessLog
from arena.queue.models import MatchSpec
from arena.worker.artifacts import store
from referee.games import parse_ruleset
from referee.games.replay import Replay, ReplayGame, TurnTimes
from referee.games.ruling import entrants_left, rule_on
from referee.match.boards import make_board, seating
from referee.match.connection import ProcessRecord
from referee.match.runner import MatchResult
from referee.outcome import Forfeit, ForfeitReason, Termination
from referee.sandbox.process import ExitReport

if TYPE_CHECKING:
    from pathlib import Path

SEED = bytes(32)
TIMES = (1_000, 1_250, 4_000, 4_100, 2_000, 2_500)
"""Ready, sent, answered, applied, think, charged; microseconds."""


def play_game(
    ruleset: str, *, board: int = 0, table: int = 0, forfeits: tuple[Forfeit, ...] = ()
) -> ReplayGame:
    """Play first legal actions; a forfeit falls at its ply, then the house plays."""
    rules = parse_ruleset(ruleset)
    seats = seating(rules, board=board, rotation=table)
    state = rules.start(make_board(rules, seed=SEED, index=board))
    actions: list[str] = []
    times: list[TurnTimes | None] = []
    while (seat := state.seat_to_act) is not None:
        fallen = [each for each in forfeits if each.ply <= state.ply]
        left = entrants_left(seats, fallen)
        if len(left) <= 1:
            break
        legal = state.legal_actions()
        asked = len(legal) > 1 and seats[seat] in left
        actions.append(legal[0])
        times.append(TurnTimes(seat, *TIMES) if asked else None)
        state = state.apply(legal[0])
    return ReplayGame(
        board=board,
        table=table,
        seats=seats,
        actions=tuple(actions),
        times=tuple(times),
        forfeits=forfeits,
        termination=state.termination or Termination.FORFEIT,
        outcome=rule_on(rules, state, seats, forfeits),
    )


def make_replay(ruleset: str, *games: ReplayGame) -> Replay:
    """Return a replay of these games, or of one board without a forfeit."""
    entrants = parse_ruleset(ruleset).entrants
    tables = range(parse_ruleset(ruleset).rotations)
    return Replay(
        ruleset=ruleset,
        seed=SEED,
        time_control="5+0.05",
        entrants=("greedy", "random", "third", "fourth")[:entrants],
        games=games or tuple(play_game(ruleset, table=table) for table in tables),
    )


def forfeit(reason: ForfeitReason, detail: str, *, seat: int = 0, ply: int = 2) -> Forfeit:
    """Return a forfeit."""
    return Forfeit(seat=seat, reason=reason, detail=detail, ply=ply)


def test_a_turn_shows_its_four_times() -> None:
    """Queue, transport, think and charged follow from the stored moments."""
    turn = next(turn for turn in MatchLog(make_replay("quasenbo")).game(0).turns if turn.times)
    assert turn.millis == {"queue": 0.25, "transport": 0.75, "think": 2.0, "charged": 2.5}
    assert turn.by == "bot"
    assert turn.action in turn.legal_actions


def test_a_turn_without_a_choice_says_so() -> None:
    """The referee plays it, and there are no times."""
    turns = MatchLog(make_replay("quasenbo")).game(0).turns
    forced = [turn for turn in turns if len(turn.legal_actions) == 1]
    assert forced
    assert all(turn.by == "referee" and turn.millis == {} for turn in forced)
    lines = list(MatchLog(make_replay("quasenbo")).lines(game=0))
    assert sum("no choice" in line for line in lines) == len(forced)


def test_what_was_printed_stands_beside_its_turn() -> None:
    """Marks of the SDK name game and ply; the rest stands with its process."""
    replay = make_replay("quasenbo")
    game = replay.games[1]
    seat = game.seats.index(0)
    ply = next(ply for ply, times in enumerate(game.times) if times and times.seat == seat)
    process = ProcessLog(
        table=1,
        entrant=0,
        facts=("ready after 0.300 s",),
        stdout=f"loading\n[game 0, ply {ply}]\nhm\n[between turns]\nover\n",
        stderr=f"[game 0, ply {ply}]\noh\n[game 9, ply 9]\nlost\n",
    )
    log = MatchLog(replay, [process])
    assert {turn.ply: turn.printed for turn in log.game(1).turns if turn.printed} == {
        ply: "hm\noh\n"
    }
    lines = list(log.lines(game=1))
    beside = lines.index("           | hm")
    assert f" {seat} greedy" in lines[beside - 1]
    assert lines[beside + 1] == "           | oh"
    own = lines[lines.index("greedy at table 1:") :]
    assert [line.strip("| ") for line in own[1:5]] == [
        "ready after 0.300 s", "loading", "over", "lost",
    ]  # fmt: skip
    assert all("| hm" not in line for line in log.lines(game=0))


@pytest.mark.parametrize(
    ("reason", "detail", "sentence"),
    [
        (
            ForfeitReason.TIMEOUT,
            "5.312 s for one turn with 4.900 s left in the bank of 5+0.05",
            (
                "greedy lost game 0 on time at ply 2: it needed at least 5.312 s for one turn with "
                "4.900 s left in the bank of 5+0.05"
            ),
        ),
        (
            ForfeitReason.CRASH,
            "the process ended early: exit code 3",
            (
                "greedy lost game 0 by a crash at ply 2: the process ended early: exit code 3; the "
                "last that it said: ValueError: boom"
            ),
        ),
        (
            ForfeitReason.NO_SHOW,
            "no Ready within 10 s of its start",
            (
                "greedy lost game 0 by not getting ready: no Ready within 10 s of its start; the "
                "last that it said: ValueError: boom"
            ),
        ),
        (ForfeitReason.RESIGN, "", "greedy lost game 0 by resigning at ply 2"),
    ],
)
def test_a_forfeit_is_told_in_words(reason: ForfeitReason, detail: str, sentence: str) -> None:
    """Who lost which game by what, where, and what the process said last."""
    replay = make_replay("quasenbo", play_game("quasenbo", forfeits=(forfeit(reason, detail),)))
    stderr = "Traceback (most recent call last):\nValueError: boom\n\n"
    log = MatchLog(replay, [ProcessLog(table=0, entrant=0, stderr=stderr)])
    assert log.game(0).forfeits == (sentence,)
    assert list(log.lines())[-1] == sentence


@pytest.mark.parametrize("reason", list(ForfeitReason))
def test_every_reason_has_words(reason: ForfeitReason) -> None:
    """No reason is told by its name alone."""
    replay = make_replay("quasenbo", play_game("quasenbo", forfeits=(forfeit(reason, "so"),)))
    (sentence,) = MatchLog(replay).verdicts([0])
    assert sentence.startswith("greedy lost game 0 ")
    assert sentence.endswith("so")


def test_a_sentence_that_the_replay_lacks_comes_from_the_log(tmp_path: Path) -> None:
    """The archived replay quotes nothing of a bot; its process's log does, and no other one.

    There the bot's folder, which the arena names by what it holds, has the bot's name.
    """
    fallen = (forfeit(ForfeitReason.CRASH, f"exit code 3,\n12 MiB in {'a' * 64}/bot.toml"),)
    replay = make_replay("quasenbo", play_game("quasenbo", forfeits=fallen))
    report = ExitReport(code=0, stopped=False, peak_memory=0, cpu_seconds=0.0)
    records = [
        ProcessRecord(
            table=0,
            entrant=entrant,
            member=0,
            start_seconds=0.1,
            stdout="",
            stderr="",
            report=report,
        )
        for entrant in (0, 1)
    ]
    archive = Archive(str(tmp_path / "archive"), cache=tmp_path / "cache")
    spec = MatchSpec(
        id="ladder-1",
        ruleset="quasenbo",
        entrants=("greedy@1", "random@1"),
        seed=SEED,
        boards=1,
        time_control="5+0.05",
        flow="ladder",
        rated=True,
        cost=1,
    )
    store(archive, spec, MatchResult(replay, tuple(records), 1.0), digests=("a" * 64, "b" * 64))
    (file,) = (tmp_path / "archive" / "replays").rglob("*.replay*")
    public = replay_files.read(file)
    assert public.games[0].forfeits == (replace(fallen[0], detail=""),)
    assert public.digest() == replay.digest()
    told = "greedy lost game 0 by a crash at ply 2"
    assert MatchLog(public).game(0).forfeits == (told,)
    (file,) = (tmp_path / "archive" / "logs").rglob("*.zst")
    assert "t0-e0" in file.name
    text = replay_files.decompress(file.read_bytes()).decode()
    log = ProcessLog.parse(text, table=0, entrant=0)
    assert MatchLog(public, [log]).game(0).forfeits == (
        f"{told}: exit code 3, 12 MiB in greedy/bot.toml",
    )


def test_the_last_lines_count_likewise_games() -> None:
    """Each entrant and reason is told once in full, with the other games named."""
    fault = forfeit(ForfeitReason.TIMEOUT, "6 s")
    games = [play_game("quasenbo", board=board, forfeits=(fault,)) for board in range(5)]
    del games[3:4]
    log = MatchLog(make_replay("quasenbo", *games))
    told = list(log.verdicts(range(4)))
    # Seat 0 of table 0 is the first entrant's, on every board.
    assert told == [
        "greedy lost game 0 on time at ply 2: it needed at least 6 s (likewise games 1-3)"
    ]
    assert list(MatchLog(make_replay("quasenbo")).verdicts([0, 1])) == ["no game was forfeited"]


def test_the_turn_that_was_never_answered_is_shown() -> None:
    """A game that a forfeit ended shows what was asked last."""
    fault = forfeit(ForfeitReason.TIMEOUT, "6 s")
    turns = (
        MatchLog(make_replay("quasenbo", play_game("quasenbo", forfeits=(fault,)))).game(0).turns
    )
    assert turns[-1].ply == 2
    assert turns[-1].action is None
    assert turns[-1].legal_actions
    assert all(turn.action is not None for turn in turns[:-1])


def test_the_house_plays_who_has_forfeited() -> None:
    """With more entrants the game goes on, and the log says who plays the seat."""
    fault = forfeit(ForfeitReason.CRASH, "exit code 1", ply=3)
    replay = make_replay("quasenbo:players=3", play_game("quasenbo:players=3", forfeits=(fault,)))
    turns = MatchLog(replay).game(0).turns
    assert {turn.by for turn in turns if turn.seat == 0 and turn.ply >= 3} == {"house"}
    assert all(turn.by != "house" for turn in turns if turn.seat != 0 or turn.ply < 3)
    assert any("by the house" in line for line in MatchLog(replay).lines())


def test_a_document_holds_what_the_lines_hold() -> None:
    """JSON: games with turns and times, processes, and why games were forfeited."""
    fault = forfeit(ForfeitReason.ILLEGAL_ACTION, "no")
    replay = make_replay("quasenbo", play_game("quasenbo", forfeits=(fault,)))
    process = ProcessLog(table=0, entrant=0, facts=("ended: exit code 0",), stdout="hi\n")
    document = MatchLog(replay, [process], names=["greedy@3", "random@1"]).document()
    (game,) = document["games"]
    assert game["turns"][0]["bot"] == "greedy@3"
    assert game["turns"][0]["think_ms"] == 2.0
    assert game["turns"][-1]["action"] is None
    assert document["processes"][0]["stdout"] == "hi\n"
    assert document["verdicts"] == game["forfeits"]


def test_a_process_is_told_as_it_ended() -> None:
    """Start, end and use stand above what was printed."""
    report = ExitReport(code=-9, stopped=True, peak_memory=34 << 20, cpu_seconds=0.5)
    record = ProcessRecord(
        table=1,
        entrant=2,
        member=1,
        start_seconds=0.25,
        stdout="out",
        stderr="err\n",
        report=report,
    )
    log = ProcessLog.of(record)
    assert log.facts == (
        "ready after 0.250 s",
        "ended: killed by SIGKILL, by the referee",
        "used 0.50 s of processor time and 34 MiB of memory",
    )
    never = ProcessLog.of(replace(record, start_seconds=None))
    assert never.facts[0] == "it was never ready"
    assert ProcessLog.parse(log.text(), table=1, entrant=2, member=1) == log


TEXTS = st.text("ab\r\n-\x85\u2028é", max_size=12) | st.sampled_from(
    ["--- stderr, 3 characters\nabc\n", "--- stdout, 0 characters\n"]
)


FORFEITS = st.dictionaries(
    st.integers(min_value=0, max_value=99),
    st.sampled_from(["exit code 1", "--- stdout, 2 characters", "game 3: \u2028 won"]),
    max_size=3,
)


@given(st.lists(st.sampled_from(["ready after 1 s", "ended: exit code 0"])), TEXTS, TEXTS, FORFEITS)
def test_a_process_log_is_read_as_it_was_written(
    facts: list[str], stdout: str, stderr: str, forfeits: dict[int, str]
) -> None:
    """Whatever a bot printed, headings like ours included."""
    log = ProcessLog(
        table=3,
        entrant=1,
        facts=("ready after 2 s", *facts),
        stdout=stdout,
        stderr=stderr,
        forfeits=forfeits,
    )
    assert ProcessLog.parse(log.text(), table=3, entrant=1) == log


def test_a_log_of_another_form_is_shown_all_the_same() -> None:
    """What has no headings of ours is taken for what the bot printed."""
    assert ProcessLog.parse("woe\n", table=0, entrant=0).stdout == "woe\n"
    assert ProcessLog.parse("", table=0, entrant=0) == ProcessLog(table=0, entrant=0)


def test_every_game_has_a_log() -> None:
    """Random forfeits in any ruleset leave a log whose turns are the replay's."""
    choose = random.Random(5)
    for ruleset in ("quasenbo:players=4", "pese-katesh:floors=1", "pese-katesh:teams=yes"):
        for _ in range(3):
            faults = [
                forfeit(choose.choice(list(ForfeitReason)), "so", seat=seat, ply=ply)
                for seat, ply in ((choose.randrange(2), 1), (choose.randrange(2, 4), 4))
            ][: choose.randrange(3)]
            if ruleset.endswith("teams=yes"):
                del faults[1:]
            game = play_game(ruleset, forfeits=tuple(faults))
            replay = make_replay(ruleset, game)
            log = MatchLog(replay)
            played = [turn.action for turn in log.game(0).turns if turn.action is not None]
            assert played == list(game.actions)
            assert "\n".join(log.lines()).count("lost game 0") == 2 * len(faults)
