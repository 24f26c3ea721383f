"""Runs the parts of the service as processes of their own, and keeps them running."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import structlog

from arena.backoff import Backoff
from arena.db.connection import connect
from arena.db.embedded import EmbeddedServer
from arena.errors import ArenaError, InputError
from arena.processes.lifecycle import PARENT
from referee.tasks import is_set_within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from arena.config import Settings

FIRST_PAUSE: Final = 0.5
"""Seconds before a process that died is started again; twice as long after each further death."""

LAST_PAUSE: Final = 30.0
SETTLING: Final = 10.0
"""Seconds beyond the grace in which a part has to let go of everything."""

HEALTHY: Final = 60.0
"""Seconds that a process has to live for its next death to count as the first again."""

API: Final = "api"
_LOOK: Final = 0.1
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_BAD_INPUT: Final = 2


@dataclass(frozen=True, slots=True)
class Part:
    """One process of the service; ``environment`` is what it has beyond this process's own.

    With more than ``most_bytes`` of resident memory it is started anew; 0 for no bound.
    """

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    most_bytes: int = 0


def parts_of(
    settings: Settings, *, redis_url: str, scheduling: Sequence[str] = (), serving: bool = False
) -> list[Part]:
    """Return the processes of the whole service on this machine.

    The parts get all settings that differ from the defaults. ``scheduling`` are further arguments
    of the scheduler; ``serving`` adds the API and the pipeline behind it, and fixes the ports of
    ``/metrics``: `Settings.metrics_port` for the scheduler, then the API, the pipeline, and each
    worker. Else each process takes a free one, unless the settings name the first.
    """
    given = settings.model_dump(
        mode="json", include=settings.model_fields_set, exclude={"redis_url", "metrics_port"},
        exclude_none=True,
    )  # fmt: skip
    given |= {"redis_url": redis_url, "data_dir": str(settings.data_dir.resolve())}
    if not settings.redis_url:
        given["embedded"] = "1"
    if settings.workers > 1:
        # What this machine has is shared among its workers.
        given["thinking_cores"] = max(1, settings.cores // settings.workers)
    commands: dict[str, tuple[str, ...]] = {"scheduler": ("scheduler", *scheduling)}
    if serving:
        commands[API] = ("serve", "--admin-token")
        commands["pipeline"] = ("pipeline",)
    commands |= {f"worker-{number}": ("worker",) for number in range(1, settings.workers + 1)}
    parts = []
    for number, (name, command) in enumerate(commands.items()):
        own = dict(given)
        if serving or "metrics_port" in settings.model_fields_set:
            own["metrics_port"] = settings.metrics_port and settings.metrics_port + number
        environment = {f"ARENA_{key.upper()}": _text(value) for key, value in own.items()}
        most_bytes = settings.api_bytes if name == API else 0
        parts.append(Part(name, command, environment, most_bytes))
    return parts


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@asynccontextmanager
async def running(
    settings: Settings,
    *,
    scheduling: Sequence[str] = (),
    serving: bool = False,
    output: IO[bytes] | None = None,
) -> AsyncIterator[Supervisor]:
    """Run the embedded server, unless there is another, and the parts of `parts_of`.

    The parts write to ``output``; None for this process's own stdout and stderr.

    Raises:
        InputError: another arena runs in the data folder, there is no embedded server here, or the
            settings' own server does not answer.
        ArenaError: the server did not start, or a part had to be killed at the end.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    settings.data_dir.chmod(0o700)
    server = None if settings.redis_url else EmbeddedServer(settings.data_dir)
    if server is None:
        await (await connect(settings.redis_url)).aclose()
    else:
        await asyncio.to_thread(server.start)
    try:
        url = server.url if server is not None else settings.redis_url
        # A released match still has to be told to Redis, a result to be archived.
        grace = settings.grace.total_seconds() + SETTLING
        supervisor = Supervisor(
            parts_of(settings, redis_url=url, scheduling=scheduling, serving=serving),
            url=url,
            grace=grace,
            server=server,
            output=output,
        )
        supervisor.start()
        try:
            yield supervisor
        finally:
            await supervisor.stop()
    finally:
        if server is not None:
            server.stop()


class Supervisor:
    """Starts parts, restarts them when they die, and ends them; likewise an embedded ``server``.

    A part gets SIGTERM when this process ends, however that happens, and is killed ``grace``
    seconds after it was asked to stop.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        url: str,
        grace: float,
        server: EmbeddedServer | None = None,
        output: IO[bytes] | None = None,
    ) -> None:
        self.url = url
        self._server = server
        self._children = [_Child(part, output) for part in parts]
        self._grace = grace
        self._server_restart = _RestartTimer(time.monotonic())
        self._log: Any = structlog.get_logger()

    @property
    def pids(self) -> dict[str, int]:
        """The ids of the processes that run, by the names of their parts."""
        return {child.part.name: child.pid for child in self._children if child.pid}

    def start(self) -> None:
        """Start every part."""
        for child in self._children:
            child.start()

    async def watch(self, stopping: asyncio.Event) -> None:
        """Keep the parts running until ``stopping`` is set.

        Raises:
            InputError: a part says that it was given bad input; starting it again would not help.
        """
        while not stopping.is_set():
            if self._server is not None and not self._server.running:
                await self._look_after(self._server)
            for child in self._children:
                if child.resident > (child.part.most_bytes or math.inf):
                    # What callers send shall not fill the machine, whatever they found.
                    self._log.error("process used too much memory", part=child.part.name)
                    child.ask_to_stop()
                code = child.look()
                if code == _BAD_INPUT:
                    raise InputError(f"the {child.part.name} cannot start; it has said why")
                if code is not None:
                    self._log.error(
                        "process died",
                        part=child.part.name,
                        exit_code=code,
                        pause_seconds=child.pause,
                    )
            await is_set_within(stopping, _LOOK)

    async def _look_after(self, server: EmbeddedServer) -> None:
        """Start a server that died again, when that is due; its parts wait for it.

        Raises:
            InputError: its folder has become another supervisor's.
        """
        now = time.monotonic()
        if not self._server_restart.is_down:
            self._server_restart.note_end(now)
            pause = self._server_restart.pause
            self._log.error("server died", detail=server.last_words(), pause_seconds=pause)
        elif self._server_restart.is_due(now):
            server.stop()
            try:
                await asyncio.to_thread(server.start)
            except InputError:
                raise
            except ArenaError as error:
                self._log.warning("server not started", detail=str(error))

    async def stop(self) -> None:
        """Ask every part to stop, and kill what has not within the grace."""
        for child in self._children:
            child.ask_to_stop()
        deadline = time.monotonic() + self._grace
        while any(child.runs() for child in self._children) and time.monotonic() < deadline:  # noqa: ASYNC110 -- no event says that a process has ended
            await asyncio.sleep(_LOOK / 2)
        late = [child for child in self._children if child.runs()]
        for child in late:
            child.kill()
        if late:
            names = ", ".join(child.part.name for child in late)
            raise ArenaError(f"{names} had to be killed after {self._grace:g} seconds")


class _RestartTimer:
    """Backs off the restarts of a process, unless it had lived for long.

    ``pause`` is the seconds from its last death to its restart; ``is_down`` lasts as long.
    """

    def __init__(self, now: float) -> None:
        self.pause = 0.0
        self._backoff = Backoff(FIRST_PAUSE, LAST_PAUSE)
        self.is_down = False
        self._started = now
        self._due = now

    def note_end(self, now: float) -> None:
        """Note that it has been found dead."""
        if now - self._started > HEALTHY:
            self._backoff.reset()
        self.pause = self._backoff.pause()
        self._due = now + self.pause
        self.is_down = True

    def is_due(self, now: float) -> bool:
        """Return whether it is to be started now; if so, note that it is."""
        if now < self._due:
            return False
        self._started, self.is_down = now, False
        return True


class _Child:
    """One part: its process, and when that is started again."""

    def __init__(self, part: Part, output: IO[bytes] | None) -> None:
        self.part = part
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None
        self._restart = _RestartTimer(time.monotonic())

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None and self.runs() else 0

    @property
    def resident(self) -> int:
        """The bytes of its resident set; 0 while it does not run."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_bytes().split()[1]) * _PAGE
        except OSError:
            return 0

    def start(self) -> None:
        """Start the process; a session of its own keeps a terminal's Ctrl-C from it."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "arena", *self.part.arguments],
            env={**os.environ, **self.part.environment, PARENT: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
        )

    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def look(self) -> int | None:
        """Return the exit code of a process that has just been found dead; start it when due."""
        now = time.monotonic()
        if self._restart.is_down:
            if self._restart.is_due(now):
                self.start()
            return None
        if self._process is None or self._process.poll() is None:
            return None
        self._restart.note_end(now)
        return self._process.returncode

    @property
    def pause(self) -> float:
        """Seconds from its last death until it is started again."""
        return self._restart.pause

    def ask_to_stop(self) -> None:
        if self._process is not None and self.runs():
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
