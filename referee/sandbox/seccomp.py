"""Assemble the seccomp filter that refuses system calls of a bot, for bubblewrap.

A filter is a program for the kernel's classic BPF machine (``linux/seccomp.h`` and
``linux/filter.h``): it reads a call's architecture, number and arguments, and returns what becomes
of the call. Each rule below is a few instructions that either return or fall through to the next,
so no jump is long.

EPERM is answered where a program may notice that it is not allowed, ENOSYS where libraries know
how to do without, success where nothing need be done. What stays allowed is what Python, Node and
gRPC need.

Bots see the same files of the system, so besides escapes the filter refuses what makes one process
notice another's use of a file: locks, leases, notifications, wake-ups, the state of the page cache.
"""

from __future__ import annotations

import errno
import os
import struct
from functools import cache

from referee.errors import SandboxUnavailableError
from referee.sandbox.system_calls import ABSENT, CHANNELS, IDLE, NUMBERS, REFUSED

_AF_UNIX = 1
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""

_SOL_SOCKET = 1
_BUFFER_SIZES = (7, 8, 32, 33)
"""SO_SNDBUF, SO_RCVBUF and their FORCE twins: buffers are in no process's account either."""

_FILE_COMMANDS = (0, 1, 2, 3, 4, 8, 9, 1030, 1032)
"""All that fcntl may: F_DUPFD, GETFD, SETFD, GETFL, SETFL, SETOWN, GETOWN, DUPFD_CLOEXEC and
GETPIPE_SZ. Not locks, leases, notifications and hints, which other processes notice, nor a pipe's
size."""

_SHARED = 0x01
_ANONYMOUS = 0x20

_CACHE_ADVICE = (12, 20, 21, 25)
"""MADV_MERGEABLE, COLD, PAGEOUT and COLLAPSE: they move or merge pages that others use as well."""

_ALL_PROCESSES = (1, 2, 4)
"""MEMBARRIER_CMD_GLOBAL and its kin interrupt every core."""

_NO_WAIT = 8
"""RWF_NOWAIT reads only what the page cache holds."""

_FUTEX_MASK = 0xFF
"""The operation and FUTEX_PRIVATE_FLAG, without FUTEX_CLOCK_REALTIME."""

_FUTEX_WAKES = (1, 3, 4, 5)
"""FUTEX_WAKE, REQUEUE, CMP_REQUEUE and WAKE_OP: unless private, they reach whoever waits on the
same page of the same file."""

_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX type into a terminal."""

_PROCESS_CONTROLS = (4, 35, 67)
"""PR_SET_DUMPABLE, which hides a process from the watchdog, PR_SET_MM, and PR_SET_MEMORY_MERGE."""

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_NOT_LESS = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_JUMP_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_ALL_BITS = 0xFFFFFFFF

_NUMBER = 0
_ARCHITECTURE = 4

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000

_UNKNOWN = 463
"""From here on, calls that are newer than this list, and x86_64's second set for the same calls."""


# machine: its AUDIT_ARCH, and its column in the table of system calls
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}


@cache
def seccomp_filter(machine: str = "") -> bytes:
    """Return the filter as an array of ``struct sock_filter``.

    Args:
        machine: as `os.uname` has it; this machine when empty.

    Raises:
        SandboxUnavailableError: there is no table of system calls for it.
    """
    machine = machine or os.uname().machine
    if machine not in _ARCHITECTURES:
        raise SandboxUnavailableError(
            f"the sandbox knows no system calls of {machine}; it runs on "
            + " and ".join(_ARCHITECTURES)
        )
    return _Assembler(*_ARCHITECTURES[machine]).assemble()


class _Assembler:
    def __init__(self, audit: int, column: int) -> None:
        self._audit = audit
        self._column = column
        self._program = bytearray()

    def assemble(self) -> bytes:
        self._emit(_LOAD, _ARCHITECTURE)
        self._emit(_JUMP_EQUAL, self._audit, yes=1)
        self._emit(_RETURN, _KILL)
        self._emit(_LOAD, _NUMBER)
        self._emit(_JUMP_NOT_LESS, _UNKNOWN, no=1)
        self._answer(errno.ENOSYS)
        # The frequent ones first.
        self._refuse_values("futex", argument=1, values=_FUTEX_WAKES, mask=_FUTEX_MASK)
        self._refuse_values("madvise", argument=2, values=_CACHE_ADVICE)
        self._refuse_values(
            "mmap", argument=3, values=(_SHARED | _ANONYMOUS,), mask=_SHARED | _ANONYMOUS
        )
        self._require("fcntl", argument=1, values=_FILE_COMMANDS)
        for name in (*REFUSED, *CHANNELS):
            self._refuse(name, errno.EPERM)
        for name in ABSENT:
            self._refuse(name, errno.ENOSYS)
        for name in IDLE:
            self._refuse(name, 0)
        for name in ("socket", "socketpair"):
            self._require(name, argument=0, values=(_AF_UNIX,))
        self._refuse_flags("clone", argument=0, flags=_NEW_NAMESPACES)
        self._refuse_flags("preadv2", argument=5, flags=_NO_WAIT)
        self._refuse_values("membarrier", argument=0, values=_ALL_PROCESSES)
        self._refuse_values("ioctl", argument=1, values=_TERMINAL_INPUT)
        self._refuse_values("prctl", argument=0, values=_PROCESS_CONTROLS)
        self._refuse_buffers()
        self._emit(_RETURN, _ALLOW)
        return bytes(self._program)

    def _number(self, name: str) -> int | None:
        return NUMBERS[name][self._column]

    def _emit(self, code: int, operand: int, *, yes: int = 0, no: int = 0) -> None:
        """Append an instruction; a jump leaves out ``yes`` or ``no`` instructions after it."""
        self._program += struct.pack("=HBBI", code, yes, no, operand)

    def _answer(self, number: int) -> None:
        self._emit(_RETURN, _ERRNO | number)

    def _load_argument(self, argument: int) -> None:
        # The low half: the kernel takes these arguments as 32 bits and ignores the high half.
        self._emit(_LOAD, 16 + 8 * argument)

    def _refuse(self, name: str, answer: int) -> None:
        number = self._number(name)
        if number is not None:
            self._emit(_JUMP_EQUAL, number, no=1)
            self._answer(answer)

    def _of_call(self, name: str, *, length: int) -> None:
        """Begin a rule of ``length`` instructions, for one call alone."""
        number = self._number(name)
        assert number is not None
        self._emit(_JUMP_EQUAL, number, no=length)

    def _require(self, name: str, *, argument: int, values: tuple[int, ...]) -> None:
        self._of_call(name, length=2 * len(values) + 2)
        self._load_argument(argument)
        for value in values:
            self._emit(_JUMP_EQUAL, value, no=1)
            self._emit(_RETURN, _ALLOW)
        self._answer(errno.EPERM)

    def _refuse_flags(self, name: str, *, argument: int, flags: int) -> None:
        self._of_call(name, length=4)
        self._load_argument(argument)
        self._emit(_JUMP_ANY_BIT, flags, no=1)
        self._answer(errno.EPERM)
        self._emit(_RETURN, _ALLOW)

    def _refuse_values(
        self, name: str, *, argument: int, values: tuple[int, ...], mask: int = _ALL_BITS
    ) -> None:
        self._of_call(name, length=2 * len(values) + 3)
        self._load_argument(argument)
        self._emit(_AND, mask)
        self._refuse_each(values)

    def _refuse_buffers(self) -> None:
        self._of_call("setsockopt", length=2 * len(_BUFFER_SIZES) + 5)
        self._load_argument(1)
        self._emit(_JUMP_EQUAL, _SOL_SOCKET, yes=1)
        self._emit(_RETURN, _ALLOW)
        self._load_argument(2)
        self._refuse_each(_BUFFER_SIZES)

    def _refuse_each(self, values: tuple[int, ...]) -> None:
        for value in values:
            self._emit(_JUMP_EQUAL, value, no=1)
            self._answer(errno.EPERM)
        self._emit(_RETURN, _ALLOW)
