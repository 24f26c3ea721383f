"""Where settings come from, and what is said when they are wrong."""

from datetime import timedelta
from pathlib import Path

import pytest

from arena.config import LadderTerms, load
from arena.errors import InputError


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings file, and no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("DATA_DIR", "REDIS_URL", "SLOTS", "API_PORT", "ARCHIVE_URL", "METRICS_PORT"):
        monkeypatch.delenv(f"ARENA_{name}", raising=False)


def test_defaults_need_nothing() -> None:
    """Without any source the service runs on this machine alone."""
    settings = load()
    assert settings.redis_url == ""
    assert settings.archive == "arena-data/archive"
    assert (settings.api_port, settings.web_port, settings.metrics_port) == (7400, 7480, 7490)
    assert settings.cores >= 1
    assert settings.ladder("quasenbo:players=3") == LadderTerms(
        boards=8, time_control="5+0.05", parallel_games=32
    )
    assert settings.ladder("pese-katesh").boards == 1


def test_sources_stand_in_rising_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment beats the file, an option beats both, None is no option."""
    (tmp_path / "arena.toml").write_text("slots = 1\nworkers = 2\napi_port = 7401\n")
    monkeypatch.setenv("ARENA_SLOTS", "3")
    monkeypatch.setenv("ARENA_API_PORT", "7402")
    settings = load(api_port=7403, web_port=None)
    assert (settings.workers, settings.slots, settings.api_port) == (2, 3, 7403)


def test_a_ladder_has_settings_of_its_own(tmp_path: Path) -> None:
    """What the ladder's table leaves open comes from the whole."""
    file = tmp_path / "other.toml"
    file.write_text(
        'time_control = "2+0.1"\nlease = 12\nsilence = 9.5\nrenewal = 3\n'
        '[ladders."quasenbo:players=3"]\nboards = 4\n'
    )
    settings = load(file)
    assert settings.lease == timedelta(seconds=12)
    own = settings.ladder("quasenbo:players=3")
    assert (own.boards, own.time_control) == (4, "2+0.1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slosts = 1", "slosts: there is no such setting; did you mean slots?"),
        ("api_port = 70000", "api_port (ARENA_API_PORT): "),
        ('time_control = "fast"', "time_control (ARENA_TIME_CONTROL): 'fast' is not a time"),
        ("renewal = 40", "renewal must be shorter than silence"),
        ('tls_key = "key.pem"', "tls_certificate and tls_key must be given together"),
        ("[ladders.chess]\nboards = 1", "chess"),
        ('[ladders."quasenbo:players=3,double=yes"]', "write 'quasenbo:players=3,double=yes' as"),
        ("[ladders.quasenbo]\nbords = 1", "ladders.quasenbo.bords: there is no such setting; did"),
        ("slots = ", "arena.toml cannot be read"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, said: str) -> None:
    """Every error names the key and says what is possible."""
    (tmp_path / "arena.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        load()
    assert said in str(caught.value)


def test_wrong_environment_and_options_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are judged as the file is."""
    monkeypatch.setenv("ARENA_SLOTS", "many")
    with pytest.raises(InputError, match=r"slots \(ARENA_SLOTS\)"):
        load()
    monkeypatch.delenv("ARENA_SLOTS")
    monkeypatch.setenv("ARENA_LADDERS", "quasenbo")
    with pytest.raises(InputError, match="ARENA_LADDERS is JSON"):
        load()
    monkeypatch.delenv("ARENA_LADDERS")
    with pytest.raises(InputError, match="workers"):
        load(workers=-1)


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    """Only arena.toml may be missing."""
    with pytest.raises(InputError, match=r"none\.toml cannot be read"):
        load(tmp_path / "none.toml")


@pytest.mark.parametrize("text", ["45", "45.0", "PT45S"])
def test_times_in_the_environment_are_seconds(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain number is read as seconds, and the standard's own notation, too."""
    monkeypatch.setenv("ARENA_GRACE", text)
    assert load(None).grace == timedelta(seconds=45)
