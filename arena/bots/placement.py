"""Brings the places of bots on the ladders up to date with their state and rulesets."""

from arena.bots.registry import BotState, Registry
from arena.queue.queues import Queues


async def place(registry: Registry, queues: Queues, name: str) -> int:
    """Bring a bot's places on the ladders up to date with its state and rulesets; idempotent.

    An active bot enters the ladders of its rulesets and leaves all others; any other bot leaves all
    and its matches are cancelled.

    Returns:
        How many matches were cancelled.
    """
    bot = await registry.bot(name)
    plays = bot.rulesets if bot.state is BotState.ACTIVE else ()
    cancelled = 0
    for ruleset in plays:
        await queues.open(ruleset)
        await queues.ladder(ruleset).enter(name)
    for ruleset in await queues.rulesets():
        if ruleset not in plays and await queues.ladder(ruleset).withdraw(name):
            cancelled += await queues.queue(ruleset).cancel_bot(name)
    return cancelled
