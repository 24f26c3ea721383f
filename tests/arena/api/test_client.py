"""The client: its errors, its uploads, and where it keeps a login."""

import asyncio
import random
from pathlib import Path

import pytest

from arena.client import PORT, Client, Login, login_file
from arena.errors import ArenaError, InputError, NotFoundError, UnauthenticatedError
from arena.owners.tokens import Scope
from arena.v1 import accounts_pb2, bots_pb2, matches_pb2
from tests.arena.api.calling import HOST, Arena, bot_archive

WHO = accounts_pb2.GetIdentityRequest()


async def test_the_client_raises_what_the_arena_refuses(arena: Arena) -> None:
    """The sentence is the arena's, the kind tells programs what happened."""
    await arena.login("ada")
    login = Login(address=f"{HOST}:{arena.port}", token="arena_" + "A" * 43)

    def ask() -> None:
        with Client(login) as client:
            with pytest.raises(UnauthenticatedError, match="not known here"):
                client.ask(client.stub.GetIdentity, WHO)
            stranger = Client(Login(address=login.address))
            with pytest.raises(NotFoundError, match="no bot nobody"):
                stranger.ask(stranger.stub.GetBot, bots_pb2.GetBotRequest(bot="nobody"))
            with pytest.raises(NotFoundError):
                list(
                    stranger.watch(
                        stranger.stub.WatchMatch, matches_pb2.WatchMatchRequest(match="nothing")
                    )
                )
            stranger.close()

    await asyncio.to_thread(ask)


async def test_the_client_uploads(arena: Arena) -> None:
    """A large archive goes in chunks that the arena takes."""
    await arena.backend.registry.add_owner("ada")
    made = await arena.backend.accounts.create("ada", scopes=frozenset({Scope.AUTHOR}))
    login = Login(address=f"{HOST}:{arena.port}", token=made.secret)
    noise = random.Random(1).randbytes(200_000).hex()

    def submit_it() -> str:
        with Client(login) as client:
            return client.submit(bot_archive("greedy", content=noise)).version.id

    assert await asyncio.to_thread(submit_it) == "greedy@1"


@pytest.mark.parametrize("token", ["arena_\nA", "arena_ü", '"arena_A"', "arena_A "])
def test_a_token_that_cannot_be_one_is_refused_before_it_is_sent(token: str) -> None:
    """Else gRPC prints a complaint of its own, and calls it a failure of the arena."""
    with pytest.raises(InputError, match="characters that no token has"):
        Client(Login(address=HOST, token=token))


def test_an_arena_that_is_not_there_is_named() -> None:
    """One sentence with the address."""
    with (
        Client(Login(address="unix:/nowhere/socket")) as client,
        pytest.raises(ArenaError, match="no arena answers at unix:/nowhere/socket"),
    ):
        client.ask(client.stub.GetIdentity, WHO)


@pytest.mark.parametrize(
    ("address", "target", "uses_tls"),
    [
        ("localhost", f"localhost:{PORT}", False),
        ("127.0.0.1:9", "127.0.0.1:9", False),
        ("[::1]", f"[::1]:{PORT}", False),
        ("arena.example.org", f"arena.example.org:{PORT}", True),
        ("arena.example.org:9", "arena.example.org:9", True),
        ("http://arena.example.org", f"arena.example.org:{PORT}", False),
        ("https://localhost:9/", "localhost:9", True),
        ("unix:/run/arena", "unix:/run/arena", False),
    ],
)
def test_an_address_says_whether_tls_is_used(address: str, target: str, uses_tls: bool) -> None:  # noqa: FBT001 -- a row of the table
    """Always, but for this machine; a scheme says otherwise."""
    login = Login(address=address)
    assert (login.target, login.uses_tls) == (target, uses_tls)


def test_a_login_is_kept_in_a_private_file(tmp_path: Path) -> None:
    """It comes back as it was, and the environment overrides it."""
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    login = Login(address="arena.example.org", token="arena_x", ca="/ca.pem")
    file = login.save(login_file(environment))
    assert file == tmp_path / "bot-arena" / "login.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert Login.load(environment) == login
    assert Login.load(environment | {"ARENA_TOKEN": "arena_y"}).token == "arena_y"
    assert Login.load(environment | {"ARENA_CA": "/b.pem"}).ca == "/b.pem"


def test_a_token_is_not_sent_to_another_arena(tmp_path: Path) -> None:
    """ARENA_SERVER alone makes a stranger of the caller, unless it names the same arena."""
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    Login(address="one", token="arena_x").save(login_file(environment))
    assert Login.load(environment | {"ARENA_SERVER": "two"}) == Login(address="two")
    assert Login.load(environment | {"ARENA_SERVER": "one"}).token == "arena_x"


def test_the_arena_of_a_data_folder_comes_before_a_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its admin; a server that is named comes before both, with what was kept for it."""
    monkeypatch.chdir(tmp_path)
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    login = Login(address="far", token="arena_x")
    login.save(login_file(environment))
    folder = tmp_path / "arena-data"
    folder.mkdir()
    with pytest.raises(InputError, match="no arena runs in arena-data: start one with `arena up`"):
        Login.load(environment)
    (folder / "admin-token").write_text("arena_admin\n")
    (folder / "address").write_text("http://127.0.0.1:7\n\n")
    here = Login.load(environment)
    assert (here.address, here.token) == ("http://127.0.0.1:7", "arena_admin")
    assert Login.load(environment | {"ARENA_DATA_DIR": str(folder)}).token == "arena_admin"
    assert Login.load(environment, server="http://127.0.0.1:7").token == "arena_admin"
    assert Login.load(environment, server="far") == login
    assert Login.load(environment, server="other") == Login(address="other")


def test_the_data_folder_of_the_settings_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that ./arena.toml names counts as that of the environment does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arena.toml").write_text('data_dir = "elsewhere"\n')
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "address").write_text("http://127.0.0.1:7400\n\n")
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert Login.load(environment).address == "http://127.0.0.1:7400"


def test_without_a_login_the_sentence_says_what_to_do(tmp_path: Path) -> None:
    """Also when the file is damaged."""
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    with pytest.raises(InputError, match="arena login ADDRESS"):
        Login.load(environment)
    file = Login(address="one").save(login_file(environment))
    file.write_text("{}")
    with pytest.raises(InputError, match="writes it anew"):
        Login.load(environment)
