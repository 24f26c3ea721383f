from collections.abc import Iterable
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as LostConnectionError

from arena.bots.registry import BotState
from arena.config import Settings
from arena.context import Arena
from arena.queue import rebuild
from arena.queue.strengths import LadderStrengths, published
from arena.scheduler.pool import LadderPool, Roster
from tests.arena.queue.making import play
from tests.service_kit import make_bot

pytestmark = pytest.mark.redis


class Lineup:
    """A lineup, and the pool of one ladder that follows it."""

    def __init__(self, redis: Redis, folder: Path) -> None:
        self.redis = redis
        arena = Arena.over(redis, Settings(data_dir=folder))
        self.queues, self.registry = arena.queues, arena.registry
        self.roster = Roster(arena)
        self.folder = folder
        self.fresh()

    def fresh(self) -> None:
        """Begin again, as a scheduler that has just become active."""
        self.ladder_pool = LadderPool(
            self.queues.ladder("quasenbo"),
            self.roster,
            LadderStrengths(self.redis, self.queues.ladder("quasenbo")),
        )

    @property
    def names(self) -> list[str]:
        """The bots in the pool, by name."""
        return sorted(self.ladder_pool.pool.names())

    async def add(self, name: str, *, pause: float = 0.0) -> None:
        """Add a bot of the house, or its next version."""
        path = self.folder / name
        if not path.exists():
            make_bot(self.folder, name, pause=pause)
        await self.registry.add_owner("house")
        await self.registry.add_folder(path, owner="house", house=True)
        await self.queues.ladder("quasenbo").enter(name)

    async def update(self) -> None:
        """Look at the lineup and the log."""
        await self.roster.refresh()
        await self.ladder_pool.update()

    async def play(self, match_id: str, *bots: str) -> None:
        """Play a match that the first bot wins."""
        await play(self.queues.queue("quasenbo"), match_id, [f"{bot}@1" for bot in bots])

    def facts(self, bots: Iterable[str]) -> list[tuple[float, int, list[str]]]:
        """Return Elo, matches and latest opponents of bots."""
        found = [self.ladder_pool.pool.get(bot) for bot in bots]
        return [(each.elo, each.matches, each.opponents) for each in found if each is not None]


@pytest.fixture
def lineup(redis: Redis, tmp_path: Path) -> Lineup:
    """A lineup without bots."""
    return Lineup(redis, tmp_path)


async def test_bots_come_and_go(lineup: Lineup) -> None:
    """The pool holds the active bots of its ladder, as the lineup has them now."""
    await lineup.add("ada")
    await lineup.update()
    assert lineup.names == ["ada"]
    await lineup.add("bob")
    await lineup.update()
    assert lineup.names == ["ada", "bob"]
    await lineup.registry.set_state("ada", BotState.SUSPENDED)
    await lineup.update()
    assert lineup.names == ["bob"]
    await lineup.registry.set_state("ada", BotState.ACTIVE)
    await lineup.update()
    assert lineup.names == ["ada", "bob"]


async def test_results_are_followed(lineup: Lineup) -> None:
    """Ratings, matches and opponents are those of the log, a fresh pool's and an old one's."""
    await lineup.add("ada")
    await lineup.add("bob")
    await lineup.update()
    await lineup.play("ladder-000001", "ada", "bob")
    await lineup.update()
    expected = [(1520.0, 1, ["bob"]), (1480.0, 1, ["ada"])]
    assert lineup.facts(["ada", "bob"]) == expected
    lineup.fresh()
    await lineup.update()
    assert lineup.facts(["ada", "bob"]) == expected


async def test_a_match_under_way_counts_once(lineup: Lineup) -> None:
    """A scheduled match counts from then on, its result not once more."""
    await lineup.add("ada")
    await lineup.add("bob")
    await lineup.update()
    lineup.ladder_pool.note_scheduled("ladder-000001", ("ada", "bob"), when=1.0)
    assert [matches for _, matches, _ in lineup.facts(["ada", "bob"])] == [1, 1]
    await lineup.play("ladder-000001", "ada", "bob")
    await lineup.update()
    assert [matches for _, matches, _ in lineup.facts(["ada", "bob"])] == [1, 1]


async def test_an_annulment_is_followed(lineup: Lineup) -> None:
    """After it the ratings are those without the match."""
    await lineup.add("ada")
    await lineup.add("bob")
    await lineup.update()
    await lineup.play("ladder-000001", "ada", "bob")
    await lineup.update()
    await rebuild.annul(lineup.queues.ladder("quasenbo"), "ladder-000001", reason="a test")
    await lineup.update()
    assert [elo for elo, _, _ in lineup.facts(["ada", "bob"])] == [1500.0, 1500.0]


async def test_strengths_give_the_uncertainties(lineup: Lineup) -> None:
    """Once there are enough results, the batch's error is what is not known of a bot."""
    await lineup.add("ada")
    await lineup.add("bob")
    await lineup.update()
    for number in range(24):
        winner, loser = ("ada", "bob") if number % 3 else ("bob", "ada")
        await lineup.play(f"ladder-{number:06d}", winner, loser)
    await lineup.update()
    await lineup.ladder_pool.measure()
    ada = lineup.ladder_pool.pool.get("ada")
    assert ada is not None
    assert ada.deviation is not None
    assert ada.uncertainty == max(30.0, ada.deviation)


def failing_once(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """Let a method lose its connection the next time that it is called."""
    step = getattr(owner, name)

    async def lost(*_: object, **__: object) -> object:
        monkeypatch.setattr(owner, name, step)
        raise LostConnectionError

    monkeypatch.setattr(owner, name, lost)


async def test_a_roster_whose_first_look_failed_looks_at_all_bots_again(
    lineup: Lineup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis went away between the names and the bots."""
    await lineup.add("ada")
    await lineup.add("bob")
    failing_once(monkeypatch, lineup.registry, "bots_named")
    with pytest.raises(LostConnectionError):
        await lineup.update()
    await lineup.update()
    assert lineup.names == ["ada", "bob"]


async def test_a_change_that_could_not_be_read_is_read_later(
    lineup: Lineup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bot that was suspended while Redis went away does not stay in the pool."""
    await lineup.add("ada")
    await lineup.add("bob")
    await lineup.update()
    await lineup.registry.set_state("ada", BotState.SUSPENDED)
    failing_once(monkeypatch, lineup.registry, "bots_named")
    with pytest.raises(LostConnectionError):
        await lineup.update()
    await lineup.update()
    assert lineup.names == ["bob"]


async def test_a_pool_that_could_not_be_read_whole_is_read_again(
    lineup: Lineup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who met whom is not forgotten because Redis went away between ratings and log."""
    await lineup.add("ada")
    await lineup.add("bob")
    await lineup.play("m1", "ada", "bob")
    failing_once(monkeypatch, lineup.ladder_pool._ladder, "entries")
    with pytest.raises(LostConnectionError):
        await lineup.update()
    await lineup.update()
    assert [opponents for _, _, opponents in lineup.facts(["ada", "bob"])] == [["bob"], ["ada"]]


async def test_strengths_that_could_not_be_published_are_published_later(
    lineup: Lineup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No result need come before the column is right."""
    await lineup.add("ada")
    await lineup.add("bob")
    await lineup.update()
    await lineup.play("m1", "ada", "bob")
    failing_once(monkeypatch, lineup.ladder_pool._strengths, "publish")
    with pytest.raises(LostConnectionError):
        await lineup.ladder_pool.measure()
    assert await lineup.ladder_pool.measure()
    assert set(await published(lineup.redis, "quasenbo", ["ada", "bob"])) == {"ada", "bob"}
    assert not await lineup.ladder_pool.measure()
