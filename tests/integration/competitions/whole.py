"""Whole tournaments by the one command that plays them, with entrants known to be unequal."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from arena.formats.model import Format
from arena.version_id import bot_of
from referee.games import parse_ruleset

SAMPLE_BOTS = Path(__file__).parents[3] / "sample_bots"
WEAK = "random"


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A format whose entrants are copies of two bots, half of them weak.

    Attributes:
        ruleset: what is played.
        strong: the sample bot that is the better one.
        format: how it finds its matches.
        matches: how many it plays, but for those that decide a tie and a second final.
        clones: copies of each bot that enter.
        options: of the command.
    """

    ruleset: str = "quasenbo"
    strong: str = "quasenbo_heuristic"
    format: Format
    matches: int
    clones: int = 8
    options: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A name for people."""
        return f"{self.ruleset.partition(':')[0]}-{self.format}"

    @property
    def processes(self) -> int:
        """How many bots its matches start: every entrant of a match in each of its rotations."""
        game = parse_ruleset(self.ruleset)
        return self.matches * game.entrants * game.rotations

    def arguments(self, bots: Sequence[Path]) -> list[str]:
        """Return what follows ``arena``.

        Args:
            bots: their folders; copies of the first have the first seeds.
        """
        own = {"clones": self.clones, "boards": 1, "time": "60", "seed": "whole"}
        return [
            *("tournament", "play", self.ruleset, "--format", self.format, "--json"),
            *(f"--bot={bot}" for bot in bots),
            *(f"--{name}={value}" for name, value in (own | self.options).items()),
        ]


def four(format_: Format, matches: int, *, clones: int = 8, **options: int) -> Whole:
    """Return a format of a game that seats four."""
    return Whole(
        ruleset="pese-katesh:floors=1",
        strong="pese_katesh_heuristic",
        format=format_,
        matches=matches,
        clones=clones,
        options=options,
    )


SIXTEEN = [
    Whole(format=Format.ROUND_ROBIN, matches=120),
    Whole(format=Format.SWISS, matches=32),
    Whole(format=Format.SINGLE_ELIMINATION, matches=15),
    Whole(format=Format.DOUBLE_ELIMINATION, matches=30),
    Whole(format=Format.GAUNTLET, matches=15),
    Whole(format=Format.GROUPS, matches=31, options={"groups": 4}),
    four(Format.ROUND_ROBIN, 60),
    four(Format.SWISS, 16),
    four(Format.SINGLE_ELIMINATION, 7),
    four(Format.GROUPS, 15, groups=4),
]
"""Every format of games that seat two, and four."""


@dataclass(frozen=True)
class Outcome:
    """What came of a tournament.

    Attributes:
        document: what the command printed.
        seconds: how long it took, from nothing to nothing.
    """

    document: dict[str, Any]
    seconds: float

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The standings, best first."""
        (division,) = self.document["standings"]
        return list(division["rows"])

    @property
    def matches(self) -> list[dict[str, Any]]:
        """The matches of the format's own plan."""
        return [
            each
            for each in self.document["matches"]
            if not each["id"].endswith("x") and not each["id"].endswith(".f2")
        ]

    def mean_rank(self, kind: str) -> float:
        """Return the mean rank of a bot's copies."""
        return mean(float(row["place"]) for row in self.rows if _kind(row["version"]) == kind)

    def check(self, whole: Whole) -> None:
        """Require that everything was played, without faults, and that the better bot won."""
        assert self.document["competition"]["state"] == "ended"
        (division,) = self.document["standings"]
        assert division["finished"]
        matches = self.document["matches"]
        assert all(each["scores"] and not each["walkover"] for each in matches)
        assert len(self.matches) == whole.matches
        assert len(self.rows) == 2 * whole.clones
        assert [row["forfeits"] for row in self.rows] == [{}] * len(self.rows)
        assert _kind(self.rows[0]["version"]) == whole.strong
        assert self.mean_rank(whole.strong) < self.mean_rank(WEAK)


def _kind(entrant: str) -> str:
    """Return which bot a version is a copy of."""
    return bot_of(entrant).partition("-")[0]


def _copied(bot: str, folder: Path, ruleset: str) -> Path:
    """Return a copy of a sample bot that enters a ladder, whichever ladders the sample enters."""
    copy = folder / "bots" / bot
    shutil.copytree(SAMPLE_BOTS / bot, copy)
    toml = copy / "bot.toml"
    lines = toml.read_text().splitlines(keepends=True)
    others = [line for line in lines if not line.startswith("rulesets")]
    toml.write_text("".join([*others, f"rulesets = {json.dumps([ruleset])}\n"]))
    return copy


def play(whole: Whole, folder: Path) -> Outcome:
    """Play a tournament by the command, in a folder with nothing in it; the weak are seeded first.

    Args:
        whole: what is played.
        folder: for the copies of bots.
    """
    bots = [_copied(bot, folder, whole.ruleset) for bot in (WEAK, whole.strong)]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("ARENA_")}
    begun = time.perf_counter()
    answer = subprocess.run(
        [sys.executable, "-m", "arena", *whole.arguments(bots)],
        env=clean,
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    seconds = time.perf_counter() - begun
    assert answer.returncode == 0, answer.stderr
    return Outcome(json.loads(answer.stdout), seconds)
