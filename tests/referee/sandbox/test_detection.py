"""What this machine can do is found out by trying, and told honestly."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from referee.errors import InvalidBotError, SandboxUnavailableError
from referee.sandbox import bubblewrap, runtimes
from referee.sandbox.bubblewrap import BubblewrapSandbox, SandboxSettings
from referee.sandbox.cgroup import CgroupV1, CgroupV2, find_cgroups
from referee.sandbox.limits import ResourceLimits
from referee.sandbox.sandbox import BotCommand, Launch, PlainSandbox
from referee.sandbox.selftest import detect_sandbox, probe_sandbox
from tests.referee.sandbox.attacking import SMALL, write_bot


async def test_the_strongest_sandbox_that_works_is_found() -> None:
    """Where there are no control groups for us, the watchdog watches, and that is said."""
    found = await detect_sandbox(SandboxSettings(limits=SMALL))
    assert found.tier in {"bwrap+cgroup", "bwrap+watchdog"}
    assert found.why or found.tier == "bwrap+cgroup"
    assert found.limits == SMALL
    found.require_isolation()


async def test_a_plain_process_does_not_pass() -> None:
    """The probe gets out where there is no isolation."""
    with pytest.raises(
        SandboxUnavailableError, match=r"loopback can be reached.*no seccomp filter"
    ):
        await probe_sandbox(PlainSandbox())


async def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without bubblewrap, submitted bots are refused with the reason and the remedy."""
    monkeypatch.setattr(bubblewrap, "SYSTEM_PATH", str(tmp_path))
    found = await detect_sandbox()
    assert found.tier == "none"
    with pytest.raises(
        SandboxUnavailableError, match=r"install bubblewrap.*allow-unsandboxed-bots"
    ):
        found.require_isolation()


class Forbidden(BubblewrapSandbox):
    """Ask bubblewrap for what it cannot do."""

    def launch(self, command: BotCommand, *, limits: ResourceLimits | None = None) -> Launch:
        """Return a launch in which a folder is missing."""
        launch = super().launch(command, limits=limits)
        words = ("bwrap", "--ro-bind", "/nowhere", "/nowhere", "true")
        return replace(launch, argv=words, environment=dict(os.environ))


async def test_bubblewraps_own_sentence_is_told() -> None:
    """What it complains of is what the operator has to repair."""
    with pytest.raises(SandboxUnavailableError, match=r"bwrap: Can't find source path /nowhere"):
        await probe_sandbox(Forbidden(SandboxSettings()))


def test_an_author_plays_in_the_sandbox(tmp_path: Path) -> None:
    """The command line runs local bots in the sandbox on demand, and stores the tier."""
    code = (
        "from referee.sdk import Bot, run\nimport os\nassert os.getuid() == 65534\n"
        "class First(Bot):\n    def act(self, turn): return turn.legal_actions[0]\nrun(First())\n"
    )
    bot = write_bot(tmp_path / "bot", code).path
    words = ("play", "quasenbo", str(bot), str(bot), "--boards", "1", "--sandbox", "--json")
    done = subprocess.run(
        [sys.executable, "-m", "arena", *words],
        cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["sandbox"].startswith("bwrap+")
    assert [bot["forfeits"] for bot in document["bots"]] == [{}, {}]


if os.geteuid() == 0:  # only root runs bots as other users

    def test_a_private_folder_is_refused_with_the_remedy(
        sandbox: BubblewrapSandbox, tmp_path: Path
    ) -> None:
        """As root, bots are other users, who may not read what is root's alone."""
        tmp_path.chmod(0o700)
        with pytest.raises(InvalidBotError, match="chmod -R go"):
            sandbox.launch(BotCommand(("python", "bot.py"), tmp_path))


@pytest.mark.parametrize("program", ["../outside", "/bin/../tmp/outside", "./missing", "nowhere"])
def test_a_command_names_what_a_bot_may_run(
    sandbox: BubblewrapSandbox, folder: Path, program: str
) -> None:
    """A runtime, a program of the system, or an executable of the bot's own folder."""
    (folder / "bot").mkdir()
    outside = folder / "outside"
    outside.write_text("#!/bin/sh\n")
    outside.chmod(0o755)
    with pytest.raises(InvalidBotError):
        sandbox.runtimes.resolve((program,), folder / "bot")


def test_an_executable_of_the_folder_is_found_inside(
    sandbox: BubblewrapSandbox, folder: Path
) -> None:
    """Inside, the folder is /bot."""
    program = folder / "my bot"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert sandbox.runtimes.resolve(("./my bot", "-x"), folder).argv == ("/bot/my bot", "-x")
    assert sandbox.runtimes.resolve(("sh", "bot.sh"), folder).argv[0].endswith("/sh")


def test_an_interpreter_without_the_sdk_is_refused(tmp_path: Path) -> None:
    """The sentence ends with what the interpreter said."""
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho no module named referee >&2\nexit 1\n")
    fake.chmod(0o755)
    with pytest.raises(ValueError, match="cannot run bots: no module named referee"):
        runtimes.python_runtime(fake)


def test_packages_for_node_are_seen_inside(tmp_path: Path) -> None:
    """A folder of packages is read-only for every bot in JavaScript."""
    fake = tmp_path / "bin" / "node"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho {fake}\n")
    fake.chmod(0o755)
    modules = tmp_path / "shared" / "node_modules"
    modules.mkdir(parents=True)
    found = runtimes.node_runtime(fake, modules)
    assert found.environment == {"NODE_PATH": str(modules)}
    assert found.folders == (tmp_path,)
    with pytest.raises(ValueError, match="is not a folder"):
        runtimes.node_runtime(fake, tmp_path / "nowhere")


def test_a_group_that_nobody_delegated_is_left_alone(tmp_path: Path) -> None:
    """A folder without a memory controller is refused with the reason."""
    with pytest.raises(SandboxUnavailableError, match="not a control group"):
        find_cgroups(tmp_path)
    (tmp_path / "cgroup.controllers").write_text("cpu pids\n")
    with pytest.raises(SandboxUnavailableError, match="no controller memory"):
        find_cgroups(tmp_path)


def test_limits_are_written_to_a_group_of_version_2(tmp_path: Path) -> None:
    """Memory, swap and processes are bounded, and a bot is ended as one."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    groups = CgroupV2(tmp_path)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    group = groups.make(SMALL)
    folder = group.procs_file.parent
    assert (folder / "memory.max").read_text() == str(SMALL.memory)
    assert (folder / "memory.oom.group").read_text() == "1"
    assert int((folder / "pids.max").read_text()) >= SMALL.processes
    (folder / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    (folder / "memory.peak").write_text("12345\n")
    assert (group.oom_kills(), group.peak_memory()) == (2, 12345)


def test_limits_are_written_to_a_group_of_version_1(tmp_path: Path) -> None:
    """An older kernel's memory controller has other names for the same."""
    (tmp_path / "memory.limit_in_bytes").write_text("0")
    groups = find_cgroups(tmp_path)
    assert isinstance(groups, CgroupV1)
    group = groups.make(SMALL)
    folder = group.procs_file.parent
    assert (folder / "memory.limit_in_bytes").read_text() == str(SMALL.memory)
    (folder / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    assert (group.oom_kills(), group.peak_memory()) == (1, 0)


async def test_a_strict_umask_keeps_nothing_from_bots(sandbox: BubblewrapSandbox) -> None:
    """What a service keeps for itself is not what its bots need."""
    before = os.umask(0o077)
    try:
        await probe_sandbox(sandbox)
    finally:
        os.umask(before)
