"""Thinking permits: no more bots think than there are cores, and nobody starves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.match.permits import Permit, PermitPool
from tests.referee.scripted import ScriptedBot


def make_permits(pool: PermitPool, count: int) -> list[Permit]:
    """Return permits that nobody hears of."""
    return [Permit(pool, granted=lambda: None) for _ in range(count)]


def test_a_pool_needs_a_permit() -> None:
    """Without one nobody could ever think."""
    with pytest.raises(ValueError, match="at least one permit"):
        PermitPool(0)


def test_permits_come_in_the_order_in_which_they_were_asked_for() -> None:
    """The one who waits longest is next."""
    pool = PermitPool(1)
    first, second, third = make_permits(pool, 3)
    assert [permit.acquire() for permit in (first, second, third)] == [True, False, False]
    first.release()
    assert [permit.held for permit in (first, second, third)] == [False, True, False]
    assert not first.acquire()
    second.release()
    assert third.held


def test_a_permit_that_is_given_up_while_waiting_is_never_granted() -> None:
    """Who waits no longer is passed over, and nothing leaks."""
    pool = PermitPool(1)
    first, second, third = make_permits(pool, 3)
    for permit in (first, second, third):
        permit.acquire()
    second.release()
    first.release()
    assert (second.held, third.held) == (False, True)
    third.release()
    assert pool.free == 1
    assert not pool.contended


def test_taking_twice_takes_one() -> None:
    """A bot holds one permit, however often it asks."""
    pool = PermitPool(2)
    (permit,) = make_permits(pool, 1)
    permit.acquire()
    permit.acquire()
    assert pool.free == 1


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=100), st.integers(1, 3))
def test_permits_are_conserved(steps: list[tuple[int, bool]], count: int) -> None:
    """Held and free permits always add up, and none is free while somebody waits."""
    pool = PermitPool(count)
    permits = make_permits(pool, 5)
    for index, takes in steps:
        if takes:
            permits[index].acquire()
        else:
            permits[index].release()
        assert pool.free + sum(permit.held for permit in permits) == count
        assert not (pool.free and pool.contended)
    for permit in permits:
        permit.release()
    assert pool.free == count


async def test_a_bot_drains_and_gives_its_permit_back_while_another_waits() -> None:
    """With one core and two bots, whoever has answered everything lets the other think."""
    pool = PermitPool(1)
    one, two = ScriptedBot(pool=pool), ScriptedBot(pool=pool)
    await one.introduces_itself()
    await two.introduces_itself()
    one.asks(0)
    one.asks(1)
    assert await one.hears_turns() == [(0, 0), (1, 0)]
    waiting = two.asks(0)
    await two.hears_nothing(0.02)
    # One gets nothing new while two waits, although it still holds the permit.
    one.answers((0, 0, "2S"))
    one.asks(2)
    await one.hears_nothing(0.02)
    one.answers((1, 0, "2S"))
    assert await two.hears_turns() == [(0, 0)]
    await one.hears_nothing(0.02)
    two.answers((0, 0, "2S"))
    assert await one.hears_turns() == [(2, 0)]
    await two.told("game 0 ply 0 2S")
    assert waiting.charged < 0.05
    await one.leave()
    await two.leave()
    assert pool.free == 1


async def test_nobody_starves() -> None:
    """Three bots that always have something to do take turns on one core."""
    pool = PermitPool(1)
    bots = [ScriptedBot(pool=pool) for _ in range(3)]
    for bot in bots:
        await bot.introduces_itself()
    for bot in bots:
        bot.asks(0)
    order = []
    for ply in range(4):
        for number, bot in enumerate(bots):
            assert await bot.hears_turns() == [(0, ply)]
            order.append(number)
            bot.asks(0, ply=ply + 1)
            bot.answers((0, ply, "2S"))
    assert order == [0, 1, 2] * 4
    for bot in bots:
        await bot.leave()
    assert pool.free == 1


@pytest.mark.parametrize("ending", ["vanishes", "breaks", "is dismissed"])
async def test_no_permit_leaks_when_a_bot(ending: str) -> None:
    """However a bot ends, its permit is free again, and so is its place in the queue."""
    pool = PermitPool(1)
    holder, waiter = ScriptedBot(pool=pool), ScriptedBot(pool=pool)
    for bot in (holder, waiter):
        await bot.introduces_itself()
        bot.asks(0)
    await holder.hears("turns")
    for bot in (waiter, holder):
        if ending == "vanishes":
            bot.hangs_up()
            await bot.told("broke crash")
        elif ending == "breaks":
            bot.hello()
            await bot.broken()
        else:
            bot.session.finish()
    assert pool.free == 1
    assert not pool.contended
    await holder.leave()
    await waiter.leave()
