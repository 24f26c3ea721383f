"""Play the first legal action."""

from referee.sdk import Bot, Turn, run


class FirstLegalBot(Bot):
    def act(self, turn: Turn) -> str:
        return turn.legal_actions[0]


run(FirstLegalBot())
