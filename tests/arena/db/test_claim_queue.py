"""Claims on the items of a queue, as trials and webhooks use them."""

import asyncio
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from arena.db.claim_queue import ClaimQueue

pytestmark = pytest.mark.redis

LONG, BRIEF = timedelta(seconds=30), timedelta(milliseconds=30)


async def test_a_renewed_claim_outlives_its_first_deadline(redis: Redis) -> None:
    """Nobody else gets the item, and a stranger's token renews nothing."""
    claims = ClaimQueue(redis, due="events", claims="event-claims")
    await redis.zadd("{arena}:events", {"one": 0})
    claim = await claims.claim(token="a" * 32, duration=BRIEF)
    assert claim is not None
    assert await claims.renew(claim, duration=LONG)
    await asyncio.sleep(0.05)
    assert await claims.claim(token="b" * 32, duration=LONG) is None
    assert await claims.waiting() == 1


async def test_a_claim_that_was_given_back_is_over(redis: Redis) -> None:
    """The item is due after the wait, its attempt counts or not, and the token is worth nothing."""
    claims = ClaimQueue(redis, due="events", claims="event-claims")
    await redis.zadd("{arena}:events", {"one": 0})
    for counts, attempt in ((False, 1), (True, 1), (False, 2)):
        claim = await claims.claim(token="a" * 32, duration=LONG)
        assert claim is not None
        assert (claim.id, claim.attempt) == ("one", attempt)
        assert await claims.give_back(claim, wait=timedelta(0), counts=counts)
        assert not await claims.renew(claim, duration=LONG)
        assert not await claims.give_back(claim, wait=LONG, counts=True)
