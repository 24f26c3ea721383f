"""The command line plays local matches and reads their replays."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from arena.matches import replay_file as replay_files
from tests.service_kit import run_command

if TYPE_CHECKING:
    import subprocess

ROOT = Path(__file__).parents[3]
BOTS = ROOT / "sample_bots"
RANDOM, FIRST_LEGAL = str(BOTS / "random"), str(BOTS / "first_legal")
HEURISTIC = str(BOTS / "quasenbo_heuristic")


def arena(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return run_command(words, environment=os.environ, folder=folder)


def play(*words: str, folder: Path) -> dict[str, Any]:
    """Play a match and return its JSON."""
    done = arena("play", *words, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_same_seed_gives_the_same_scores_and_the_same_replay(tmp_path: Path) -> None:
    """A second run differs in nothing but times."""
    words = ("quasenbo", RANDOM, HEURISTIC, "--boards", "50", "--seed", "00")
    first = play(*words, "--replays", "a", folder=tmp_path)
    second = play(*words, "--replays", "b", "--parallel", "3", folder=tmp_path)
    assert [bot["score"] for bot in first["bots"]] == [bot["score"] for bot in second["bots"]]
    one, two = (
        replay_files.read(tmp_path / document["replays"][0]).digest()
        for document in (first, second)
    )
    assert one == two


def test_the_heuristic_is_ahead_with_an_error_bar(tmp_path: Path) -> None:
    """Fifty boards tell a thoughtful bot from a random one beyond the error."""
    words = ("quasenbo", RANDOM, HEURISTIC, "--boards", "50", "--seed", "00")
    bots = play(*words, folder=tmp_path)["bots"]
    assert [bot["forfeits"] for bot in bots] == [{}, {}]
    assert bots[1]["elo"] > bots[1]["elo_error"] > 0


def test_the_document_of_a_match_says_who_played_how(tmp_path: Path) -> None:
    """The JSON holds scores, Elo with its error, points, forfeits and the replay's path."""
    document = play("quasenbo", RANDOM, FIRST_LEGAL, "--boards", "20", folder=tmp_path)
    assert document["ruleset"] == "quasenbo"
    assert document["games"] == 40
    assert document["decisions"] > 40
    assert document["seconds"] > 0
    assert [bot["name"] for bot in document["bots"]] == ["random", "first_legal"]
    assert sum(bot["score"] for bot in document["bots"]) == pytest.approx(1)
    assert all(bot["elo_error"] > 0 and bot["forfeits"] == {} for bot in document["bots"])
    assert all(bot["points"] < 0 for bot in document["bots"])
    assert (tmp_path / document["replays"][0]).is_file()


def test_a_deterministic_bot_splits_every_set_with_itself(tmp_path: Path) -> None:
    """Duplicate boards leave two equal bots at exactly one half, board by board."""
    document = play("quasenbo", FIRST_LEGAL, FIRST_LEGAL, "--boards", "12", folder=tmp_path)
    assert [bot["score"] for bot in document["bots"]] == [0.5, 0.5]
    replay = replay_files.read(tmp_path / document["replays"][0])
    for one, two in zip(replay.games[::2], replay.games[1::2], strict=True):
        assert one.board == two.board
        assert one.actions == two.actions
        assert one.seats != two.seats


def test_four_times_the_same_bot_averages_minus_eight_a_floor(tmp_path: Path) -> None:
    """A floor of Pesë Katësh sums to -32, which four rotations share equally."""
    bots = [FIRST_LEGAL] * 4
    document = play("pese-katesh:floors=1", *bots, "--boards", "1", folder=tmp_path)
    assert [bot["points"] for bot in document["bots"]] == [-8, -8, -8, -8]
    assert [bot["name"] for bot in document["bots"]][1] == "first_legal#2"


def test_a_single_rotation_plays_every_board_once(tmp_path: Path) -> None:
    """``--rotations single`` asks for one table, and compares single games."""
    document = play(
        "quasenbo", RANDOM, FIRST_LEGAL, "--boards", "9", "--rotations", "single", folder=tmp_path
    )
    assert document["games"] == 9
    assert document["variance_reduction"] is None


def test_logs_keep_what_each_bot_printed(tmp_path: Path) -> None:
    """``--logs`` writes one file per process and stream."""
    loud = tmp_path / "loud"
    loud.mkdir()
    (loud / "bot.toml").write_text(
        'name = "loud"\nrulesets = ["quasenbo"]\ncommand = ["python", "bot.py"]\n'
    )
    code = (BOTS / "random" / "bot.py").read_text(encoding="utf-8")
    (loud / "bot.py").write_text(f'print("hello from a bot")\n{code}')
    play("quasenbo", str(loud), RANDOM, "--boards", "1", "--logs", "logs", folder=tmp_path)
    texts = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
    assert texts["table0-loud.stdout.txt"] == "hello from a bot\n"
    assert texts["table1-loud.stdout.txt"] == "hello from a bot\n"
    assert texts["table0-random.stdout.txt"] == ""


@pytest.mark.parametrize(
    ("ruleset", "told"),
    [
        ("quasenbo", []),
        (
            "quasenbo:double=yes",
            [
                (
                    "arena: bot.toml of first_legal, random does not name quasenbo:double=yes "
                    "among its rulesets: played here all the same, but not on the ladder of an "
                    "arena"
                )
            ],
        ),
    ],
)
def test_a_ruleset_that_a_bot_does_not_name_is_played_and_told(
    ruleset: str, told: list[str], tmp_path: Path
) -> None:
    """A bot plays what its bot.toml leaves out, and one line says that no ladder would let it."""
    done = arena("play", ruleset, FIRST_LEGAL, RANDOM, "--boards", "1", "--json", folder=tmp_path)
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if "bot.toml" in line] == told
    assert json.loads(done.stdout)["games"] == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nonsense", RANDOM, RANDOM), "there is no game 'nonsense'"),
        (("quasenbo", RANDOM), "quasenbo is played by 2 bots, not 1"),
        (("quasenbo", RANDOM, str(BOTS)), "holds no bot.toml"),
        (("quasenbo", RANDOM, RANDOM, "--time", "soon"), "'soon' is not a time control"),
        (("quasenbo", RANDOM, RANDOM, "--boards", "0"), "--boards"),
        (("quasenbo:doubel=yes", RANDOM, RANDOM), "double"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(
    words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    """Whoever mistypes reads what is possible, and nothing has been written."""
    done = arena("play", *words, folder=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_command_that_cannot_be_found_is_a_clear_forfeit(tmp_path: Path) -> None:
    """A bot whose program is missing loses with a sentence that says so."""
    (tmp_path / "bot.toml").write_text(
        'name = "lost"\nrulesets = ["quasenbo"]\ncommand = ["no-such-program"]\n'
    )
    document = play("quasenbo", str(tmp_path), RANDOM, "--boards", "1", folder=tmp_path)
    assert document["bots"][0]["forfeits"] == {"crash": 2}
    assert document["bots"][1]["forfeits"] == {}


def test_a_changed_byte_fails_verification_and_says_where(tmp_path: Path) -> None:
    """Verification passes on the true replay, and names the place of any change."""
    document = play(
        "quasenbo", RANDOM, FIRST_LEGAL, "--boards", "2", "--seed", "00", folder=tmp_path
    )
    path = tmp_path / document["replays"][0]
    assert arena("replay", "verify", str(path), folder=tmp_path).returncode == 0
    exported = arena("replay", "export", str(path), folder=tmp_path).stdout
    assert replay_files.unpack(exported.encode()) == replay_files.read(path)
    game = replay_files.read(path).games[0]
    other = "AM" if game.actions[0] != "AM" else "AS"
    stored_places = json.dumps(list(game.outcome.places)).replace(" ", "")
    for place, old, new in (
        ("seed", document["seed"][:8], "00000000"),
        ("board 0, table 0", f'"actions":["{game.actions[0]}"', f'"actions":["{other}"'),
        ("board 0, table 0", f'"places":{stored_places}', '"places":[1,1]'),
    ):
        changed = tmp_path / "changed.replay"
        changed.write_text(exported.replace(old, new, 1))
        done = arena("replay", "verify", str(changed), folder=tmp_path)
        assert done.returncode == 1
        assert place in done.stderr
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    done = arena("replay", "verify", str(path), folder=tmp_path)
    assert done.returncode == 1
    assert "damaged" in done.stderr


def test_a_replay_is_shown_as_a_match_and_as_a_game(tmp_path: Path) -> None:
    """``replay show`` lists games; with ``--game`` it lists plies with their legal actions."""
    document = play("quasenbo", RANDOM, FIRST_LEGAL, "--boards", "1", folder=tmp_path)
    path = document["replays"][0]
    shown = json.loads(arena("replay", "show", path, "--json", folder=tmp_path).stdout)
    assert shown["entrants"] == ["random", "first_legal"]
    assert len(shown["games"]) == 2
    words = ("replay", "show", path, "--game", "1", "--json")
    game = json.loads(arena(*words, folder=tmp_path).stdout)
    assert all(ply["action"] in ply["legal_actions"] for ply in game["plies"])
    missing = arena("replay", "show", path, "--game", "2", folder=tmp_path)
    assert missing.returncode == 2
    assert "games 0 to 1" in missing.stderr


def test_games_lists_every_game_with_its_options(tmp_path: Path) -> None:
    """``arena games`` is where a ruleset's text is learnt."""
    document = json.loads(arena("games", "--json", folder=tmp_path).stdout)
    assert [game["name"] for game in document["games"]] == [
        "quasenbo", "quasenbo-magnus", "pese-katesh",
    ]  # fmt: skip
    explained = arena("games", "quasenbo:players=2,double=yes", "--json", folder=tmp_path)
    assert json.loads(explained.stdout)["ruleset"] == "quasenbo:double=yes"
