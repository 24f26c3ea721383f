"""Enters bots into ladders and withdraws them."""

from arena.bots.registry import BotState, Registry
from arena.queue.queues import Queues


async def update_ladders(registry: Registry, queues: Queues, name: str) -> int:
    """Enter an active bot into the ladders of its rulesets and withdraw it from all others.

    A bot that is not active is withdrawn from all, and its matches are cancelled. Idempotent;
    returns how many matches were cancelled.
    """
    bot = await registry.bot(name)
    plays = bot.rulesets if bot.state is BotState.ACTIVE else ()
    cancelled = 0
    for ruleset in plays:
        await queues.open_ladder(ruleset)
        await queues.ladder(ruleset).enter(name)
    for ruleset in await queues.rulesets():
        if ruleset not in plays and await queues.ladder(ruleset).withdraw(name):
            cancelled += await queues.queue(ruleset).cancel_bot(name)
    return cancelled
