"""``arena compare``: test sequentially whether a version is better, on duplicate boards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.check.run import play_valid
from arena.cli.console import EXIT_FAILED, Json, out, print_json, progress_console
from arena.cli.loop import run_async
from arena.cli.play import MatchOptions, core_count, elo_text, tell_void
from arena.cli.stats import test_document
from arena.errors import InputError
from arena.matches.report import finite, sets_of
from arena.ratings.sprt import SetCounts, SprtVerdict, bounds, estimate, llr, verdict
from referee.bot_folder import load_bot_folder
from referee.games import Game, parse_ruleset
from referee.games.random_streams import board_seed
from referee.games.replay import Replay, ReplayGame
from referee.match.runner import MatchPlan, Referee
from referee.sandbox.sandbox import PlainSandbox

SENTENCES = {
    SprtVerdict.ELO0: "NEW is not better by ELO1: keep BASE",
    SprtVerdict.ELO1: "NEW is better than ELO0, as far as the test can tell",
    SprtVerdict.CONTINUE: "undecided: the boards ran out; ask for more with --max-boards",
}


def compare(  # noqa: PLR0913 -- a command's options
    new: Annotated[Path, typer.Argument(help="The folder of the new version.")],
    base: Annotated[Path, typer.Argument(help="The folder of the version to beat.")],
    *,
    ruleset: Annotated[str, typer.Option(help="What they play.")],
    elo0: Annotated[float, typer.Option(help="Lead of NEW under the null hypothesis.")] = 0.0,
    elo1: Annotated[float, typer.Option(help="Lead of NEW that is worth having.")] = 20.0,
    alpha: Annotated[float, typer.Option(help="Chance to take NEW at a lead of ELO0.")] = 0.05,
    beta: Annotated[float, typer.Option(help="Chance to refuse NEW at a lead of ELO1.")] = 0.05,
    max_boards: Annotated[int, typer.Option(min=1, help="Give up after so many.")] = 20_000,
    batch: Annotated[int, typer.Option(min=1, help="Boards between two looks.")] = 64,
    options: MatchOptions,
    json: Json = False,
) -> None:
    """Test whether NEW is better than BASE; exit 1 if it is not.

    They play until a sequential test (SPRT) has decided.

    With more than two seats NEW and BASE hold every other one, and the side with more points wins a
    game.
    """
    game = parse_ruleset(ruleset)
    if game.entrants % 2:
        raise InputError(
            f"{game.ruleset} has {game.entrants} entrants; two sides need an even number"
        )
    bounds(alpha=alpha, beta=beta)
    llr(SetCounts(games_each=1), elo0=elo0, elo1=elo1)
    folders = (load_bot_folder(new), load_bot_folder(base)) * (game.entrants // 2)
    plan = options.plan(game, folders, boards=batch, rotations=game.rotations)
    test = SequentialTest(game, elo0=elo0, elo1=elo1, alpha=alpha, beta=beta)
    run_async(_play(plan, test, max_boards=max_boards, quiet=json))
    if json:
        print_json({"ruleset": game.ruleset, "seed": plan.seed.hex(), **test.document()})
    else:
        _show(test)
    if test.verdict is not SprtVerdict.ELO1:
        raise typer.Exit(EXIT_FAILED)


class SequentialTest:
    """A sequential test in progress; NEW has the even entrants, BASE the odd ones.

    Attributes:
        counts: of the sets so far.
        boards: how many there were.
        forfeits: games forfeited by NEW and by BASE.
    """

    def __init__(self, game: Game, *, elo0: float, elo1: float, alpha: float, beta: float) -> None:
        self.elo0, self.elo1, self.alpha, self.beta = elo0, elo1, alpha, beta
        self.counts = SetCounts(games_each=game.rotations)
        self.boards = 0
        self.forfeits = (0, 0)

    @property
    def llr(self) -> float:
        """The log-likelihood ratio so far."""
        return llr(self.counts, elo0=self.elo0, elo1=self.elo1)

    @property
    def verdict(self) -> SprtVerdict:
        """The decision so far."""
        return verdict(self.llr, alpha=self.alpha, beta=self.beta)

    def add(self, replay: Replay) -> None:
        """Count the sets and forfeits of a batch."""
        for games in sets_of(replay).values():
            self.counts.add(sum(half_points(game) for game in games))
            self.boards += 1
        for game in replay.games:
            new, base = _lost(game)
            self.forfeits = (self.forfeits[0] + new, self.forfeits[1] + base)

    def document(self) -> dict[str, Any]:
        """Return the test as JSON."""
        found = estimate(self.counts)
        return {
            "boards": self.boards,
            "games": self.boards * self.counts.games_each,
            "counts": [count for _, count in self.counts.cells()],
            "score": found.mean,
            "elo": finite(found.elo),
            "elo_error": found.elo_error,
            "nelo": found.nelo,
            "los": found.los,
            **test_document(self.counts, (self.elo0, self.elo1), alpha=self.alpha, beta=self.beta),
            "forfeits": {"new": self.forfeits[0], "base": self.forfeits[1]},
        }

    def line(self) -> str:
        """Return the state of the test in one line."""
        found = estimate(self.counts)
        lower, upper = bounds(alpha=self.alpha, beta=self.beta)
        return (
            f"{self.boards} boards  score {found.mean:.1%}  Elo "
            f"{elo_text(found.elo, found.elo_error)}  LLR {self.llr:+.2f} "
            f"({lower:.2f}, {upper:.2f})"
        )


def half_points(game: ReplayGame) -> int:
    """Return 2, 1 or 0 for a game that NEW's side won, drew or lost.

    Who forfeited lost; else more points win.
    """
    lost, points = _lost(game), [0, 0]
    for seat, entrant in enumerate(game.seats):
        points[entrant % 2] += game.outcome.points[seat]
    new, base = points if lost[0] == lost[1] else (lost[1], lost[0])
    return (new > base) + (new >= base)


def _lost(game: ReplayGame) -> tuple[int, int]:
    """Return the forfeits of NEW's side and of BASE's."""
    sides = [game.seats[forfeit.seat] % 2 for forfeit in game.forfeits]
    return sides.count(0), sides.count(1)


async def _play(plan: MatchPlan, test: SequentialTest, *, max_boards: int, quiet: bool) -> None:
    referee = Referee(sandbox=PlainSandbox(), cores=core_count(), tables=core_count())
    number = 0
    while test.verdict is SprtVerdict.CONTINUE and test.boards < max_boards:
        part = replace(
            plan,
            seed=board_seed(plan.seed, number),
            boards=min(plan.boards, max_boards - test.boards),
        )
        result = await play_valid(referee, part, on_void=tell_void)
        test.add(result.replay)
        number += 1
        if not quiet:
            progress_console.print(test.line())


def _show(test: SequentialTest) -> None:
    cells = " ".join(str(count) for _, count in test.counts.cells())
    out.print(test.line())
    out.print(f"sets by half points of NEW, from none to all: {cells}")
    out.print(f"[{test.elo0:g}, {test.elo1:g}] {SENTENCES[test.verdict]}")
    if test.verdict is not SprtVerdict.CONTINUE:
        out.print("An Elo measured where a test stops is biased away from zero.")
    if any(test.forfeits):
        out.print(f"forfeits: NEW {test.forfeits[0]}, BASE {test.forfeits[1]}")
