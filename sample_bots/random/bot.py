"""Play any legal action."""

from referee.sdk import Bot, Turn, run


class RandomBot(Bot):
    def act(self, turn: Turn) -> str:
        return turn.rng.choice(turn.legal_actions)


run(RandomBot())
