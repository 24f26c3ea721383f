"""How long a sandboxed bot takes to start, beside a bare one.

``python tests/benchmarks/sandbox.py`` prints a table and, last, one line of JSON. A start is from
the process to its Ready. Bare and sandboxed ones alternate; medians are compared within one run,
and so are the best, which what else runs on the machine disturbs least.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from referee.bot_folder import load_bot_folder
from referee.clock import TimeControl
from referee.games import parse_ruleset
from referee.match.runner import MatchPlan, Referee
from referee.match.settings import TableSettings
from referee.sandbox.sandbox import PlainSandbox
from referee.sandbox.selftest import detect_sandbox

if TYPE_CHECKING:
    from referee.sandbox.sandbox import Sandbox

BOTS = Path(__file__).parents[2] / "sample_bots"
ROUNDS = 15
GOAL = 1.3


async def starts(sandbox: Sandbox, bot: Path) -> list[float]:
    """Return the seconds that the two bots of a table took to start."""
    plan = MatchPlan(
        game=parse_ruleset("quasenbo"),
        seed=bytes(32),
        boards=1,
        entrants=(load_bot_folder(bot),) * 2,
        settings=TableSettings(control=TimeControl.parse("5+0.05")),
        rotations=1,
    )
    result = await Referee(sandbox=sandbox, cores=2, tables=1).play(plan)
    return [record.start_seconds for record in result.processes if record.start_seconds]


async def compare(bot: Path, *, rounds: int = ROUNDS) -> dict[str, Any]:
    """Return the median starts of a bot, bare and sandboxed, and their ratio."""
    walled = await detect_sandbox()
    bare = PlainSandbox()
    times: dict[str, list[float]] = {bare.tier: [], walled.tier: []}
    for sandbox in (bare, walled):
        await starts(sandbox, bot)
    for _ in range(rounds):
        for sandbox in (bare, walled):
            times[sandbox.tier] += await starts(sandbox, bot)
    found: dict[str, Any] = {"tier": walled.tier}
    for name, pick in (("median", statistics.median), ("best", min)):
        one, other = pick(times[bare.tier]), pick(times[walled.tier])
        found[name] = {
            "bare_ms": round(one * 1e3, 1),
            "sandboxed_ms": round(other * 1e3, 1),
            "ratio": round(other / one, 2),
        }
    return found


def run(*, rounds: int = ROUNDS) -> dict[str, Any]:
    """Return what a Python bot's start takes."""
    return uvloop.run(compare(BOTS / "first_legal", rounds=rounds))


def main() -> None:
    """Print the table and the JSON."""
    found = run()
    print(f"         bare ms  sandboxed ms  ratio ({found['tier']}; goal: {GOAL} at most)")
    for name in ("median", "best"):
        row = found[name]
        print(f"{name:6}  {row['bare_ms']:8.1f}  {row['sandboxed_ms']:12.1f}  {row['ratio']:5.2f}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
