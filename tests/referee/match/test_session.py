"""Judge one bot's stream, as transcripts: what a bot may send when, and what follows."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from referee.clock import SeatClock
from referee.match.judgement import MESSAGE_LIMIT, SessionPhase
from referee.match.outbox import EVENTS_DELAY
from referee.match.permits import PermitPool
from referee.outcome import ForfeitReason
from referee.v1 import referee_pb2 as pb
from tests.referee.scripted import ScriptedBot, control

pytestmark = pytest.mark.flaky(reruns=2)  # the machine's own time is judged

STALE = "it was answered before, or never asked"
NOT_OPEN = f"which is not open: {STALE}"
OLDEST = "the oldest open turn is game %d, ply 0"
IN_ORDER = "answer turns in the order in which they came"


def quick(bank: float = 0.03) -> SeatClock:
    """Return a clock whose flag falls soon."""
    return SeatClock(control(bank=bank, margin=0.0))


@pytest_asyncio.fixture
async def patient() -> AsyncIterator[ScriptedBot]:
    """Return a scripted bot that has said Hello and Ready, and may be late for long."""
    scripted = ScriptedBot(stall=30.0)
    await scripted.introduces_itself()
    yield scripted
    await scripted.leave()


async def test_a_whole_conversation(bot: ScriptedBot) -> None:
    """Hello, Welcome, Ready, a game, MatchOver, Goodbye: each side says what the other expects."""
    bot.hello(parallel_games=4)
    welcome = await bot.hears("welcome")
    assert (welcome.ruleset, welcome.seats, welcome.parallel_games) == ("quasenbo", 2, 4)
    bot.ready()
    await bot.told("ready")

    bot.session.start_game(game=0, seat=1, seed=b"s" * 32)
    bot.asks(0, ply=1)
    message = await bot.hears("turns")
    assert [(start.game, start.seat) for start in message.games_started] == [(0, 1)]
    assert [list(turn.legal_actions) for turn in message.turns] == [["2S", "AC"]]
    assert list(message.turns[0].quasenbo.hand) == ["2S", "AC"]
    bot.answers((0, 1, "2S"))
    await bot.told("game 0 ply 1 2S")

    bot.ends_game(0)
    bot.session.finish()
    assert [over.game for over in (await bot.hears("turns")).games_over] == [0]
    await bot.hears("match_over")
    bot.says(pb.PlayRequest(goodbye=pb.Goodbye()))
    bot.hangs_up()
    await asyncio.sleep(0.01)
    assert bot.session.lines == ["ready", "game 0 ply 1 2S"]


@pytest.mark.parametrize(("major", "minor"), [(1, 0), (1, 7), (0, 9)])
async def test_an_older_or_slightly_newer_protocol_is_accepted(
    bot: ScriptedBot, major: int, minor: int
) -> None:
    """Only a newer major version is refused: minor ones add what may be ignored."""
    bot.hello(major=major, minor=minor)
    assert (await bot.hears("welcome")).protocol.major == 1


async def test_a_newer_major_protocol_is_refused_with_a_sentence(bot: ScriptedBot) -> None:
    """The author reads which versions met, and what to do."""
    bot.hello(major=2, minor=3)
    reason, detail = await bot.broken()
    assert reason is ForfeitReason.INVALID_MESSAGE
    assert detail == "protocol 2.3 is newer than this referee's 1.0; use an older SDK"


async def test_unknown_fields_are_ignored(bot: ScriptedBot) -> None:
    """A field that a later minor version added does no harm, in the message or within it."""
    unknown = b"\xfa\x3e\x03new"  # field 1007, three bytes
    hello = pb.Hello(name="later").SerializeToString() + unknown
    bot.says_bytes(b"\x0a" + bytes([len(hello)]) + hello + unknown)
    await bot.hears("welcome")
    assert bot.session.broken == []


@pytest.mark.parametrize(
    ("say", "sentence"),
    [
        (lambda bot: bot.ready(), "ready came while the bot owes Hello"),
        (lambda bot: bot.answers((0, 0, "2S")), "actions came while the bot owes Hello"),
        (lambda bot: bot.resigns(0), "resign came while the bot owes Hello"),
        (lambda bot: bot.says(pb.PlayRequest()), "an empty message came while the bot owes Hello"),
        (
            lambda bot: bot.says(pb.PlayRequest(goodbye=pb.Goodbye())),
            "goodbye came while the bot owes Hello",
        ),
        (lambda bot: bot.says_bytes(b"\xff\xff"), "a message of 2 bytes that is no PlayRequest"),
        (
            lambda bot: bot.says_bytes(bytes(MESSAGE_LIMIT + 1)),
            "a message of 65537 bytes; the limit is 65536",
        ),
    ],
)
async def test_what_comes_instead_of_hello_breaks_the_protocol(
    bot: ScriptedBot, say: object, sentence: str
) -> None:
    """Each violation has its own sentence for the author."""
    assert callable(say)
    say(bot)
    assert await bot.broken() == (ForfeitReason.INVALID_MESSAGE, sentence)
    assert bot.session.phase is SessionPhase.CLOSED


async def test_hello_twice_breaks_the_protocol(bot: ScriptedBot) -> None:
    """After Hello the bot owes Ready."""
    bot.hello()
    bot.hello()
    assert await bot.broken() == (
        ForfeitReason.INVALID_MESSAGE,
        "hello came while the bot owes Ready",
    )


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        ([], "Actions without an action"),
        ([(2, 0, "2S")], f"an answer to game 2, ply 0, but {OLDEST % 1}; {IN_ORDER}"),
        ([(1, 0, "2S")] * 2, f"an answer to game 1, ply 0, {NOT_OPEN}; {OLDEST % 2}"),
        ([(1, 5, "2S")], f"an answer to game 1, ply 5, {NOT_OPEN}; {OLDEST % 1}"),
        (
            [(1, 0, "2S"), (2, 0, "2S"), (2, 0, "2S")],
            f"an answer to game 2, ply 0, but no turn is open: {STALE}",
        ),
    ],
    ids=["empty", "swapped", "doubled", "wrong ply", "one too many"],
)
async def test_answers_out_of_order_break_the_protocol(
    playing: ScriptedBot, answers: list[tuple[int, int, str]], sentence: str
) -> None:
    """An answer is judged against the oldest open turn, and the sentence says what was wrong."""
    playing.asks(1)
    playing.asks(2)
    assert await playing.hears_turns() == [(1, 0), (2, 0)]
    playing.answers(*answers)
    assert await playing.broken() == (ForfeitReason.INVALID_MESSAGE, sentence)


async def test_what_came_in_order_before_a_violation_still_counts(playing: ScriptedBot) -> None:
    """The good answers of a message are judged before its bad one."""
    playing.asks(1)
    playing.asks(2)
    await playing.hears("turns")
    playing.answers((1, 0, "2S"), (7, 7, "2S"))
    await playing.broken()
    assert playing.session.lines == [
        "ready", "game 1 ply 0 2S", "broke invalid_message",
    ]  # fmt: skip


async def test_the_order_of_messages_is_judged_before_the_time(playing: ScriptedBot) -> None:
    """A late answer to the wrong turn is a broken protocol, not a time-out."""
    playing.asks(1, clock=quick(0.005))
    await playing.hears("turns")
    time.sleep(0.05)  # noqa: ASYNC251 -- the answer comes before the timer can look
    playing.answers((2, 0, "2S"))
    reason, _ = await playing.broken()
    assert reason is ForfeitReason.INVALID_MESSAGE


async def test_the_end_of_the_stream_is_told_once(playing: ScriptedBot) -> None:
    """A stream that ends while games are played has vanished; its permit is free again."""
    playing.asks(1)
    await playing.hears("turns")
    playing.hangs_up()
    await playing.told("broke crash")
    assert playing.session.lines.count("broke crash") == 1
    assert playing.pool.free == 1


async def test_a_late_answer_is_discarded_and_costs_the_next_turn_nothing(
    patient: ScriptedBot,
) -> None:
    """After a time-out nothing more is sent until the late answer; the next turn starts fresh."""
    patient.asks(1, clock=quick())
    await patient.hears("turns")
    await patient.told("timeout game 1")
    turn = patient.asks(2)
    await patient.hears_nothing(1.5)
    patient.answers((1, 0, "2S"))
    assert await patient.hears_turns() == [(2, 0)]
    patient.answers((2, 0, "AC"))
    await patient.told("game 2 ply 0 AC")
    assert "game 1 ply 0 2S" not in patient.session.lines
    assert turn.charged < 1.0


async def test_turns_behind_a_time_out_are_charged_from_the_late_answer(
    patient: ScriptedBot,
) -> None:
    """A turn that was already sent is charged only for what the bot took after the late answer."""
    patient.asks(1, clock=quick())
    behind = patient.asks(2)
    await patient.hears("turns")
    await patient.told("timeout game 1")
    await asyncio.sleep(1.5)
    patient.answers((1, 0, "2S"))
    patient.answers((2, 0, "2S"))
    await patient.told("game 2 ply 0 2S")
    assert behind.charged < 1.0


async def test_silence_after_a_time_out_is_a_stall(playing: ScriptedBot) -> None:
    """A process that says nothing for `stall` seconds after its flag fell is ended."""
    playing.asks(1, clock=quick())
    await playing.hears("turns")
    assert await playing.broken() == (
        ForfeitReason.STALL,
        "no answer for 0.2 s after a time-out",
    )
    assert playing.session.lines[-2:] == ["timeout game 1", "broke stall"]


async def test_resigning_other_games_does_not_put_off_a_stall(playing: ScriptedBot) -> None:
    """Only the answer that is owed, or giving that game up, ends the wait."""
    playing.asks(1, clock=quick())
    await playing.hears("turns")
    await playing.told("timeout game 1")
    for other in range(9, 109):
        if playing.session.broken:
            break
        playing.resigns(other)
        await asyncio.sleep(0.02)
    assert playing.session.broken[0][0] is ForfeitReason.STALL


async def test_a_turn_of_a_game_that_ended_is_still_owed(playing: ScriptedBot) -> None:
    """The bot cannot know that the game is over: its answer is taken, and not judged."""
    turn = playing.asks(1)
    playing.asks(2)
    await playing.hears("turns")
    turn.live = False
    playing.answers((1, 0, "nonsense"), (2, 0, "2S"))
    await playing.told("game 2 ply 0 2S")
    assert not any("nonsense" in line for line in playing.session.lines)


async def test_a_hang_is_noticed_while_others_wait_for_the_permit(playing: ScriptedBot) -> None:
    """The clock runs after a late answer, too, when new turns must wait for a permit."""
    playing.asks(1, clock=quick())
    playing.asks(2, clock=quick(0.1))
    await playing.hears("turns")
    await playing.told("timeout game 1")
    playing.pool.request(lambda: None)  # somebody waits
    playing.asks(3)
    playing.answers((1, 0, "2S"))
    await playing.told("timeout game 2")
    playing.pool.release()


async def test_a_shorter_clock_behind_a_longer_one_is_watched(playing: ScriptedBot) -> None:
    """The timer follows the oldest turn, also when its flag falls before the last one's would."""
    playing.asks(1)
    playing.asks(2, clock=quick(0.05))
    await playing.hears("turns")
    playing.answers((1, 0, "2S"))
    await playing.told("timeout game 2")


async def test_no_answer_is_owed_to_a_game_that_was_given_up(playing: ScriptedBot) -> None:
    """Resign takes the game's turn out of the line, wherever it stands."""
    for game in (1, 2, 3):
        playing.asks(game)
    await playing.hears("turns")
    playing.resigns(2)
    playing.answers((1, 0, "2S"), (3, 0, "2S"))
    await playing.told("game 3 ply 0 2S")
    assert "resign game 2" in playing.session.lines
    assert playing.session.broken == []


async def test_a_game_is_resigned_once(playing: ScriptedBot) -> None:
    """One Resign may cross with the game's end; a stream of them keeps the referee busy."""
    playing.resigns(1)
    assert playing.session.broken == []
    playing.resigns(1)
    await playing.told("broke invalid_message")
    assert playing.session.broken[0][1] == "Resign of game 1 a second time"


async def test_a_bot_says_no_more_think_time_than_there_was(playing: ScriptedBot) -> None:
    """What it claims is stored beside what the clock says, and cannot be longer."""
    turn = playing.asks(1)
    await playing.hears("turns")
    playing.answers((1, 0, "2S"), elapsed_us=(1 << 63) - 1)
    await playing.told("game 1 ply 0 2S")
    assert 0 < turn.think_us < 60_000_000


async def test_the_turn_behind_a_resignation_is_charged_from_then(playing: ScriptedBot) -> None:
    """What the bot thought about a game that it then gave up is not the next game's time."""
    playing.asks(1)
    behind = playing.asks(2)
    await playing.hears("turns")
    await asyncio.sleep(1.5)
    playing.resigns(1)
    playing.answers((2, 0, "2S"))
    await playing.told("game 2 ply 0 2S")
    assert behind.charged < 1.0


async def test_resigning_another_game_does_not_reset_the_clock(playing: ScriptedBot) -> None:
    """A bot cannot hide its thinking behind a Resign that is about something else."""
    turn = playing.asks(1)
    await playing.hears("turns")
    await asyncio.sleep(0.1)
    playing.resigns(9)
    playing.answers((1, 0, "2S"))
    await playing.told("game 1 ply 0 2S")
    assert turn.charged >= 0.09


async def test_a_waiting_turn_of_a_resigned_game_is_never_sent() -> None:
    """A turn that waits for a permit dies with its game, and nothing is asked in vain."""
    bot = ScriptedBot(pool=PermitPool(1))
    bot.pool.request(lambda: None)  # the only permit is somebody else's
    await bot.introduces_itself()
    bot.asks(1)
    bot.resigns(1)
    await bot.told("resign game 1")
    bot.pool.release()
    await bot.hears_nothing(0.02)
    assert bot.pool.free == 1
    await bot.leave()


async def test_news_travels_with_the_next_turns(playing: ScriptedBot) -> None:
    """Starts and ends of games wait for turns, so that they cost no message of their own."""
    playing.session.start_game(game=0, seat=0, seed=bytes(32))
    playing.ends_game(0)
    playing.session.start_game(game=1, seat=1, seed=bytes(32))
    playing.asks(1)
    message = await playing.hears("turns")
    assert [start.game for start in message.games_started] == [0, 1]
    assert [over.game for over in message.games_over] == [0]
    assert [turn.game for turn in message.turns] == [1]


async def test_news_without_turns_is_sent_alone_after_a_while(playing: ScriptedBot) -> None:
    """A bot that waits for its opponents hears of the games all the same, in one message."""
    before = time.monotonic()
    playing.session.start_game(game=0, seat=0, seed=bytes(32))
    playing.session.start_game(game=1, seat=0, seed=bytes(32))
    message = await playing.hears("turns")
    assert time.monotonic() - before >= EVENTS_DELAY - 0.002
    assert (len(message.games_started), len(message.turns)) == (2, 0)


async def test_turns_travel_in_fewer_larger_messages(playing: ScriptedBot) -> None:
    """While the bot has more to do than what waits, what waits is held back."""
    for game in range(4):
        playing.asks(game)
    assert len(await playing.hears_turns()) == 4
    playing.asks(4)
    await playing.hears_nothing(0.02)
    playing.answers((0, 0, "2S"), (1, 0, "2S"), (2, 0, "2S"))
    assert await playing.hears_turns() == [(4, 0)]


async def test_an_exception_in_what_is_sent_is_our_own_fault() -> None:
    """A turn that cannot be written is told to the guard, and no bot pays for it."""
    bot = ScriptedBot()
    await bot.introduces_itself()
    bot.asks(1 << 40)  # no game number of the wire
    for _ in range(100):
        if bot.session.errors:
            break
        await asyncio.sleep(0.01)
    assert [type(error) for error in bot.session.errors] == [ValueError]
    bot.session.errors.clear()
    await bot.leave()


async def test_after_match_over_what_crossed_it_is_ignored(playing: ScriptedBot) -> None:
    """An answer that was on its way when the match ended breaks nothing."""
    playing.asks(1)
    await playing.hears("turns")
    playing.session.finish()
    await playing.hears("match_over")
    playing.answers((1, 0, "2S"))
    playing.says(pb.PlayRequest(goodbye=pb.Goodbye()))
    await asyncio.sleep(0.01)
    assert playing.session.broken == []
    assert playing.pool.free == 1
