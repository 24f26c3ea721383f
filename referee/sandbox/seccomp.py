"""Assemble the seccomp filter that refuses system calls of a bot, for bubblewrap.

A filter is a program for the kernel's classic BPF machine (``linux/seccomp.h`` and
``linux/filter.h``): it reads a call's architecture, number and arguments, and returns what becomes
of the call. Each rule below is a few instructions that either return or fall through to the next,
so no jump is long.

EPERM is answered where a program may notice that it is not allowed, ENOSYS where libraries know
how to do without. What stays allowed is what Python, Node and gRPC need.
"""

from __future__ import annotations

import errno
import os
import struct
from functools import cache

from referee.errors import SandboxUnavailableError
from referee.sandbox.system_calls import ABSENT, NUMBERS, REFUSED

_AF_UNIX = 1
_NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""

_SOL_SOCKET = 1
_BUFFER_SIZES = (7, 8, 32, 33)
"""SO_SNDBUF, SO_RCVBUF and their FORCE twins: buffers are in no process's account either."""

_SET_PIPE_SIZE = 1031
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX type into a terminal."""

_PROCESS_CONTROLS = (4, 35)
"""PR_SET_DUMPABLE, which hides a process from the watchdog, and PR_SET_MM."""

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_NOT_LESS = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_JUMP_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K

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
        for name in REFUSED:
            self._refuse(name, errno.EPERM)
        for name in ABSENT:
            self._refuse(name, errno.ENOSYS)
        for name in ("socket", "socketpair"):
            self._require(name, argument=0, value=_AF_UNIX)
        self._refuse_flags("clone", argument=0, flags=_NEW_NAMESPACES)
        self._refuse_values("fcntl", argument=1, values=(_SET_PIPE_SIZE,))
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

    def _require(self, name: str, *, argument: int, value: int) -> None:
        self._of_call(name, length=4)
        self._load_argument(argument)
        self._emit(_JUMP_EQUAL, value, no=1)
        self._emit(_RETURN, _ALLOW)
        self._answer(errno.EPERM)

    def _refuse_flags(self, name: str, *, argument: int, flags: int) -> None:
        self._of_call(name, length=4)
        self._load_argument(argument)
        self._emit(_JUMP_ANY_BIT, flags, no=1)
        self._answer(errno.EPERM)
        self._emit(_RETURN, _ALLOW)

    def _refuse_values(self, name: str, *, argument: int, values: tuple[int, ...]) -> None:
        self._of_call(name, length=2 * len(values) + 2)
        self._load_argument(argument)
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
