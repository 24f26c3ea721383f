"""Limit what a bot process may use."""

from __future__ import annotations

from dataclasses import dataclass

_LEAST_DATA = 512 << 20
"""Interpreters reserve much memory that they never touch."""


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Limit what a bot may use; sizes in bytes.

    Attributes:
        memory: resident memory of all its processes together.
        processes: its processes and threads.
        open_files: descriptors of one process.
        file_bytes: the length of one file.
        tmp_bytes: all files of ``/tmp``, which count beside the memory.
        shm_bytes: all files of ``/dev/shm``, likewise.
        files: how many files and folders ``/tmp`` and ``/dev/shm`` hold together.
        cpu_seconds: processor time of one process; a backstop far beyond any match.
        nice: how much lower than ours its priority is.
        folder_bytes: all files of the bot's folder, where it may be written.
        folder_files: how many files and folders that holds.
    """

    memory: int = 1 << 30
    processes: int = 64
    open_files: int = 128
    file_bytes: int = 32 << 20
    tmp_bytes: int = 32 << 20
    shm_bytes: int = 8 << 20
    files: int = 4096
    cpu_seconds: int = 4 * 3600
    nice: int = 19
    folder_bytes: int = 64 << 20
    folder_files: int = 4096

    @property
    def data(self) -> int:
        """The limit of one process's reserved private memory (RLIMIT_DATA).

        It exceeds `memory`, so that a bot is ended for its use, which can be told from a crash.
        The address space is not limited: Node alone reserves a gigabyte of it.
        """
        return max(_LEAST_DATA, self.memory + self.memory // 4)

    def outer_arguments(self) -> tuple[str, ...]:
        """Return the arguments of ``prlimit`` that are set outside of the sandbox."""
        return (
            f"--nofile={self.open_files}",
            f"--fsize={self.file_bytes}",
            "--core=0",
            f"--cpu={self.cpu_seconds}",
            "--memlock=0",
            "--msgqueue=0",
        )

    def inner_arguments(self) -> tuple[str, ...]:
        """Return the arguments of ``prlimit`` that are set inside of the sandbox.

        Processes and signals are counted by user: inside the bot's user namespace only its own.
        """
        return (f"--nproc={self.processes}", "--sigpending=256", f"--data={self.data}")
