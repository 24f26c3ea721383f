"""Loads the service's settings into one validated object.

In rising order: ``arena.toml``, the environment (``ARENA_DATA_DIR=...``), a command's options.
"""

import difflib
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from arena.errors import InputError
from referee.clock import TimeControl
from referee.errors import InvalidRulesetError
from referee.games.registry import parse_ruleset

FILE: Final = Path("arena.toml")
"""Read from the current folder when no other file is named; it may be missing."""

_BOARDS: Final = {"quasenbo": 8, "quasenbo-magnus": 8, "pese-katesh": 1}


def _time_control(text: str) -> str:
    TimeControl.parse(text)
    return text


def _seconds(value: object) -> object:
    """Parse seconds from the environment, which holds texts alone."""
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value


TimeControlText = Annotated[str, AfterValidator(_time_control)]
Port = Annotated[int, Field(ge=0, le=65535)]
Bytes = Annotated[int, Field(ge=0)]
Seconds = Annotated[timedelta, BeforeValidator(_seconds)]
Positive = Annotated[Seconds, Field(gt=timedelta(0))]


class LadderTerms(NamedTuple):
    """How the matches of a ladder are played; `LadderSettings` with the defaults filled in."""

    boards: int
    time_control: str
    parallel_games: int


class LadderSettings(BaseModel):
    """Settings of one ladder; None takes the value of the whole service."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    boards: Annotated[int, Field(ge=1, le=1000)] | None = None
    time_control: TimeControlText | None = None
    parallel_games: Annotated[int, Field(ge=1, le=256)] | None = None


class Settings(BaseSettings):
    """Every setting of the service; `load` makes it.

    Times are seconds where they are written as numbers, sizes are bytes.

    Attributes:
        redis_url: ``redis://``, ``rediss://`` or ``unix://``; empty for the embedded server.
        data_dir: everything that the service keeps on this machine.
        archive_url: a folder or any fsspec URL for bots, replays, logs and old results; empty for
            ``archive`` in the data folder.
        host: the address that API and pages listen on.
        api_port: gRPC.
        web_port: pages and JSON.
        metrics_port: ``/metrics`` of the scheduler of ``arena up``; its API, pipeline and workers
            have the next ones. Of a process that another command runs; without it, that takes the
            first free one from 7500 up.
        tls_certificate: PEM file for the API; with ``tls_key`` or not at all.
        tls_key: PEM file.
        insecure: allow a public address without TLS.
        workers: worker processes of ``arena up``.
        slots: tables that a worker plays at once; 0 for one a thinking core.
        thinking_cores: bots that may think at once on this machine; 0 for all its cores.
        parallel_games: the most games of one table at the same time.
        sandbox: run bots in the sandbox, where this machine has one.
        allow_unsandboxed_bots: let submitted bots run where there is no sandbox; they can then read
            and write whatever this service can.
        python: the interpreter of bots in Python; this service's own if empty.
        node: the interpreter of bots in JavaScript; the one on PATH if empty.
        node_modules: a folder of packages that every bot in JavaScript may require; those of the
            sample bot if empty, where they are installed.
        trials: submitted versions that are tried at the same time.
        webhook_http: let webhooks have addresses without TLS.
        webhook_private: let webhooks have addresses of this machine and of private networks.
        time_control: ``BANK+INCREMENT`` in seconds.
        boards: of a ladder match, where ``ladders`` says nothing; 0 for the game's own number.
        ladders: by ruleset, what differs there.
        lease: how long a lease lives unless renewed.
        renewal: the time between two renewals.
        silence: without any renewal for so long, a worker drops its match.
        grace: how long a stopping worker goes on with what it plays.
        attempts: leases that may expire before a match is dead.
        voids: times that a match may be void before it is dead.
        backoff: the wait after the first of them; four times as long after each further one.
        queue_cap: the most matches of a ladder that may wait.
        log_keep: results of a ladder that stay in Redis.
        api_bytes: resident memory of the API from which ``arena up`` restarts it; 0 for no bound.
        upload_bytes: the largest bot folder.
        owner_uploads: the most uploads of an owner within an hour.
        owner_challenges: the most challenges of an owner that wait or are being played.
        owner_bots: the most bots of an owner that are not retired.
        owner_bytes: the compressed versions of an owner; the oldest that nothing needs go first. 0
            for no bound.
        replay_bytes: all replays together; the oldest go first. 0 for no bound.
        log_bytes: likewise all that bots printed.
        cache_bytes: the bots that are unpacked in the data folder; those used the longest ago go
            first, none that was used within the hour. 0 for no bound.
    """

    model_config = SettingsConfigDict(env_prefix="ARENA_", extra="forbid", frozen=True)

    redis_url: str = ""
    data_dir: Path = Path("arena-data")
    archive_url: str = ""
    host: str = "127.0.0.1"
    api_port: Port = 7400
    web_port: Port = 7480
    metrics_port: Port = 7490
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    insecure: bool = False
    workers: Annotated[int, Field(ge=0, le=256)] = 1
    slots: Annotated[int, Field(ge=0, le=1024)] = 0
    thinking_cores: Annotated[int, Field(ge=0, le=4096)] = 0
    parallel_games: Annotated[int, Field(ge=1, le=256)] = 32
    sandbox: bool = True
    allow_unsandboxed_bots: bool = False
    python: Path | None = None
    node: Path | None = None
    node_modules: Path | None = None
    trials: Annotated[int, Field(ge=1, le=64)] = 2
    webhook_http: bool = False
    webhook_private: bool = False
    time_control: TimeControlText = "5+0.05"
    boards: Annotated[int, Field(ge=0, le=1000)] = 0
    ladders: Mapping[str, LadderSettings] = Field(default_factory=dict)
    lease: Positive = timedelta(seconds=30)
    renewal: Positive = timedelta(seconds=10)
    silence: Positive = timedelta(seconds=25)
    grace: Positive = timedelta(seconds=60)
    attempts: Annotated[int, Field(ge=1, le=100)] = 3
    voids: Annotated[int, Field(ge=1, le=100)] = 3
    backoff: Seconds = Field(default=timedelta(seconds=5), ge=timedelta(0))
    queue_cap: Annotated[int, Field(ge=1)] = 10_000
    log_keep: Annotated[int, Field(ge=1000)] = 200_000
    api_bytes: Bytes = 600 << 20
    upload_bytes: Annotated[int, Field(ge=1)] = 50 << 20
    owner_uploads: Annotated[int, Field(ge=0, le=10_000)] = 60
    owner_challenges: Annotated[int, Field(ge=0, le=10_000)] = 20
    owner_bots: Annotated[int, Field(ge=0, le=10_000)] = 20
    owner_bytes: Bytes = 500 << 20
    replay_bytes: Bytes = 20 << 30
    log_bytes: Bytes = 2 << 30
    cache_bytes: Bytes = 5 << 30

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if not self.renewal < self.silence < self.lease:
            raise ValueError("renewal must be shorter than silence, and silence than lease")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key must be given together")
        for text in self.ladders:
            try:
                canonical = parse_ruleset(text).ruleset
            except InvalidRulesetError as error:
                raise ValueError(f"ladders: {error}") from error
            if canonical != text:
                raise ValueError(f"ladders: write {text!r} as {canonical!r}")
        return self

    @property
    def archive(self) -> str:
        """The archive's URL or folder."""
        return self.archive_url or str(self.data_dir / "archive")

    @property
    def cores(self) -> int:
        """How many bots may think at once on this machine."""
        return self.thinking_cores or len(os.sched_getaffinity(0))

    def ladder(self, ruleset: str) -> LadderTerms:
        """Return how a ladder's matches are played."""
        own = self.ladders.get(ruleset, LadderSettings())
        boards = self.boards or _BOARDS.get(ruleset.partition(":")[0], 8)
        return LadderTerms(
            boards=own.boards or boards,
            time_control=own.time_control or self.time_control,
            parallel_games=own.parallel_games or self.parallel_games,
        )


def load(file: Path | None = None, **options: Any) -> Settings:
    """Load the settings from a TOML file, the environment and options; None for one not given.

    Without a file, ``arena.toml`` is read where there is one.

    Raises:
        InputError: names every key that is unknown or whose value is not possible.
    """
    values = _read(file)

    class _Loaded(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            del dotenv_settings, file_secret_settings
            return init_settings, env_settings, InitSettingsSource(settings_cls, values)

    given = {key: value for key, value in options.items() if value is not None}
    try:
        return _Loaded(**given)
    except ValidationError as error:
        sentences = (_sentence(each["loc"], each["type"], each["msg"]) for each in error.errors())
        raise InputError("\n".join(sentences)) from error
    except SettingsError as error:
        raise InputError(f"the environment: {error}; ARENA_LADDERS is JSON") from error


def _read(file: Path | None) -> dict[str, Any]:
    path = file or FILE
    if file is None and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


def _sentence(place: tuple[int | str, ...], kind: str, message: str) -> str:
    key = ".".join(map(str, place))
    if kind != "extra_forbidden":
        said = message.removeprefix("Value error, ")
        variable = f" (ARENA_{key.upper()})" if len(place) == 1 else ""
        return f"{key}{variable}: {said}" if key else said
    model = Settings if len(place) == 1 else LadderSettings
    names = list(model.model_fields)
    close = difflib.get_close_matches(str(place[-1]), names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"possible: {', '.join(names)}"
    return f"{key}: there is no such setting; {hint}"
