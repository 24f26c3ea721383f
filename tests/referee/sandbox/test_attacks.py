"""What a hostile bot tries, and what becomes of it; the bot beside it plays on unharmed."""

import socket
import sys
import textwrap
import threading
from pathlib import Path

import psutil
import pytest

from referee.outcome import ForfeitReason
from referee.sandbox.bubblewrap import BubblewrapSandbox
from referee.sandbox.bwrap_arguments import TMP
from referee.sandbox.process import BotProcess
from referee.sandbox.runtimes import python_runtime
from referee.sandbox.sandbox import BotCommand
from referee.sandbox.system_calls import NUMBERS
from referee.sandbox.watchdog import BURST
from tests import header_bombs
from tests.referee.sandbox.attacking import (
    HONEST_BOT,
    SMALL,
    AlwaysLate,
    Attack,
    assert_unharmed,
    attack,
    play,
    write_bot,
)

R = ForfeitReason

ENDLESS_FORKS = """
    while True:
        try:
            os.fork()
        except OSError:
            pass
"""
SPINNERS = """
    for _ in range(8):
        if os.fork() == 0:
            while True:
                pass
"""
DAEMON = """
    if os.fork() == 0:
        error_of(os.setsid)
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(1)
        os._exit(0)
    os.wait()
"""
STUBBORN = """
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        time.sleep(1)
"""


async def test_a_fork_bomb_goes_off_inside(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """Processes that fork for ever cost their bot the match, and are all ended."""
    found = await attack(sandbox, tmp_path, ENDLESS_FORKS, control="1+0.05")
    assert found.reasons <= {R.TIMEOUT, R.STALL}
    assert found.attacker.report.stopped


async def test_threads_are_counted(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """A thread counts like a process."""
    found = await attack(
        sandbox,
        tmp_path,
        """
        threads = 0
        try:
            while True:
                threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
                threads += 1
        except RuntimeError:
            return threads
        """,
    )
    assert 0 < found.found < SMALL.processes


@pytest.mark.parametrize(
    "script",
    [
        "hoard = []\nwhile True: hoard.append(b'x' * (1 << 20)); time.sleep(0.001)",
        "hoard = b'x' * (400 << 20)\ntime.sleep(1000)",
        """
        for _ in range(20):
            if os.fork() == 0:
                hoard = b"x" * (40 << 20)
                time.sleep(1000)
        time.sleep(1000)
        """,
    ],
    ids=["gradual", "sudden", "children"],
)
async def test_memory_is_bounded(sandbox: BubblewrapSandbox, tmp_path: Path, script: str) -> None:
    """However it is taken, too much of it ends the bot, for that reason."""
    found = await attack(sandbox, tmp_path, script)
    assert found.reasons == {R.OUT_OF_MEMORY}
    assert "MiB" in found.details
    assert found.attacker.report.peak_memory > SMALL.memory // 2


@pytest.mark.parametrize(
    "script",
    [
        """
        vast = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | 0x4000, prot=mmap.PROT_READ)
        for page in range(0, 1 << 40, 2 << 20):
            vast[page]
        time.sleep(1000)
        """,
        """
        for _ in range(20):
            if os.fork() == 0:
                pairs = []
                while len(pairs) < 50:
                    pairs.append(socket.socketpair())
                    for one in pairs[-1]:
                        one.setblocking(False)
                        error_of(one.sendall, bytes(1 << 20))
                time.sleep(1000)
        time.sleep(1000)
        """,
    ],
    ids=["page tables", "socket buffers"],
)
async def test_hidden_memory_is_bounded(
    sandbox: BubblewrapSandbox, tmp_path: Path, script: str
) -> None:
    """What is in no resident set counts, too."""
    assert (await attack(sandbox, tmp_path, script)).reasons == {R.OUT_OF_MEMORY}


async def test_no_memory_is_shared_without_a_file(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    """Shared pages that are unmapped show nowhere, so there are none."""
    script = """
        return [error_of(mmap.mmap, -1, 4096), *sorted(os.listdir("/dev"))]
    """
    assert (await attack(sandbox, tmp_path, script)).found == [
        "EPERM", "null", "random", "shm", "urandom",
    ]  # fmt: skip


async def test_memory_that_is_shared_counts_once(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    """Children that share pages with their parent are no more than what they share."""
    script = """
        hoard = b"x" * (60 << 20)
        for _ in range(6):
            if os.fork() == 0:
                time.sleep(1000)
        time.sleep(0.5)
        return "alive"
    """
    found = await attack(sandbox, tmp_path, script)
    assert found.reasons == set()
    assert found.found == "alive"


async def test_a_reservation_is_no_use(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """Address space that nobody touches costs nothing: interpreters reserve much."""
    script = "return len(mmap.mmap(-1, 4 << 30, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ))"
    found = await attack(sandbox, tmp_path, script)
    assert found.found == 4 << 30


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])  # noqa: S108 -- the bot's own
async def test_a_disk_filler_fills_its_own(
    sandbox: BubblewrapSandbox, tmp_path: Path, folder: str
) -> None:
    """Files in memory have a size of their own, beyond which there is no space."""
    found = await attack(
        sandbox,
        tmp_path,
        f"""
        written = 0
        try:
            for number in range(100):
                with open("{folder}/" + str(number), "wb", buffering=0) as file:
                    for _ in range(16):
                        written += file.write(bytes(65536))
        except OSError as error:
            return written, errno.errorcode[error.errno]
        """,
    )
    written, error = found.found
    assert written <= max(SMALL.tmp_bytes, SMALL.shm_bytes)
    assert error == "ENOSPC"


async def test_an_inode_flood_ends_the_bot(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """Empty files take the kernel's memory, so they are counted."""
    script = """
        for number in range(10_000_000):
            os.close(os.open(f"/tmp/{number}", os.O_CREAT))
    """
    found = await attack(sandbox, tmp_path, script)
    assert found.reasons == {R.OUT_OF_MEMORY}
    assert "files in /tmp" in found.details


async def test_a_big_file_ends_early(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """No file grows beyond its limit, nor is any made longer without content."""
    script = """
        file = os.open("/tmp/big", os.O_CREAT | os.O_RDWR)
        return error_of(os.truncate, file, 1 << 30), error_of(os.pwrite, file, b"x", 1 << 30)
    """
    assert (await attack(sandbox, tmp_path, script)).found == ["EFBIG", "EFBIG"]


async def test_descriptors_are_counted(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """A bot that opens all it can comes to an end."""
    script = """
        try:
            while True:
                last = os.dup(0)
        except OSError as error:
            count = last + 1
            os.closerange(last - 20, last + 1)
            return count, errno.errorcode[error.errno]
    """
    assert (await attack(sandbox, tmp_path, script)).found == [SMALL.open_files, "EMFILE"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_log_flood_drowns_nobody(
    sandbox: BubblewrapSandbox, tmp_path: Path, stream: str
) -> None:
    """The flood slows its own bot; head and tail are kept."""
    script = f"""
        for _ in range(80):
            os.write(sys.{stream}.fileno(), b"All work and no play. " * 3000)
    """
    found = await attack(sandbox, tmp_path, script)
    assert found.reasons == set()
    text = getattr(found.attacker, stream)
    assert "bytes left out" in text
    assert len(text) < 200_000
    assert found.attacker.report.output_bytes > 5 << 20


async def test_a_daemon_ends_with_its_bot(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """Who forks twice and ignores SIGTERM is in the namespace all the same."""
    found = await attack(sandbox, tmp_path, DAEMON)
    assert found.reasons == set()
    assert found.attacker.report.code == 0


async def test_ignoring_every_signal_helps_nobody(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    """SIGKILL comes from outside of the namespace."""
    found = await attack(sandbox, tmp_path, STUBBORN, control="1+0.05")
    assert R.TIMEOUT in found.reasons
    assert found.attacker.report.code == -9


async def test_who_burns_idly_is_ended(sandbox: BubblewrapSandbox, folder: Path) -> None:
    """Processes that spin while their bot owes nothing use up its credit, and end it."""
    command = BotCommand(
        ("python", "-c", "import os\n" + textwrap.dedent(SPINNERS) + "os.wait()"), folder
    )
    process = BotProcess(command, sandbox, exited=lambda _: None, thinks=lambda: False)
    report = await process.wait(60)
    await process.stop()
    assert report is not None
    assert report.pressed
    assert "processor time" in report.overuse
    assert report.cpu_seconds > BURST


async def test_pressure_voids_nothing(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """However the referee lags meanwhile, the time-out of who fills the cores is its own."""
    spinners = """
        for _ in range(40):
            if os.fork() == 0:
                error_of(os.setsid)
                while True:
                    pass
        time.sleep(1000)
    """
    found = await attack(
        sandbox, tmp_path, spinners, control="1+0.05", monitor=AlwaysLate(), stall=0.3
    )
    assert found.reasons <= {R.TIMEOUT, R.STALL}
    assert R.TIMEOUT in found.reasons


async def test_spinners_slow_themselves(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """Processes that burn every core cost the bot beside them no game."""
    found = await attack(sandbox, tmp_path, SPINNERS)
    assert found.reasons == set()
    assert found.attacker.report.cpu_seconds > 0


def below_tmp() -> list[str]:
    """Return what lies in a bot's /tmp: nothing, unless the interpreter's own folders do."""
    inside = {
        folder.relative_to(TMP).parts[0]
        for folder in python_runtime(Path(sys.executable)).folders
        if folder.is_relative_to(TMP)
    }
    return sorted(inside)


async def test_the_sibling_is_out_of_sight(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """Neither its processes, nor its folder, environment or socket can be seen or signalled."""
    script = f"""
        alive = [pid for pid in range(1, 3000) if error_of(os.kill, pid, 0) != "ESRCH"]
        return {{
            "processes": len([pid for pid in alive if pid not in (1, os.getpid(), os.getppid())
                              and os.getpgid(pid) != os.getpgid(0)]),
            "proc": os.path.exists("/proc"),
            "folder": os.path.exists({str(tmp_path / "honest")!r}),
            "seats": os.listdir("/run/arena"),
            "others": os.listdir("/run"),
            "tmp": os.listdir("/tmp"),
            "root": sorted(set(os.listdir("/")) & {{"home", "sys", "proc", "var", "boot", "mnt"}}),
        }}
    """
    assert (await attack(sandbox, tmp_path, script)).found == {
        "processes": 0,
        "proc": False,
        "folder": False,
        "seats": [],
        "others": ["arena"],
        "tmp": below_tmp(),
        "root": [],
    }


async def test_every_process_of_the_bot_may_be_killed_by_it(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    """Killing all that it can reach, a bot kills itself alone."""
    found = await attack(sandbox, tmp_path, "error_of(os.kill, -1, 9); os.kill(os.getpid(), 9)")
    assert found.reasons == {R.CRASH}
    assert "SIGKILL" in found.details


async def test_the_first_process_cannot_be_traced(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    """The sandbox's own process in the namespace is as closed as any other."""
    found = await attack(
        sandbox,
        tmp_path,
        f"""
        column = 0 if os.uname().machine == "x86_64" else 1
        numbers = {NUMBERS!r}
        calls = ("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp")
        return [system_call(numbers[name][column], 16, 1, 0, 0) for name in calls]
        """,
    )
    assert found.found == ["EPERM"] * 5


async def test_loopback_is_not_the_hosts(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """A server that listens on the host, as Redis does, is out of reach; so is every network."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"""
            def connect(family, address):
                socket.socket(family).connect(address)
            families = [socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK,
                        socket.AF_ALG]
            host = ("127.0.0.1", {server.getsockname()[1]})
            return [error_of(connect, socket.AF_INET, host),
                    *(error_of(socket.socket, family) for family in families)]
        """
        found = await attack(sandbox, tmp_path, script)
    assert found.found == ["EPERM"] * 6


async def test_abstract_sockets_are_not_the_hosts(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    """A name without a path belongs to the network namespace."""
    name = f"\0{tmp_path.name}-{threading.get_native_id()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(name)
        script = f"return error_of(socket.socket(socket.AF_UNIX).connect, {name!r})"
        found = await attack(sandbox, tmp_path, script)
    assert found.found == "ECONNREFUSED"


async def test_the_seats_socket_is_gone_once_claimed(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    """A bot has its stream, and opens no other connection."""
    script = """
        return error_of(socket.socket(socket.AF_UNIX).connect, "/run/arena/s")
    """
    assert (await attack(sandbox, tmp_path, script)).found == "ENOENT"


BOMBER = (
    Path(header_bombs.__file__).read_text()
    + """
throw('/run/arena/s', seconds=5)
time.sleep(1000)
"""
)


async def test_bombs_on_the_seats_socket_cost_nobody(
    sandbox: BubblewrapSandbox, folder: Path
) -> None:
    """Connections without end and headers that repeat themselves leave the referee as it was."""
    before = psutil.Process().memory_info().rss
    bots = (write_bot(folder / "attacker", BOMBER), write_bot(folder / "honest", HONEST_BOT))
    result = await play(sandbox, *bots, start_limit=15.0)
    print(
        "GROWTH",
        (psutil.Process().memory_info().rss - before) >> 20,
        [r.stderr for r in result.processes],
        [f.detail for g in result.replay.games for f in g.forfeits],
    )
    assert psutil.Process().memory_info().rss - before < 100 << 20
    assert_unharmed(Attack(result, ""))
    reasons = {forfeit.reason for game in result.replay.games for forfeit in game.forfeits}
    assert reasons <= {R.NO_SHOW, R.INVALID_MESSAGE, R.CRASH}
    assert reasons


async def test_nothing_of_ours_can_be_written(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """The bot's folder, the seat, the system and the interpreter are all read-only."""
    script = """
        folders = ["/bot", "/run/arena", "/run", "/", "/usr", "/usr/bin", "/etc", "/dev",
                   sys.prefix, sys.base_prefix, os.path.dirname(os.__file__)]
        def write(folder):
            Path(folder, "written").write_text("x")
        def replace(path):
            os.unlink(path)
        return sorted({error_of(write, folder) for folder in folders}
                      | {error_of(replace, "/bot/bot.py")}
                      | {error_of(os.chmod, path, 0o777) for path in ("/bot", "/run/arena")})
    """
    found = set((await attack(sandbox, tmp_path, script)).found)
    assert found <= {"EROFS", "EACCES", "EPERM"}
    assert found


async def test_links_and_dots_lead_nowhere(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """A link to a file of the host, or a path upwards, stays inside the sandbox."""
    secret = tmp_path / "secret"
    secret.write_text("the admin's token")
    script = f"""
        os.symlink({str(secret)!r}, "/tmp/link")
        paths = ["/tmp/link", {str(secret)!r}, "/bot/../../../.." + {str(secret)!r},
                 "/run/arena/../../1/s", "/etc/shadow", "/root/.ssh"]
        passwords = Path("/etc/passwd").read_text()
        return {{error_of(os.stat, path) for path in paths}} == {{"ENOENT"}}, passwords.count("\\n")
    """
    assert (await attack(sandbox, tmp_path, script)).found == [True, 2]


async def test_no_descriptor_of_ours_is_inherited(
    sandbox: BubblewrapSandbox, tmp_path: Path
) -> None:
    """A bot starts with its three standard streams, before it opens anything itself."""
    found = await attack(sandbox, tmp_path, "return STARTED_WITH")
    assert found.found == [0, 1, 2]


async def test_there_is_no_way_to_be_somebody(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """A bot is nobody, without a capability, and stays so."""
    script = """
        return [os.getuid(), os.getgid(), os.getgroups(), error_of(os.setuid, 0),
                error_of(os.setgid, 0), error_of(os.chroot, "/tmp"), error_of(os.nice, -1),
                LIBC.prctl(23, 21, 0, 0, 0), LIBC.prctl(39, 0, 0, 0, 0)]
    """
    uid, gid, groups, *errors, bounded, locked = (await attack(sandbox, tmp_path, script)).found
    assert (uid, gid, set(groups) <= {65534}) == (65534, 65534, True)
    assert set(errors) <= {"EPERM", "EINVAL", "EACCES"}
    assert (bounded, locked) == (0, 1)


async def test_no_secret_is_on_a_command_line(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """Who lists the host's processes sees the command, not the environment or the paths."""
    script = "return dict(os.environ)"
    environment = (await attack(sandbox, tmp_path, script)).found
    assert environment["ARENA_BOT_ADDRESS"] == "unix:/run/arena/s"
    assert set(environment) <= {
        "ARENA_BOT_ADDRESS", "ARENA_BOT_TOKEN", "HOME", "LANG", "LC_CTYPE", "NODE_PATH",
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PWD", "PYTHONUNBUFFERED", "TMPDIR",
    }  # fmt: skip


async def test_the_kernels_back_doors_are_shut(sandbox: BubblewrapSandbox, tmp_path: Path) -> None:
    """Memory in nobody's account, namespaces, mounts, keys and programs for the kernel: none."""
    names = (
        "memfd_create", "shmget", "msgget", "mount", "umount2", "pivot_root", "setns", "unshare",
        "keyctl", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "clone3",
    )  # fmt: skip
    script = f"""
        column = 0 if os.uname().machine == "x86_64" else 1
        numbers = {NUMBERS!r}
        ours, _ = socket.socketpair()
        sizes = [error_of(ours.setsockopt, socket.SOL_SOCKET, option, 1 << 30)
                 for option in (socket.SO_SNDBUF, socket.SO_RCVBUF)]
        return [system_call(numbers[name][column], 0, 0, 0, 0) for name in {names!r}] + sizes
    """
    absent = {"memfd_create", "clone3"}
    expected = ["ENOSYS" if name in absent else "EPERM" for name in names]
    assert (await attack(sandbox, tmp_path, script)).found == [*expected, "EPERM", "EPERM"]
