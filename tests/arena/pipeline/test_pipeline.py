"""From an upload to a place on the ladder, or to a reason why not."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from arena.bots.registry import BotState, RejectionCause, VersionState
from arena.errors import InputError, NotFoundError, PreconditionError
from arena.uploads import UploadRefusedError, pack_folder
from referee.sandbox.sandbox import PlainSandbox
from tests.arena.check.making import HONEST, acting
from tests.arena.pipeline.line import TRIAL, Line
from tests.redis_server import EMBEDDED

pytestmark = [pytest.mark.redis, EMBEDDED]


async def test_a_good_bot_comes_onto_its_ladder(line: Line) -> None:
    """Its steps end with the validation, and its owner is told."""
    await line.registry.add_owner("ada")
    await line.webhooks.set("ada", "https://example.org/")
    added = await line.submit(line.bot())
    assert (added.is_new, added.version.state) == (True, VersionState.UPLOADED)
    assert (added.bot.state, added.bot.active_version, added.bot.rulesets) == (
        BotState.PENDING, "", (),
    )  # fmt: skip
    async with line.running():
        version = await line.settled("it@1")
        assert (version.state, version.reason, version.trusted) == ("accepted", "", False)
        await line.placed("it")
    assert await line.is_active("it@1")
    assert (await line.registry.bot("it")).rulesets == ("quasenbo",)
    steps = await line.submissions.steps("it@1")
    assert all(step.ok and step.detail for step in steps)
    assert steps[-1].name == "validation in quasenbo"
    assert await line.told() == ["version.accepted"]
    assert await line.trials.waiting() == 0


@pytest.mark.parametrize(
    ("code", "build", "reason"),
    [
        ("raise SystemExit('no model')", "", "start: the process ended early: exit code 1"),
        (acting("return 'the best'"), "", "plays quasenbo: "),
        (HONEST, 'build = ["python", "-c", "raise SystemExit(7)"]', "build: "),
        (
            HONEST,
            """build = ["python", "-c", "import os; os.symlink('nowhere', 'x')"]""",
            "build: what the build made cannot be read",
        ),
        (HONEST, """build = ["python", "-c", "import os; os.symlink('x', 'x')"]""", "build: "),
        (HONEST, """build = ["python", "-c", "import os; os.mkfifo('x')"]""", "build: "),
        (HONEST, """build = ["python", "-c", "import os; os.remove('bot.toml')"]""", "build: "),
    ],
    ids=["start", "illegal", "build", "dangling link", "link to itself", "pipe", "bot.toml"],
)
async def test_a_bad_bot_is_rejected_with_its_reason(
    code: str, build: str, reason: str, line: Line
) -> None:
    """The step, one sentence, and what the bot printed; it is on no ladder."""
    async with line.running():
        version = await line.tried(line.bot(code, *([build] if build else [])))
    assert version.state is VersionState.REJECTED
    assert version.reason.startswith(reason)
    assert version.cause is RejectionCause.BOT
    bot = await line.registry.bot("it")
    assert (bot.state, bot.active_version) == (BotState.PENDING, "")
    assert await line.queues.rulesets() == []
    assert line.archive.usage()["bots"].files == 0
    last = (await line.submissions.steps("it@1"))[-1]
    assert not last.ok
    assert ("no model" in last.output) is ("no model" in code)


async def test_a_build_makes_what_plays(line: Line) -> None:
    """The folder that plays holds what the build made, and is built once."""
    code = f"open('made.py', 'w').write({HONEST!r})"
    lines = 'build = ["python", "bot.py"]'
    async with line.running():
        version = await line.tried(line.bot(code, lines, command='["python", "made.py"]'))
    assert version.state is VersionState.ACCEPTED, version.reason
    assert version.is_built
    assert (line.archive.unpack_bot(version.digest) / "made.py").read_text() == HONEST
    steps = [step.name for step in await line.submissions.steps("it@1")]
    assert steps[:2] == ["build", "bot.toml"]


async def test_the_old_version_plays_until_the_new_one_is_accepted(line: Line) -> None:
    """A rejected one changes nothing."""
    async with line.running():
        await line.tried(line.bot())
        await line.submit(line.bot(f"{HONEST}\n# two"))
        assert await line.is_active("it@1")
        await line.settled("it@2")
        assert await line.is_active("it@2")
        await line.tried(line.bot("broken"))
    assert await line.is_active("it@2")


async def test_the_same_content_is_the_same_version(line: Line) -> None:
    """However often it is sent, and by its owner alone."""
    async with line.running():
        await line.tried(line.bot())
        again = await line.submit(line.bot())
        assert (again.is_new, again.version.id, again.version.state) == (False, "it@1", "accepted")
    with pytest.raises(PreconditionError, match="belongs to ada"):
        await line.submit(line.bot(f"{HONEST}# other"), owner="bob")
    assert (await line.registry.bot("it")).versions == 1


async def test_a_rejected_version_stays_rejected(line: Line) -> None:
    """The same content again is told the same reason, and its folder is not kept."""
    async with line.running():
        first = await line.tried(line.bot("raise SystemExit(1)"))
        again = await line.submit(line.bot("raise SystemExit(1)"))
    assert (again.is_new, again.version) == (False, first)
    assert line.archive.usage()["bots"].files == 0


@pytest.mark.parametrize(
    ("command", "lines", "step"),
    [
        ('["no-such-program"]', (), "command"),
        ('["./none.sh"]', (), "command"),
        ("", ('build = ["no-such-program"]',), "build"),
    ],
)
async def test_a_command_that_is_not_there_is_told_by_the_bots_name(
    command: str, lines: tuple[str, ...], step: str, line: Line
) -> None:
    """The author never hears of the folders of the arena, which are named by what they hold."""
    async with line.running():
        version = await line.tried(line.bot(HONEST, *lines, command=command))
    assert version.state is VersionState.REJECTED
    assert version.reason.startswith(f"{step}: ")
    named = "none.sh in it is not" if "none.sh" in command else "'no-such-program' of it/bot.toml"
    assert named in version.reason
    assert version.digest not in version.reason


async def test_a_version_that_finishes_late_does_not_replace_a_newer_one(line: Line) -> None:
    """Only what is newer than all that was active becomes active."""
    await line.submit(line.bot())
    await line.submit(line.bot(f"{HONEST}\n# two"))
    first = await line.trials.claim(token="a" * 32, duration=TRIAL.claim)
    assert first is not None
    async with line.running():
        await line.settled("it@2")
        assert await line.is_active("it@2")
        await line.trials.give_back(first, wait=TRIAL.claim * 0, counts=False)
        assert (await line.settled("it@1")).state is VersionState.ACCEPTED
    assert await line.is_active("it@2")
    assert (await line.registry.activate("it@1")).active_version == "it@1"


async def test_an_accepted_version_of_a_suspended_bot_waits(line: Line) -> None:
    """An operator's suspension outlasts a submission that was under way."""
    await line.submit(line.bot())
    await line.registry.set_state("it", BotState.SUSPENDED, reason="cheated")
    async with line.running():
        assert (await line.settled("it@1")).state is VersionState.ACCEPTED
    bot = await line.registry.bot("it")
    assert (bot.state, bot.reason, bot.active_version) == (BotState.SUSPENDED, "cheated", "")
    with pytest.raises(PreconditionError, match="suspended"):
        await line.submit(line.bot(f"{HONEST}# again"))


async def test_a_bot_that_was_retired_meanwhile_stays_retired(line: Line) -> None:
    """One that was retired before its submission comes back."""
    await line.submit(line.bot())
    await line.registry.set_state("it", BotState.RETIRED)
    async with line.running():
        await line.settled("it@1")
        assert (await line.registry.bot("it")).state is BotState.RETIRED
        await line.tried(line.bot(f"{HONEST}\n# two"))
        assert await line.is_active("it@2")


async def test_a_new_version_may_play_something_else(line: Line) -> None:
    """Its bot changes ladders."""
    async with line.running():
        await line.tried(line.bot())
        await line.placed("it")
        folder = line.bot()
        toml = (folder / "bot.toml").read_text().replace('"quasenbo"', '"quasenbo:players=3"')
        (folder / "bot.toml").write_text(toml)
        await line.tried(folder)
        await line.placed("it", "quasenbo:players=3")
        await line.placed("it", there=False)


async def test_without_walls_nothing_that_was_submitted_runs(line: Line, tmp_path: Path) -> None:
    """The version is rejected for our own fault, and may be sent again when there are walls."""
    mark = tmp_path / "ran"
    folder = line.bot(f"open({str(mark)!r}, 'w')\n{HONEST}")
    sandbox = PlainSandbox(why="bwrap: no permission")
    async with line.running(sandbox=sandbox, trial=replace(TRIAL, allows_unsandboxed=False)):
        version = await line.tried(folder)
    assert version.state is VersionState.REJECTED
    assert version.cause is RejectionCause.ARENA
    assert "bwrap: no permission" in version.reason
    assert not mark.exists()
    again = await line.submit(folder)
    assert (again.is_new, again.version.state) == (False, VersionState.UPLOADED)
    async with line.running():
        assert (await line.settled("it@1")).state is VersionState.ACCEPTED


async def test_many_submissions_are_all_answered(line: Line) -> None:
    """Some good, some bad, two at a time."""
    names = [f"bot{number}" for number in range(6)]
    for number, name in enumerate(names):
        await line.submit(line.bot(HONEST if number % 3 else "broken", name=name))
    async with line.running():
        states = [(await line.settled(f"{name}@1")).state for name in names]
        for name in ("bot1", "bot5"):
            await line.placed(name)
    assert states == ["rejected", "accepted", "accepted"] * 2


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("", "bot.toml: name must be"),
        (
            'name = "it"\nrulesets = [{}]\ncommand = ["x"]'.format(
                ", ".join(f'"quasenbo:hand={n}"' for n in range(1, 18))
            ),
            "16 is the most",
        ),
    ],
)
async def test_an_archive_without_a_bot_is_refused(toml: str, sentence: str, line: Line) -> None:
    """At once, and nothing is stored."""
    folder = line.bot()
    (folder / "bot.toml").write_text(toml)
    with pytest.raises(InputError, match=sentence) as caught:
        await line.submit(folder)
    assert "/tmp" not in str(caught.value)  # noqa: S108 -- what must not be told
    assert await line.registry.bots() == []
    assert line.archive.usage()["bots"].files == 0


async def test_an_archive_with_links_is_refused(line: Line, tmp_path: Path) -> None:
    """The API's answer is the unpacking's sentence."""
    await line.registry.add_owner("ada")
    (tmp_path / "bad").write_bytes(b"PK\x03\x04nonsense")
    with (tmp_path / "bad").open("rb") as upload, pytest.raises(UploadRefusedError):
        await line.submissions.store_upload(upload, owner="ada")


async def test_a_stranger_and_a_refused_name_store_nothing(line: Line, tmp_path: Path) -> None:
    """The owner is looked up first; then the caller may refuse the bot's name."""
    (tmp_path / "archive.tgz").write_bytes(b"")
    with (tmp_path / "archive.tgz").open("rb") as upload, pytest.raises(NotFoundError):
        await line.submissions.store_upload(upload, owner="nobody")

    async def admit(name: str) -> None:
        raise PreconditionError(f"no more bots, and so no {name}")

    await line.registry.add_owner("ada")
    data = io.BytesIO(pack_folder(line.bot()))
    with pytest.raises(PreconditionError, match="no it"):
        await line.submissions.store_upload(data, owner="ada", admit=admit)
    assert line.archive.usage()["bots"].files == 0
