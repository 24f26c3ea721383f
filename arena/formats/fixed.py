"""Plans that no result changes: round robin, whist, gauntlet.

All their matches are known at once.
"""

from hashlib import sha256

from arena.formats import round_robin, whist
from arena.formats.model import Competition, Format, Plan, Results, planned_round
from arena.formats.round_robin import Table


def plan(competition: Competition, results: Results) -> Plan:
    """Return the whole plan; finished once every match has a result."""
    tables = _gauntlet(competition) if competition.format is Format.GAUNTLET else _all(competition)
    matches = tuple(
        match
        for number, seats in enumerate(tables, start=1)
        for match in planned_round(competition, number, seats)
    )
    return Plan(
        matches=matches,
        finished=all(match.id in results for match in matches),
        by_share=competition.format is Format.GAUNTLET,
    )


def _all(competition: Competition) -> list[list[Table]]:
    n, options = len(competition.entrants), competition.options
    if options.table_size == 2:
        return round_robin.rounds(n, cycles=options.cycles)
    seed = int.from_bytes(sha256(options.lot.encode()).digest()[:8])
    return whist.rounds(n, seed=seed) * options.cycles


def _gauntlet(competition: Competition) -> list[list[Table]]:
    options = competition.options
    challengers, others = options.challengers, len(competition.entrants) - options.challengers
    length = max(challengers, others)
    rounds: list[list[Table]] = []
    for number in range(options.cycles * length):
        # A challenger's opponent moves on by one a round, so that no two challengers share one.
        pairs = [
            (challenger, challengers + (number + challenger) % length)
            for challenger in range(challengers)
            if (number + challenger) % length < others
        ]
        rounds.append([pair[::-1] if number % 2 else pair for pair in pairs])
    return rounds
