"""How long a whole tournament of sixteen takes, format by format, in one command.

``python tests/benchmarks/tournaments.py [FORMAT ...]`` prints a table and, last, one line of JSON.
Half of the entrants are copies of a random bot, half of a better one, which must win. Every match
has one board, each bot process plays one game: what is measured is mostly the start of bots. The
seconds are those of the command from its start to its end, its arena with them.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
from pathlib import Path

from tests.integration.competitions.whole import SIXTEEN, WEAK, Whole, play


def measured(whole: Whole) -> dict[str, object]:
    """Play a tournament, and return what it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        found = play(whole, Path(folder))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found.check(whole)
    (division,) = found.document["divisions"]
    return {
        "seconds": round(found.seconds, 1),
        "cpu_seconds": round(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1
        ),
        "matches": division["played"],
        "winner": found.rows[0]["entrant"],
        "mean_rank_strong": found.mean_rank(whole.strong),
        "mean_rank_weak": found.mean_rank(WEAK),
    }


def main() -> None:
    """Print a line for each format, and JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", help="such as quasenbo-swiss; all of them")
    wanted = parser.parse_args().formats
    rows = {}
    print(f"{'format':32} {'matches':>7} {'seconds':>8} {'of cores':>9}  first")
    for whole in SIXTEEN:
        if not wanted or whole.name in wanted:
            row = rows[whole.name] = measured(whole)
            print(
                f"{whole.name:32} {row['matches']:7} {row['seconds']:8} {row['cpu_seconds']:9}"
                f"  {row['winner']}"
            )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
