"""Competitions played out by entrants of known strength."""

from collections.abc import Callable
from random import Random

import pytest

from arena.formats.model import (
    TIED,
    WON,
    Competition,
    Format,
    NextMatches,
    Options,
    PlannedMatch,
    PlayedMatch,
)
from arena.formats.schedule import next_matches

Judge = Callable[[PlannedMatch], PlayedMatch]


class Playground:
    """Makes competitions and results."""

    def competition(self, format_: Format, n: int, **options: int | str) -> Competition:
        """Return a competition of entrants e01, e02, ... in order of seed."""
        entrants = tuple(f"e{seed:02}" for seed in range(1, n + 1))
        return Competition("cup", format_, entrants, Options(**options))  # type: ignore[arg-type]

    def ranked(self, match: PlannedMatch, places: dict[str, float]) -> PlayedMatch:
        """Return a result by places, equal ones tie."""
        own = [places[entrant] for entrant in match.entrants]
        scores = tuple(tuple(TIED if a == b else WON * (a < b) for b in own) for a in own)
        return PlayedMatch(match.id, scores)

    def by_seed(self, match: PlannedMatch) -> PlayedMatch:
        """Let the better seed win."""
        return self.ranked(match, {entrant: float(entrant[1:]) for entrant in match.entrants})

    def tied(self, match: PlannedMatch) -> PlayedMatch:
        """Let nobody win."""
        return self.ranked(match, dict.fromkeys(match.entrants, 1))

    def at_random(self, seed: int) -> Judge:
        """Return a judge of random places, a few of them equal, that depend on the match alone."""

        def judge(match: PlannedMatch) -> PlayedMatch:
            random = Random(f"{seed} {match.id}")
            return self.ranked(match, {e: random.randrange(8) for e in match.entrants})

        return judge

    def play(self, competition: Competition, judge: Judge) -> tuple[NextMatches, list[NextMatches]]:
        """Play to the end; return the last step and all before it."""
        results: dict[str, PlayedMatch] = {}
        steps: list[NextMatches] = []
        while not (step := next_matches(competition, results)).finished:
            assert step.matches
            steps.append(step)
            results |= {match.id: judge(match) for match in step.matches}
        return step, steps


@pytest.fixture(scope="session")
def playground() -> Playground:
    """Return the maker of competitions."""
    return Playground()
