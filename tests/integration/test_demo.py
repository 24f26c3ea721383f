"""The ladders that ``arena demo`` ends with say what the sample bots are worth."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.service_kit import Service

pytestmark = [pytest.mark.redis, pytest.mark.slow]

SAMPLE_BOTS = Path(__file__).resolve().parents[2] / "sample_bots"


def limited(folder: Path, bot: str, ruleset: str) -> Path:
    """Copy a sample bot that plays one ruleset alone, so that no other ladder opens."""
    copy = folder / bot
    shutil.copytree(SAMPLE_BOTS / bot, copy)
    file = copy / "bot.toml"
    text, count = re.subn(
        r"^rulesets = .*$", f'rulesets = ["{ruleset}"]', file.read_text(), flags=re.MULTILINE
    )
    assert count == 1
    file.write_text(text)
    return copy


def ladder_after(
    service: Service, ruleset: str, *bots: str, matches: int, boards: int
) -> Mapping[str, Any]:
    """Run the demo with these bots; return the rows of its one ladder by bot."""
    folders = [str(limited(service.folder / "bots", bot, ruleset)) for bot in bots]
    options = [word for folder in folders for word in ("--bot", folder)]
    numbers = ["--matches", str(matches), "--boards", str(boards)]
    answer = subprocess.run(
        [sys.executable, "-m", "arena", "demo", "--json", *numbers, *options],
        env=service.environment,
        cwd=service.folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert answer.returncode == 0, answer.stderr
    document = json.loads(answer.stdout)
    assert document["ladders"].keys() == {ruleset}
    assert document["matches"] >= matches
    return {row["bot"]: row for row in document["ladders"][ruleset]}


def test_the_heuristic_of_quasenbo_ends_above_random(alone: Service) -> None:
    """Two games of three to the heuristic: after some 250 games the ladder is sure of it."""
    found = ladder_after(alone, "quasenbo", "quasenbo_heuristic", "random", matches=5, boards=25)
    heuristic, random = found["quasenbo_heuristic"], found["random"]
    assert heuristic["place"] < random["place"]
    assert heuristic["strength"] > random["strength"]


def test_a_bot_that_thinks_wins_the_ladder_of_pese_katesh(alone: Service) -> None:
    """Beside three that do not, the heuristic or the search is the first after a few matches."""
    found = ladder_after(
        alone,
        "pese-katesh",
        *("pese_katesh_heuristic", "pese_katesh_search", "random", "first_legal"),
        matches=2,
        boards=1,
    )
    thoughtful = {"pese_katesh_heuristic", "pese_katesh_search"}
    ranks = {bot: row["place"] for bot, row in found.items()}
    best = min(ranks[bot] for bot in thoughtful)
    assert best == 1 < min(ranks[bot] for bot in ranks.keys() - thoughtful)
