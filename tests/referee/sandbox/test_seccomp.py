"""The filter, by real system calls inside, and by a machine that runs it for both architectures."""

import errno
import json
import os
import struct
from datetime import timedelta
from pathlib import Path

import pytest

from referee.errors import SandboxUnavailableError
from referee.sandbox.bubblewrap import BubblewrapSandbox
from referee.sandbox.run import run_in_sandbox
from referee.sandbox.sandbox import BotCommand
from referee.sandbox.seccomp import seccomp_filter
from referee.sandbox.system_calls import ABSENT, CHANNELS, IDLE, NUMBERS, REFUSED

COLUMN = {"x86_64": 0, "aarch64": 1}
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS

JUDGED = {"membarrier": EPERM, "fcntl": ALLOW}
"""Answers to calls with the arguments 1, 2 and 3, where these matter."""

# Makes each system call on its standard input's list, and prints the errors by name.
_CALLS = """
import ctypes, errno, json, sys
libc = ctypes.CDLL(None, use_errno=True)
found = {}
for name, number, arguments in json.loads(sys.argv[1]):
    ctypes.set_errno(0)
    words = [ctypes.c_long(word) for word in arguments]
    answer = libc.syscall(ctypes.c_long(number), *words)
    found[name] = errno.errorcode[ctypes.get_errno()] if answer == -1 else "none"
print(json.dumps(found))
"""


def verdict(machine: str, name: str, *arguments: int, number: int | None = None) -> int:
    """Run the filter on a call as the kernel would; arguments are 64 bits wide."""
    if number is None:
        number = NUMBERS[name][COLUMN[machine]]
    assert number is not None
    data = struct.pack("=IIQ6Q", number, AUDIT[machine], 0, *arguments, *[0] * (6 - len(arguments)))
    return run(seccomp_filter(machine), data)


def run(program: bytes, data: bytes) -> int:
    """Run a program of the instructions that the filter uses."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    accumulator, at = 0, 0
    while True:
        code, yes, no, operand = instructions[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif code == 0x54:
            accumulator &= operand
        elif code == 0x06:
            return int(operand)
        else:
            holds = {
                0x15: accumulator == operand,
                0x35: accumulator >= operand,
                0x45: bool(accumulator & operand),
            }[code]
            at += yes if holds else no


async def calls(
    sandbox: BubblewrapSandbox, folder: Path, *wanted: tuple[str, int, list[int]]
) -> dict[str, str]:
    """Make system calls inside, and return the error of each by name."""
    command = BotCommand(("python", "-c", _CALLS, json.dumps(wanted)), folder)
    report = await run_in_sandbox(command, sandbox, limit=timedelta(seconds=30))
    assert report.succeeded, report.stderr
    found: dict[str, str] = json.loads(report.stdout)
    return found


def number_of(name: str) -> int | None:
    """Return the number of a system call on this machine."""
    return NUMBERS[name][COLUMN[os.uname().machine]]


async def test_refused_calls_are_refused(sandbox: BubblewrapSandbox, folder: Path) -> None:
    """Every call of the list answers EPERM, or ENOSYS where a library can do without."""
    names = [name for name in (*REFUSED, *CHANNELS, *ABSENT) if number_of(name) is not None]
    wanted = [(name, number_of(name) or 0, [0] * 5) for name in names]
    found = await calls(sandbox, folder, *wanted)
    assert found == {name: "ENOSYS" if name in ABSENT else "EPERM" for name in names}


async def test_idle_calls_do_nothing(sandbox: BubblewrapSandbox, folder: Path) -> None:
    """What would use the disk or the page cache of everybody succeeds, even on no descriptor."""
    wanted = [(name, number_of(name) or 0, [-1] * 5) for name in IDLE]
    assert await calls(sandbox, folder, *wanted) == dict.fromkeys(IDLE, "none")


async def test_arguments_are_judged(sandbox: BubblewrapSandbox, folder: Path) -> None:
    """Some calls are refused with some arguments only; high halves of words change nothing."""
    high = 1 << 32
    cases = {
        "inet": ("socket", [2, 1, 0], "EPERM"),
        "inet, high half": ("socket", [high | 2, 1, 0], "EPERM"),
        "vsock": ("socket", [40, 1, 0], "EPERM"),
        "unix": ("socket", [1, 1, 0], "none"),
        "pair": ("socketpair", [2, 1, 0, 0], "EPERM"),
        "new user": ("clone", [0x10000000 | 17, 0, 0, 0, 0], "EPERM"),
        "new mounts": ("clone", [0x00020000 | 17, 0, 0, 0, 0], "EPERM"),
        "send buffer": ("setsockopt", [0, 1, 7, 0, 0], "EPERM"),
        "receive buffer": ("setsockopt", [0, 1, 8, 0, 0], "EPERM"),
        "another option": ("setsockopt", [0, 1, 2, 0, 0], "ENOTSOCK"),
        "another level": ("setsockopt", [0, 6, 7, 0, 0], "ENOTSOCK"),
        "pipe size": ("fcntl", [0, 1031, 1 << 20], "EPERM"),
        **{
            f"file command {command}": ("fcntl", [0, command, 0], "EPERM")
            for command in (5, 6, 7, 36, 37, 38, 1024, 1025, 1026, 1036, 1038)
        },
        "flags": ("fcntl", [0, 3, 0], "none"),
        "shared memory without a file": ("mmap", [0, 4096, 3, 0x21, -1, 0], "EPERM"),
        "the same, validated": ("mmap", [0, 4096, 3, 0x23, -1, 0], "EPERM"),
        "private memory": ("mmap", [0, 4096, 3, 0x22, -1, 0], "none"),
        "shared wake": ("futex", [0, 1, 1, 0, 0], "EPERM"),
        "shared wake, other clock": ("futex", [0, 257, 1, 0, 0], "EPERM"),
        "private wake": ("futex", [0, 129, 1, 0, 0], "none"),
        "eviction": ("madvise", [0, 4096, 21], "EPERM"),
        "huge pages": ("madvise", [0, 4096, 14], "ENOMEM"),
        "reading what is cached": ("preadv2", [-1, 0, 0, 0, 0, 8], "EPERM"),
        "reading": ("preadv2", [-1, 0, 0, 0, 0, 0], "EBADF"),
        "barrier of all processes": ("membarrier", [1, 0, 0], "EPERM"),
        "terminal input": ("ioctl", [0, 0x5412, 0], "EPERM"),
        "terminal input, high half": ("ioctl", [0, high | 0x5412, 0], "EPERM"),
        "another request": ("ioctl", [0, 0x5401, 0], "ENOTTY"),
        "dumpable": ("prctl", [4, 0, 0, 0, 0], "EPERM"),
    }
    wanted = [(case, number_of(name) or 0, words) for case, (name, words, _) in cases.items()]
    assert await calls(sandbox, folder, *wanted) == {
        case: error for case, (_, _, error) in cases.items()
    }


async def test_unknown_calls_are_absent(sandbox: BubblewrapSandbox, folder: Path) -> None:
    """What a newer kernel offers, and the second set of x86_64, looks as if it were not there."""
    wanted = [(str(number), number, [0]) for number in (463, 500, 4095, 0x40000000 | 39)]
    assert set((await calls(sandbox, folder, *wanted)).values()) == {"ENOSYS"}


@pytest.mark.parametrize("machine", COLUMN)
def test_both_architectures_judge_alike(machine: str) -> None:
    """The program for the machine that this is not is run as well, instruction by instruction."""
    for name in NUMBERS:
        if NUMBERS[name][COLUMN[machine]] is None:
            continue
        answers = {**dict.fromkeys((*REFUSED, *CHANNELS), EPERM), **dict.fromkeys(ABSENT, ENOSYS)}
        expected = {**answers, **dict.fromkeys(IDLE, 0x50000), **JUDGED}.get(name, ALLOW)
        assert verdict(machine, name, 1, 2, 3) == expected, name
    assert verdict(machine, "socket", 2) == EPERM
    assert verdict(machine, "socket", 1) == ALLOW
    assert verdict(machine, "clone", 0x10000011) == EPERM
    assert verdict(machine, "clone", 0x003D0F00) == ALLOW  # a thread
    assert verdict(machine, "setsockopt", 3, 1, 33) == EPERM
    assert verdict(machine, "setsockopt", 3, 1, 9) == ALLOW
    assert verdict(machine, "", number=463) == ENOSYS
    assert verdict(machine, "", number=0) == ALLOW


def test_a_foreign_architecture_ends_the_process() -> None:
    """Numbers of another architecture, as of 32-bit calls, would mean other calls."""
    data = struct.pack("=IIQ6Q", 11, 0x40000003, 0, *[0] * 6)
    assert run(seccomp_filter("x86_64"), data) == KILL


def test_an_unknown_machine_is_refused() -> None:
    """There is no sandbox without a filter."""
    with pytest.raises(SandboxUnavailableError, match="runs on x86_64 and aarch64"):
        seccomp_filter("riscv64")
