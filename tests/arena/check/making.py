"""Makes the folders of bots, good and bad, and checks them."""

from pathlib import Path

from arena.check.report import CheckReport
from arena.check.run import CheckOptions, check_folder
from arena.sample_bots import shipped_bot
from referee.clock import TimeControl
from referee.match.runner import Referee
from referee.sandbox.sandbox import PlainSandbox, Sandbox
from tests.sample_bots.playing import NeverLate

QUICK = CheckOptions(control=TimeControl.parse("1+0.05"), start_limit=40)
"""Quick games; a start may take long, as on a busy machine."""


def bot_folder(top: Path, code: str, *lines: str, name: str = "it", command: str = "") -> Path:
    """Write a bot of one file in Python.

    Args:
        top: where its folder is made.
        code: of bot.py.
        lines: further ones of bot.toml.
        name: the bot's.
        command: words as TOML; ``python bot.py`` without.
    """
    folder = top / name
    folder.mkdir()
    words = command or '["python", "bot.py"]'
    toml = [f'name = "{name}"', 'rulesets = ["quasenbo"]', f"command = {words}", *lines]
    (folder / "bot.toml").write_text("\n".join(toml))
    (folder / "bot.py").write_text(code)
    return folder


def acting(body: str, *, before: str = "") -> str:
    """Return the code of a bot whose ``act`` has this body."""
    indented = "\n".join(f"        {line}" for line in body.splitlines())
    return (
        f"from referee.sdk import Bot, Turn, run\n{before}\n"
        f"class It(Bot):\n    def act(self, turn: Turn) -> str:\n{indented}\n\nrun(It())\n"
    )


HONEST = acting("return turn.legal_actions[0]")


def faulty(top: Path, fault: str) -> Path:
    """Return a folder of the sample bot that commits this fault, in Quäsenbö."""
    code = (shipped_bot("faulty") / "bot.py").read_text()
    return bot_folder(top, code, command=f'["python", "bot.py", "--fault", "{fault}"]')


async def checked(
    folder: Path, options: CheckOptions = QUICK, *, sandbox: Sandbox | None = None
) -> CheckReport:
    """Check a folder."""
    referee = Referee(sandbox=sandbox or PlainSandbox(), cores=2, tables=2)
    referee.monitor = NeverLate()
    return await check_folder(folder, referee, options=options)
