"""Tables with real bot processes: games, forfeits and what is left afterwards."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from referee.games.replay import dump, load, verify
from referee.match.health import LagMonitor
from referee.outcome import Forfeit, ForfeitReason, Termination
from tests.referee.real_bots import (
    FIRST,
    RANDOM,
    forfeits,
    make_plan,
    make_referee,
    play,
    write_bot,
    write_script,
)
from tests.referee.scripted import control

THREE = "quasenbo:players=3"


def only(found: list[Forfeit]) -> Forfeit:
    """Return the one forfeit of a game."""
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("act", [FIRST, RANDOM], ids=["first", "random"])
@pytest.mark.parametrize("ruleset", ["quasenbo", THREE])
async def test_the_same_bot_splits_every_set(tmp_path: Path, act: str, ruleset: str) -> None:
    """Copies of a bot that uses only what it is given play every rotation of a board alike."""
    bot = write_bot(tmp_path / "bot", act)
    entrants = 3 if ruleset == THREE else 2
    result = await play(make_plan(ruleset, *[bot] * entrants, boards=4))
    assert len(result.replay.games) == 4 * entrants
    assert forfeits(result) == [[]] * len(result.replay.games)
    for board in range(4):
        table = [game for game in result.replay.games if game.board == board]
        assert len({game.actions for game in table}) == 1
        points = [0] * entrants
        for game in table:
            for entrant, gain in zip(game.seats, game.outcome.points, strict=True):
                points[entrant] += gain
        assert len(set(points)) == 1
    verify(load(dump(result.replay)))


async def test_the_digest_is_the_same_whatever_the_interleaving(tmp_path: Path) -> None:
    """One game at a time or many, one core or two, tables together or apart: equal play."""
    one, two = write_bot(tmp_path / "one", RANDOM), write_bot(tmp_path / "two", FIRST)
    digests = set()
    for parallel_games, cores, tables in ((1, 1, 1), (3, 2, 1), (16, 1, 2)):
        plan = make_plan("quasenbo", one, two, boards=12, parallel_games=parallel_games)
        digests.add((await play(plan, cores=cores, tables=tables)).replay.digest())
    assert len(digests) == 1


async def test_forced_turns_are_asked_only_on_demand(tmp_path: Path) -> None:
    """The referee plays what leaves no choice; the game is the same either way."""
    bot = write_bot(tmp_path / "bot")
    quick = await play(make_plan("quasenbo", bot, bot))
    asked = await play(make_plan("quasenbo", bot, bot, asks_forced=True))
    assert any(times is None for game in quick.replay.games for times in game.times)
    assert all(times is not None for game in asked.replay.games for times in game.times)
    assert [game.actions for game in quick.replay.games] == [
        game.actions for game in asked.replay.games
    ]


async def test_the_four_moments_of_a_turn_are_in_order(tmp_path: Path) -> None:
    """Ready, sent, answered, applied; the bot's own time is within the span, as is the charge."""
    bot = write_bot(tmp_path / "bot", "time.sleep(0.002)\n" + FIRST)
    result = await play(make_plan("quasenbo", bot, bot, boards=1, parallel_games=1))
    times = [t for game in result.replay.games for t in game.times if t is not None]
    assert times
    for turn in times:
        assert 0 <= turn.ready <= turn.sent <= turn.answered <= turn.applied
        assert turn.think >= 2000
        assert turn.charged <= turn.answered - turn.sent + 1


@pytest.mark.parametrize(
    ("configured", "folder", "said", "expected"),
    [(8, 0, 0, 8), (8, 3, 0, 3), (8, 0, 2, 2), (8, 3, 2, 2), (2, 5, 4, 2), (8, 0, -5, 8)],
)
async def test_the_fewest_parallel_games_of_all_are_played(
    tmp_path: Path, configured: int, folder: int, said: int, expected: int
) -> None:
    """Of what the referee is configured for, bot.toml says and Hello says; 0 says nothing."""
    counting = write_bot(
        tmp_path / "counting",
        rest=f"parallel_games = {said}\n"
        "open = most = 0\n"
        "def prepare(self, welcome):\n"
        "    print('welcome', welcome.parallel_games)\n"
        "def game_started(self, start):\n"
        "    self.open += 1\n"
        "    self.most = max(self.most, self.open)\n"
        "def game_over(self, end):\n"
        "    self.open -= 1\n"
        "    print('most', self.most)",
        parallel_games=folder,
    )
    other = write_bot(tmp_path / "other")
    plan = make_plan("quasenbo", counting, other, boards=12, rotations=1, parallel_games=configured)
    printed = (await play(plan)).processes[0].stdout.split("\n")
    assert printed[0] == f"welcome {expected}"
    assert f"most {expected}" in printed
    assert f"most {expected + 1}" not in printed


async def test_an_illegal_action_forfeits_that_game_and_the_third_the_table(tmp_path: Path) -> None:
    """Each forfeit says what was wrong; after three the process is ended."""
    wrong = write_bot(tmp_path / "wrong", 'return ("nonsense", "", "9MS9" * 5000)[self.asked]')
    right = write_bot(tmp_path / "right")
    plan = make_plan("quasenbo", wrong, right, boards=5, rotations=1, parallel_games=1)
    result = await play(plan)
    found = [only(game) for game in forfeits(result)]
    assert [forfeit.reason for forfeit in found] == [ForfeitReason.ILLEGAL_ACTION] * 5
    assert found[0].detail.startswith("'nonsense' is no action of quasenbo")
    assert found[1].detail.startswith("'' is no action of quasenbo")
    assert len(found[2].detail) < 400
    assert found[3].detail.startswith("the process was ended after 3 illegal actions, the last: ")
    assert all(game.outcome.places == (2, 1) for game in result.replay.games)
    assert result.processes[0].report.stopped
    verify(result.replay)


async def test_a_dead_process_forfeits_its_open_and_later_games_only(tmp_path: Path) -> None:
    """Finished games and the other table stand; the detail says how the process ended."""
    mortal = write_bot(
        tmp_path / "mortal",
        FIRST,
        rest="def game_started(self, start):\n"
        "    if start.game == 2 and start.seat == 0: os._exit(5)",
    )
    plan = make_plan("quasenbo", mortal, write_bot(tmp_path / "other"), boards=4, parallel_games=1)
    games = (await play(plan)).replay.games
    first = [game for game in games if game.table == 0]
    assert [game.termination for game in first] == [Termination.FINISHED] * 2 + [
        Termination.FORFEIT
    ] * 2
    assert only(list(first[2].forfeits)).detail == "the process ended early: exit code 5"
    assert [game.termination for game in games if game.table == 1] == [Termination.FINISHED] * 4


async def test_with_three_entrants_the_house_plays_for_the_one_who_is_out(tmp_path: Path) -> None:
    """The others' game goes on to its end; the forfeiter ranks last."""
    out = write_bot(tmp_path / "out", "return 'no'")
    others = [write_bot(tmp_path / name) for name in ("other", "third")]
    result = await play(make_plan(THREE, out, *others, boards=2, rotations=1))
    for game in result.replay.games:
        assert game.termination is Termination.FINISHED
        assert only(list(game.forfeits)).seat == game.seats.index(0)
        assert game.outcome.places[game.seats.index(0)] == 3
        last = game.forfeits[0].ply
        assert len(game.actions) > last
    verify(result.replay)


async def test_forfeiters_are_equal_and_one_who_is_left_ends_the_game(tmp_path: Path) -> None:
    """When two of three have forfeited the game ends at once, and the third has won."""
    outs = [write_bot(tmp_path / name, "return 'no'") for name in ("out", "gone")]
    stays = write_bot(tmp_path / "stays")
    result = await play(make_plan(THREE, *outs, stays, boards=1, rotations=1))
    (game,) = result.replay.games
    assert game.termination is Termination.FORFEIT
    assert sorted(game.seats[forfeit.seat] for forfeit in game.forfeits) == [0, 1]
    assert [game.outcome.places[game.seats.index(entrant)] for entrant in range(3)] == [2, 2, 1]
    verify(result.replay)


async def test_when_nobody_starts_all_tie(tmp_path: Path) -> None:
    """Every game is forfeited by everybody, and nobody is better than another."""
    broken = [write_script(tmp_path / name, "raise SystemExit(3)") for name in ("a_bot", "b_bot")]
    result = await play(make_plan("quasenbo", *broken, boards=2))
    for game in result.replay.games:
        assert game.outcome.places == (1, 1)
        assert [forfeit.reason for forfeit in game.forfeits] == [ForfeitReason.CRASH] * 2
        assert game.actions == ()
    verify(result.replay)


async def test_who_is_not_ready_in_time_does_not_show(tmp_path: Path) -> None:
    """Silence before Ready is NO_SHOW, and says what was owed."""
    mute = write_script(tmp_path / "mute", "import time; time.sleep(60)")
    slow = write_bot(tmp_path / "slow", rest="def prepare(self, welcome): time.sleep(60)")
    result = await play(make_plan("quasenbo", mute, slow, boards=1, rotations=1, start_limit=1.5))
    details = {forfeit.seat: forfeit for forfeit in result.replay.games[0].forfeits}
    assert {forfeit.reason for forfeit in details.values()} == {ForfeitReason.NO_SHOW}
    assert details[0].detail == "no Hello within 1.5 s of its start"
    assert details[1].detail == "no Ready within 1.5 s of its start"
    assert [record.start_seconds for record in result.processes] == [None, None]


async def test_a_command_that_cannot_be_started_is_a_crash(tmp_path: Path) -> None:
    """The bot's own fault: the match is played, and the author reads why."""
    missing = write_bot(tmp_path / "missing", command='["./not-built"]')
    result = await play(
        make_plan("quasenbo", missing, write_bot(tmp_path / "other"), boards=1, rotations=1)
    )
    forfeit = only(list(result.replay.games[0].forfeits))
    assert forfeit.reason is ForfeitReason.CRASH
    assert "not-built in" in forfeit.detail
    assert result.processes[0].report.code == 127


async def test_one_process_of_a_team_forfeits_for_the_entrant(tmp_path: Path) -> None:
    """Both processes of a team that crash make one forfeit; the other team has won."""
    once = (
        "try: os.open('taken', os.O_CREAT | os.O_EXCL)\n"
        "except FileExistsError: return turn.legal_actions[0]\n"
        "os._exit(1)"
    )
    team = write_bot(tmp_path / "team", once)
    other = write_bot(tmp_path / "other")
    teams = make_plan("pese-katesh:teams=yes", team, other, boards=1, rotations=1)
    result = await play(teams)
    (game,) = result.replay.games
    assert len(result.processes) == 4
    assert only(list(game.forfeits)).reason is ForfeitReason.CRASH
    assert [game.outcome.places[seat] for seat in range(4)] == [
        2 if entrant == 0 else 1 for entrant in game.seats
    ]


async def test_a_bot_that_hangs_is_ended_and_the_rest_of_its_games_forfeited(
    tmp_path: Path,
) -> None:
    """First the flag falls, then the silence is a stall; without lag nothing is void."""
    hangs = write_bot(tmp_path / "hangs", "time.sleep(60)")
    plan = make_plan(
        "quasenbo",
        hangs,
        write_bot(tmp_path / "other"),
        boards=3,
        rotations=1,
        control=control(bank=0.1),
        stall=0.3,
        parallel_games=2,
    )
    result = await play(plan)
    reasons = [only(game).reason for game in forfeits(result)]
    assert reasons.count(ForfeitReason.TIMEOUT) == 1
    assert reasons.count(ForfeitReason.STALL) == 2
    timeout = next(f for game in forfeits(result) for f in game if f.reason == "timeout")
    assert timeout.detail.endswith("s for one turn with 0.100 s left in the bank of 0.1+0")


async def test_the_watch_on_the_loop_ends_with_the_last_match(tmp_path: Path) -> None:
    """A referee that plays nothing does nothing."""
    bot = write_bot(tmp_path / "bot")
    monitor = LagMonitor()
    referee = make_referee(monitor=monitor)
    plan = make_plan("quasenbo", bot, bot, boards=1, rotations=1, control="60")
    first = asyncio.create_task(referee.play(plan))
    await referee.play(plan)
    await first
    assert monitor._timer is None


async def test_a_long_temporary_folder_is_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sockets, whose paths must be short, then lie in /tmp."""
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    bot = write_bot(tmp_path / "bot")
    result = await play(make_plan("quasenbo", bot, bot, boards=1, rotations=1))
    assert forfeits(result) == [[]]
