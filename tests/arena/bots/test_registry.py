"""Owners, bots and versions."""

from pathlib import Path

import pytest
from redis.asyncio import Redis

from arena.archive.archive import Archive
from arena.bots.registry import BotState, Registry
from arena.errors import InputError, NotFoundError, PreconditionError
from referee.errors import InvalidBotError

pytestmark = pytest.mark.redis


@pytest.fixture
def registry(redis: Redis, tmp_path: Path) -> Registry:
    """An empty registry over an archive in a folder."""
    archive = Archive(str(tmp_path / "archive"), cache=tmp_path / "cache")
    return Registry(redis, archive)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a bot called greedy."""
    path = tmp_path / "greedy"
    path.mkdir()
    (path / "bot.toml").write_text(
        'name = "greedy"\nrulesets = ["quasenbo", "pese-katesh"]\n'
        'command = ["python", "bot.py"]\nparallel_games = 4\n'
    )
    (path / "bot.py").write_text("# one\n")
    return path


async def test_a_folder_becomes_the_first_version(registry: Registry, folder: Path) -> None:
    """Bot and version hold what bot.toml says."""
    assert await registry.add_owner("ada")
    assert not await registry.add_owner("ada")
    added = await registry.add_folder(folder, owner="ada")
    assert added.is_new
    bot, version = added.bot, added.version
    assert (bot.name, bot.owner, bot.house, bot.versions) == ("greedy", "ada", False, 1)
    assert set(bot.rulesets) == {"quasenbo", "pese-katesh"}
    assert (bot.state, bot.active_version) == (BotState.ACTIVE, "greedy@1")
    assert (version.id, version.bot, version.runtime) == ("greedy@1", "greedy", "python")
    assert (version.command, version.parallel_games) == (("python", "bot.py"), 4)
    assert await registry.bot("greedy") == bot
    assert await registry.version("greedy@1") == version
    assert await registry.owners() == ["ada"]


async def test_the_same_content_is_the_same_version(registry: Registry, folder: Path) -> None:
    """Adding again changes nothing; other content is the next version; the first can come back."""
    await registry.add_owner("ada")
    first = await registry.add_folder(folder, owner="ada")
    again = await registry.add_folder(folder, owner="ada")
    assert (again.is_new, again.version) == (False, first.version)
    (folder / "bot.py").write_text("# two\n")
    second = await registry.add_folder(folder, owner="ada")
    assert (second.is_new, second.version.id) == (True, "greedy@2")
    (folder / "bot.py").write_text("# one\n")
    back = await registry.add_folder(folder, owner="ada")
    assert (back.is_new, back.bot.active_version, back.bot.versions) == (False, "greedy@1", 2)
    assert [each.id for each in await registry.versions_of("greedy")] == ["greedy@1", "greedy@2"]
    assert (await registry.activate("greedy@2")).active_version == "greedy@2"


async def test_a_name_belongs_to_its_owner(registry: Registry, folder: Path) -> None:
    """Another owner cannot add a version to a bot."""
    await registry.add_owner("ada")
    await registry.add_owner("bob")
    await registry.add_folder(folder, owner="ada")
    with pytest.raises(PreconditionError, match="belongs to ada"):
        await registry.add_folder(folder, owner="bob")


async def test_a_suspended_bot_stays_out(registry: Registry, folder: Path) -> None:
    """Its owner can neither submit nor activate, until an operator ends it."""
    await registry.add_owner("ada")
    await registry.add_folder(folder, owner="ada")
    assert (await registry.set_state("greedy", BotState.SUSPENDED)).state is BotState.SUSPENDED
    with pytest.raises(PreconditionError, match="suspended"):
        await registry.add_folder(folder, owner="ada")
    with pytest.raises(PreconditionError, match="suspended"):
        await registry.activate("greedy@1")
    await registry.set_state("greedy", BotState.ACTIVE)
    assert (await registry.activate("greedy@1")).state is BotState.ACTIVE


async def test_a_suspended_bot_cannot_be_retired(registry: Registry, folder: Path) -> None:
    """Or its owner, faster than the question before it, could take a suspension off."""
    await registry.add_owner("ada")
    await registry.add_folder(folder, owner="ada")
    await registry.set_state("greedy", BotState.SUSPENDED, reason="it cheats")
    with pytest.raises(PreconditionError, match="is suspended; ask an operator"):
        await registry.set_state("greedy", BotState.RETIRED)
    bot = await registry.bot("greedy")
    assert (bot.state, bot.reason) == (BotState.SUSPENDED, "it cheats")


async def test_a_retired_bot_can_come_back(registry: Registry, folder: Path) -> None:
    """Its owner's next submission makes it active."""
    await registry.add_owner("ada")
    await registry.add_folder(folder, owner="ada")
    await registry.set_state("greedy", BotState.RETIRED)
    assert (await registry.add_folder(folder, owner="ada")).bot.state is BotState.ACTIVE


async def test_bots_are_listed_by_name(registry: Registry, folder: Path) -> None:
    """All of them, an owner's, or a ladder's."""
    for owner in ("ada", "house"):
        await registry.add_owner(owner)
    text = (folder / "bot.toml").read_text()
    await registry.add_folder(folder, owner="ada")
    (folder / "bot.toml").write_text(
        text.replace("greedy", "first").replace('"quasenbo", ', '"quasenbo:players=3", ')
    )
    await registry.add_folder(folder, owner="house", house=True)
    assert [bot.name for bot in await registry.bots()] == ["first", "greedy"]
    assert [bot.house for bot in await registry.bots()] == [True, False]
    assert [bot.name for bot in await registry.bots(owner="ada")] == ["greedy"]
    assert [bot.name for bot in await registry.bots(ruleset="quasenbo:players=3")] == ["first"]


async def test_what_is_unknown_is_named(registry: Registry, folder: Path) -> None:
    """Owners, bots and versions that do not exist are the caller's error."""
    with pytest.raises(NotFoundError, match="no owner ada"):
        await registry.add_folder(folder, owner="ada")
    with pytest.raises(NotFoundError, match="no bot nobody"):
        await registry.bot("nobody")
    with pytest.raises(NotFoundError, match="no bot nobody"):
        await registry.activate("nobody@1")
    await registry.add_owner("ada")
    await registry.add_folder(folder, owner="ada")
    with pytest.raises(NotFoundError, match="no version greedy@9"):
        await registry.activate("greedy@9")
    with pytest.raises(NotFoundError, match="no version greedy@9"):
        await registry.version("greedy@9")
    with pytest.raises(InputError, match="owner's name"):
        await registry.add_owner("no spaces")


async def test_a_folder_without_a_bot_is_refused(registry: Registry, tmp_path: Path) -> None:
    """The loader's sentence comes through."""
    with pytest.raises(InvalidBotError, match=r"bot\.toml"):
        await registry.add_folder(tmp_path, owner="ada")
