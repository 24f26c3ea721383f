"""An author far from the arena: from a bot's folder to its place, and why it lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.matches import replay_file as replay_files

if TYPE_CHECKING:
    from tests.integration.authors.conftest import Author, Stack

pytestmark = [pytest.mark.redis, pytest.mark.slow]

FIRST = "return turn.legal_actions[0]"
CHATTY = "print('I hold', *turn.observation.hand)\nreturn turn.legal_actions[0]"


def test_a_bot_comes_to_the_ladder(ada: Author) -> None:
    """`submit` shows each step and how it ended; the bot then stands on its ladder."""
    folder = ada.bot("climber", FIRST)
    done = ada.arena("submit", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("climber@1: ")
    assert lines[-1] == "climber@1 is accepted and plays on quasenbo"
    assert len([line for line in lines if line.startswith("  ok  ")]) > 3
    (bot,) = [each for each in ada.json("bots")["bots"] if each["name"] == "climber"]
    assert (bot["owner"], bot["state"], bot["active_version"]) == ("ada", "active", "climber@1")
    assert "climber@1" in ada.arena("bots").stdout
    (ladder,) = ada.json("ladder", "quasenbo", "--count", "200")["ladders"]
    assert "climber" in [entry["bot"] for entry in ladder["entries"]]
    assert "climber" in ada.arena("ladder", "--count", "200").stdout


def test_the_same_content_again_is_the_same_version(ada: Author) -> None:
    """A repeated submission is known, and its verdict is told at once."""
    again = ada.json("submit", ada.accepted("twice", FIRST))
    assert not again["is_new"]
    assert again["version"]["id"] == "twice@1"
    assert again["version"]["state"] == "accepted"


def test_a_rejected_bot_is_told_the_step_the_reason_and_its_own_output(ada: Author) -> None:
    """`submit` fails with what the bot printed; `bot show` tells it again later."""
    folder = ada.bot("doomed", "raise LookupError('no such card')")
    done = ada.arena("submit", folder)
    assert done.returncode == 1
    assert "FAIL" in done.stdout
    assert "| LookupError: no such card" in done.stdout
    assert "doomed@1 is rejected: " in done.stdout
    assert f"arena check {folder}" in done.stderr
    (bot,) = [each for each in ada.json("bots")["bots"] if each["name"] == "doomed"]
    assert bot["rejected"]
    assert ada.arena("bot", "show", "doomed").stdout.startswith("doomed of ada is rejected\n")
    shown = ada.arena("bot", "show", "doomed@1")
    assert shown.returncode == 0
    assert "| LookupError: no such card" in shown.stdout
    assert "doomed@1" in ada.arena("bot", "show", "doomed").stdout
    again = ada.arena("submit", folder)
    assert again.returncode == 1
    assert "`arena bot recheck doomed@1`" in again.stderr
    assert "recheck" not in done.stderr
    assert ada.arena("submit", ada.bot("doomed", CHATTY), "--no-watch").returncode == 0
    assert not ada.json("bot", "show", "doomed")["bot"]["rejected"]


def test_a_bot_may_be_submitted_without_waiting(ada: Author) -> None:
    """`--no-watch` says where to look for the verdict."""
    done = ada.arena("submit", ada.bot("hurried", FIRST), "--no-watch")
    assert done.returncode == 0
    assert "`arena bot show hurried@1` tells what becomes of it" in done.stdout


def test_a_challenge_is_played_and_its_log_is_the_owners(
    ada: Author, bob: Author, stranger: Author, stack: Stack
) -> None:
    """The log shows own output beside its turn; others see the turns without it."""
    ada.accepted("chatty", CHATTY)
    words = ("challenge", "first_legal", "--ruleset", "quasenbo", "--bot", "chatty", "--watch")
    match = ada.json(*words)["match"]
    assert match["state"] == "ended"
    assert [entrant["version"] for entrant in match["entrants"]] == ["chatty@1", "first_legal@1"]
    assert match["game_count"] == 2
    own = ada.arena("match", "log", match["id"])
    assert own.returncode == 0, own.stderr
    lines = own.stdout.splitlines()
    place = next(number for number, line in enumerate(lines) if "| I hold " in line)
    assert " chatty@1 " in lines[place - 1]
    assert lines[-1] == "no game was forfeited"
    for other in (bob, stranger):
        seen = other.arena("match", "log", match["id"], ARENA_SERVER=stack.address)
        assert seen.returncode == 0, seen.stderr
        assert "what bots printed is left out" in seen.stderr
        assert "I hold" not in seen.stdout
        assert " chatty@1 " in seen.stdout
    document = ada.json("match", "log", match["id"], "--game", "1")
    assert [game["game"] for game in document["games"]] == [1]
    turn = next(turn for turn in document["games"][0]["turns"] if turn["printed"])
    assert turn["bot"] == "chatty@1"
    assert turn["printed"].startswith("I hold ")
    assert {"queue_ms", "transport_ms", "think_ms", "charged_ms"} <= set(turn)
    listed = ada.json("matches", "--bot", "chatty")["matches"]
    assert [each["id"] for each in listed] == [match["id"]]
    assert "chatty@1" in ada.arena("match", "show", match["id"]).stdout


def test_a_forfeit_is_told_in_words_and_its_turn_asked_again(ada: Author, bob: Author) -> None:
    """From the log of a loss to the turn that lost it, put to the bot on the author's machine.

    Others learn the reason alone: their log and the replay quote nothing of the bot.
    """
    trap = ada.folder / "trap"
    folder = ada.accepted(
        "trapped",
        f"if pathlib.Path({str(trap)!r}).exists():\n    raise LookupError('trap')\n{FIRST}",
    )
    trap.touch()
    words = ("challenge", "first_legal", "--ruleset", "quasenbo", "--bot", "trapped", "--watch")
    match = ada.json(*words)["match"]
    assert match["entrants"][0]["forfeits"] == [{"reason": "crash", "games": 2}]
    log = ada.arena("match", "log", match["id"])
    last = log.stdout.splitlines()[-1]
    assert last.startswith("trapped@1 lost game 0 by a crash at ply ")
    assert "exit code 1; the last that it said: LookupError: trap (likewise game 1)" in last
    assert "| LookupError: trap" in log.stdout
    fetched = ada.arena("match", "replay", match["id"])
    assert fetched.returncode == 0, fetched.stderr
    file = ada.folder / f"{match['id']}.replay"
    assert ada.arena("replay", "verify", file).returncode == 0
    forfeit = replay_files.read(file).games[0].forfeits[0]
    assert forfeit.detail == ""
    seen = bob.arena("match", "log", match["id"]).stdout.splitlines()[-1]
    assert seen == f"trapped@1 lost game 0 by a crash at ply {forfeit.ply} (likewise game 1)"
    hint = f"arena replay ask {file.name} --game 0 --ply {forfeit.ply} DIR"
    assert hint in log.stderr
    asked = ada.arena(*hint.split()[1:-1], folder)
    assert asked.returncode == 1
    assert "LookupError: trap" in asked.stdout
    trap.unlink()
    assert ada.arena(*hint.split()[1:-1], folder).returncode == 0


def test_a_request_with_the_same_id_is_the_same_match(ada: Author) -> None:
    """A challenge that was cut off may be repeated."""
    ada.accepted("patient", FIRST)
    words = ("challenge", "first_legal", "--ruleset", "quasenbo", "--bot", "patient")
    first = ada.json(*words, "--request-id", "once")
    second = ada.json(*words, "--request-id", "once", "--watch")
    assert first["match"]["id"] == second["match"]["id"]
    assert (first["is_new"], second["is_new"]) == (True, False)
    assert ada.json(*words)["match"]["id"] != first["match"]["id"]


def test_an_older_version_comes_back_and_a_bot_leaves(ada: Author) -> None:
    """Roll-back and retirement; a rejected version cannot be activated."""
    ada.accepted("mended", FIRST)
    assert ada.json("submit", ada.bot("mended", CHATTY))["version"]["id"] == "mended@2"
    assert ada.arena("submit", ada.bot("mended", "raise LookupError")).returncode == 1
    refused = ada.arena("bot", "activate", "mended@3")
    assert refused.returncode == 2
    assert "mended@3" in refused.stderr
    done = ada.arena("bot", "activate", "mended@1")
    assert done.stdout == "mended@1 plays on quasenbo\n"
    shown = ada.json("bot", "show", "mended")
    assert [version["state"] for version in shown["versions"]] == [
        "rejected", "accepted", "accepted",
    ]  # fmt: skip
    assert [version["active"] for version in shown["versions"]] == [False, False, True]
    retired = ada.json("bot", "retire", "mended")
    assert retired["bot"]["state"] == "retired"


def test_whoever_may_not_is_told_why(ada: Author, bob: Author) -> None:
    """Foreign bots, unknown things and bad tokens end with status 2 and one sentence."""
    ada.accepted("adas", FIRST)
    foreign = (
        ("submit", bob.bot("adas", CHATTY)),
        ("bot", "show", "adas@1"),
        ("bot", "retire", "adas"),
        ("bot", "activate", "adas@1"),
        ("bot", "show", "nobody"),
        ("match", "show", "challenge-none"),
        ("match", "log", "challenge-none"),
        ("match", "replay", "challenge-none"),
        ("challenge", "adas", "--ruleset", "quasenbo"),
        ("challenge", "adas", "--ruleset", "quasenbo", "--bot", "first_legal"),
    )
    for words in foreign:
        done = bob.arena(*words)
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        assert done.stderr.startswith("arena: ")
        assert done.stderr.count("\n") == 1
    bad = ada.arena("bots", ARENA_TOKEN="arena_" + "A" * 43)
    assert bad.returncode == 2
    assert bad.stderr.count("\n") == 1


def test_without_a_login_every_command_says_what_to_do(stranger: Author) -> None:
    """Nobody is left guessing which arena was meant."""
    folder = stranger.bot("lonely", FIRST)
    for words in (
        ("submit", folder),
        ("bots",),
        ("bot", "show", "lonely"),
        ("challenge", "first_legal", "--ruleset", "quasenbo"),
        ("match", "log", "challenge-1"),
    ):
        done = stranger.arena(*words)
        assert done.returncode == 2
        assert "arena login" in done.stderr


def test_an_arena_that_does_not_answer_is_named(stranger: Author) -> None:
    """The thing failed, with one sentence and status 1."""
    done = stranger.arena("bots", "--all", "--server", "http://127.0.0.1:1")
    assert done.returncode == 1
    assert done.stderr.startswith("arena: no arena answers at http://127.0.0.1:1: ")


def test_a_folder_that_is_no_bot_is_not_uploaded(ada: Author) -> None:
    """What can be seen here is told before anything travels."""
    (ada.folder / "empty").mkdir()
    done = ada.arena("submit", ada.folder / "empty")
    assert done.returncode == 2
    assert "holds no bot.toml" in done.stderr
    large = ada.bot("large", FIRST)
    (large / "data.bin").write_bytes(b"\0" * (33 << 20))
    done = ada.arena("submit", large)
    assert done.returncode == 2
    assert "data.bin" in done.stderr


def test_a_stranger_may_look(ada: Author, stranger: Author, stack: Stack) -> None:
    """Bots, ladders and matches are public."""
    ada.accepted("seen", FIRST)
    server = ("--server", stack.address)
    assert "seen" in [bot["name"] for bot in stranger.json("bots", *server)["bots"]]
    assert stranger.json("bot", "show", "seen", *server)["versions"] == []
    ladders = stranger.json("ladder", *server)["ladders"]
    assert "quasenbo" in [each["ladder"]["ruleset"] for each in ladders]
    assert stranger.arena("matches", *server).returncode == 0
    refused = stranger.arena("submit", stranger.bot("mine", FIRST), *server)
    assert refused.returncode == 2
    assert "arena login" in refused.stderr


def test_where_an_arena_lies_at_hand_it_is_asked(ada: Author, stack: Stack) -> None:
    """A data folder here comes before a login; `--server` comes before both."""
    (ada.folder / "arena-data").mkdir()
    done = ada.arena("ladder")
    assert done.returncode == 2
    assert "no arena runs in arena-data" in done.stderr
    assert ada.arena("ladder", "--server", stack.address).returncode == 0
