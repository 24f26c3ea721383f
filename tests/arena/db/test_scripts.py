"""The Lua scripts: their headers, and how they are called."""

import re
from pathlib import Path

import pytest
from redis.asyncio import Redis

import arena
from arena.db.keys import KEY_NAMES
from arena.db.scripts import Script, Scripts, field, library, load

ROOMS = Path(arena.__path__[0])
SCRIPTS = sorted((path.parent.parent.name, path.stem) for path in ROOMS.glob("*/lua/*.lua"))
LIBRARIES = sorted(path.stem for path in ROOMS.glob("db/lua/lib/*.lua"))


def _code(text: str) -> str:
    """Return Lua text without its comments."""
    return re.sub(r"--.*", "", text)


def _words(text: str) -> set[str]:
    return set(re.findall(r"(?<![.\w])\w+", re.sub(r"'[^']*'", "", _code(text))))


def _defined(name: str) -> set[str]:
    """Return what a library offers."""
    return set(re.findall(r"^local (?:function )?(\w+)", library(name), re.MULTILINE))


def _fields(text: str) -> set[str]:
    return set(re.findall(r"\bkeys\.(\w+)", _code(text)))


@pytest.mark.parametrize(("package", "name"), SCRIPTS)
def test_a_script_uses_all_that_its_header_declares(package: str, name: str) -> None:
    """Each argument, key and library stands in the body, or in a library that is put in front."""
    script = load(package, name)
    words = _words(script.body)
    assert set(script.arguments) <= words
    assert [each for each in script.uses if not _defined(each) & words] == []
    called = set(re.findall(r"(?<![.\w])(\w+)\(", _code(script.body)))
    assert {each for each in LIBRARIES if _defined(each) & called} <= set(script.uses)
    libraries = script.text.removesuffix(script.body)
    assert {field(key) for key in script.keys} <= _fields(script.body) | _fields(libraries)


@pytest.mark.parametrize(("package", "name"), SCRIPTS)
def test_a_script_takes_keys_and_arguments_by_their_names_alone(package: str, name: str) -> None:
    """Each key that the body reads is declared, and numbers of keys or arguments are not used."""
    script = load(package, name)
    assert _fields(script.body) <= {field(key) for key in script.keys}
    assert not {"KEYS", "ARGV"} & _words(script.body)


def test_each_library_is_used() -> None:
    """No library stands there for nothing."""
    used = {each for package, name in SCRIPTS for each in load(package, name).uses}
    used |= {each for name in LIBRARIES for each in _uses(name)}
    assert used == set(LIBRARIES)


def _uses(name: str) -> list[str]:
    found = re.search(r"^-- USES: (.*)$", library(name), re.MULTILINE)
    return found[1].split() if found else []


def _write(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Script:
    place = folder / "room" / "lua"
    place.mkdir(parents=True)
    (place / "script.lua").write_text(text)
    monkeypatch.setattr("arena.db.scripts.files", lambda _: folder)
    return load.__wrapped__("room", "script")


def test_a_header_becomes_locals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys stand in a table, numbers and flags are converted, the rest is gathered."""
    header = (
        "-- Does something.\n-- KEYS: bots token-ids\n"
        "-- ARGV: name count:number is_new:flag all...\n--   count: of bots\n-- Returns: nothing\n"
    )
    script = _write(tmp_path, f"{header}return 1\n", monkeypatch)
    assert script.text == (
        "local keys = {bots = KEYS[1], token_ids = KEYS[2]}\nlocal name = ARGV[1]\n"
        "local count = tonumber(ARGV[2])\nlocal is_new = ARGV[3] == '1'\nlocal all = {}\n"
        "for at = 4, #ARGV do\n  all[#all + 1] = ARGV[at]\nend\nreturn 1\n"
    )
    assert (script.body, script.uses) == ("return 1\n", ())


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("-- KEYS: bots\n-- Returns: 1\n", "no header"),
        ("-- ARGV: name\n-- Returns: 1\n", "no header"),
        ("-- KEYS: bots\n-- ARGV: name\n", "no header"),
        ("-- KEYS: bots\n-- ARGV: name\n-- told of nothing\n-- Returns: 1\n", "no header"),
        ("-- KEYS: bolts\n-- ARGV: name\n-- Returns: 1\n", "unknown keys: bolts"),
        ("-- KEYS: bots\n-- ARGV: name:text\n-- Returns: 1\n", "no header"),
        ("-- KEYS: bots\n-- ARGV: all... name\n-- Returns: 1\n", "no header"),
    ],
)
def test_a_malformed_header_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, problem: str
) -> None:
    """A header lacks a line, or names what is not known."""
    with pytest.raises(ValueError, match=problem):
        _write(tmp_path, f"-- Does something.\n{header}return 1\n", monkeypatch)


def test_no_two_names_are_one_field() -> None:
    """A script can tell all keys apart in its table."""
    assert len({field(name) for name in KEY_NAMES}) == len(KEY_NAMES)


@pytest.mark.redis
async def test_a_wrong_number_of_arguments_is_refused(redis: Redis) -> None:
    """Before anything is sent; a last argument that gathers takes any number, none among them."""
    scripts = Scripts(redis, "owners", {"held": "{arena}:some"}.__getitem__)
    for count in (0, 2):
        with pytest.raises(TypeError, match=f"{count} arguments for most life thing present"):
            await scripts.run("hold_place", *range(count))
    assert await scripts.run("hold_place", 2, 1000, "one") == b"held"
    assert await scripts.run("hold_place", 2, 1000, "two", "one", "other") == b"full"
    with pytest.raises(TypeError, match="2 arguments for name"):
        await Scripts(redis, "scheduler").run("resign", "one", "two")
