"""The commands: the API as a process, logins and tokens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from arena.cli import SERVER_MODULES
from tests.service_kit import Process, Service, own_arena, run_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Served:
    """A process of ``arena serve``, and a folder for logins."""

    data: Path
    process: Process
    folder: Path

    @property
    def address(self) -> str:
        """Where the API is."""
        return (self.data / "address").read_text().splitlines()[0]

    @property
    def token_file(self) -> Path:
        """What holds the admin's token."""
        return self.data / "admin-token"

    def arena(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command with an own folder of settings."""
        return arena(self.folder, *words, **environment)


def arena(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command."""
    own = {"XDG_CONFIG_HOME": str(folder / "config"), **environment}
    return run_command(words, environment={**os.environ, **own}, folder=folder)


def serve(service: Service, folder: Path) -> Served:
    """Start an API with an admin's token."""
    return Served(service.folder / "data", service.serve(), folder)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A running API, for all tests here that do not end it."""
    folder = tmp_path_factory.mktemp("shared")
    with own_arena(folder) as service:
        yield serve(service, folder)


@pytest.fixture
def served(shared: Served, tmp_path: Path) -> Served:
    """A running API, and an empty folder for logins."""
    return Served(shared.data, shared.process, tmp_path)


@pytest.fixture
def ending(tmp_path: Path) -> Iterator[Served]:
    """A running API that a test may end."""
    with own_arena(tmp_path) as service:
        yield serve(service, tmp_path)


def test_an_admin_logs_in_and_gives_tokens(served: Served) -> None:
    """From the file that the service made to a token of a new owner, which is then revoked."""
    done = served.arena("login", served.address, "--token-file", str(served.token_file))
    assert done.returncode == 0, done.stderr
    assert "You are admin" in done.stdout
    made = served.arena("token", "create", "new", "--expires", "1d", "--json")
    created = json.loads(made.stdout)
    token = created["token"]
    assert (token["owner"], token["scopes"]) == ("new", ["author"])
    environment = {"ARENA_TOKEN": created["secret"]}
    listed = json.loads(served.arena("token", "list", "--json", **environment).stdout)
    assert [each["id"] for each in listed["tokens"]] == [token["id"]]
    assert created["secret"] not in str(listed)
    assert served.arena("token", "revoke", token["id"]).returncode == 0
    refused = served.arena("token", "list", **environment)
    assert refused.returncode == 2
    assert "was revoked" in refused.stderr


def test_a_webhook_is_set_shown_and_removed(served: Served) -> None:
    """The secret is shown once; setting the address again makes another one."""
    environment = {
        "ARENA_SERVER": served.address,
        "ARENA_TOKEN": served.token_file.read_text().strip(),
    }
    made = served.arena("token", "create", "ada", "--json", **environment)
    environment["ARENA_TOKEN"] = json.loads(made.stdout)["secret"]
    none = served.arena("webhook", "show", **environment)
    assert (none.returncode, none.stdout) == (1, "")
    assert "arena webhook set URL" in none.stderr
    url = "https://example.org/arena?x=[1]"
    first = served.arena("webhook", "set", url, **environment)
    assert first.returncode == 0, first.stderr
    again = json.loads(served.arena("webhook", "set", url, "--json", **environment).stdout)
    assert again["webhook"]["url"] == url
    assert again["secret"] != first.stdout.strip()
    shown = served.arena("webhook", "show", **environment)
    assert shown.stdout == f"{url}\n"
    assert again["secret"] not in shown.stderr
    assert served.arena("webhook", "remove", **environment).returncode == 0
    gone = served.arena("webhook", "show", "--json", **environment)
    assert (gone.returncode, json.loads(gone.stdout)) == (1, {"webhook": None})


@pytest.mark.parametrize("url", ["", "http://example.org/", "https://a:b@example.org/"])
def test_a_webhook_that_cannot_be_is_refused(served: Served, url: str) -> None:
    """An empty address does not silently remove the webhook either."""
    token = served.token_file.read_text().strip()
    environment = {"ARENA_SERVER": served.address, "ARENA_TOKEN": token}
    refused = served.arena("webhook", "set", url, **environment)
    assert refused.returncode == 2
    assert "address" in refused.stderr


def test_a_token_that_is_not_accepted_is_not_kept(served: Served) -> None:
    """The command fails with the arena's sentence, and no file is written."""
    failed = served.arena("login", served.address, ARENA_TOKEN="arena_" + "A" * 43)
    assert failed.returncode == 2
    assert "not known here" in failed.stderr
    assert not (served.folder / "config").exists()
    empty = served.arena("login", served.address)
    assert empty.returncode == 2
    assert "no token was given" in empty.stderr


def test_sigterm_ends_the_api(ending: Served) -> None:
    """It ends with exit code 0, and nobody believes it alive any more."""
    address = ending.address
    ending.process.send_signal(signal.SIGTERM)
    assert ending.process.wait(20) == 0
    assert not (ending.data / "address").exists()
    failed = ending.arena("token", "list", ARENA_SERVER=address, ARENA_TOKEN="x")
    assert failed.returncode == 1
    assert "no arena answers" in failed.stderr


def test_commands_beside_the_data_find_the_arena(ending: Served) -> None:
    """With the data folder alone a command is the admin's; a killed arena is told how to start."""
    environment = {"ARENA_DATA_DIR": str(ending.data)}
    shown = ending.arena("owners", **environment)
    assert (shown.returncode, shown.stdout) == (0, "admin\n"), shown.stderr
    assert (ending.data / "address").stat().st_mode & 0o777 == 0o600
    ending.process.kill()
    ending.process.wait()
    failed = ending.arena("owners", **environment)
    assert failed.returncode == 1
    assert "if it does not run, `arena up` starts it" in failed.stderr


def test_a_public_address_without_tls_is_bad_input(tmp_path: Path) -> None:
    """The API does not even start."""
    refused = arena(tmp_path, "serve", "--host", "0.0.0.0", "--data-dir", str(tmp_path))  # noqa: S104 -- that is the point
    assert refused.returncode == 2
    assert "--insecure" in refused.stderr


@pytest.mark.parametrize("words", [("token", "create", "--expires", "soon"), ("token", "list")])
def test_bad_input_is_said_in_a_sentence(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Without an arena to call, too."""
    refused = arena(tmp_path, *words)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1


def test_an_authors_commands_need_nothing_of_the_server() -> None:
    """They are part of the light install."""
    code = "import arena.cli.login, arena.cli.token, arena.cli.webhook, sys; print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    loaded = {name.split(".")[0] for name in answer.stdout.split()}
    # gRPC itself loads its health and reflection packages where they are installed.
    assert loaded & (SERVER_MODULES - {"grpc_health", "grpc_reflection"}) == set()
