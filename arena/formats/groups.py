"""Groups, then a knock-out: round robins whose first go on to single elimination."""

from dataclasses import replace

from arena.formats import elimination, fixed
from arena.formats.model import Competition, Format, Plan, PlannedMatch, Results
from arena.formats.standings import standings


def groups(competition: Competition) -> list[tuple[str, ...]]:
    """Return the groups, dealt in serpentines of the seeding, so that they are equally strong."""
    count = competition.options.groups
    dealt: list[list[str]] = [[] for _ in range(count)]
    for at, entrant in enumerate(competition.entrants):
        turn, place = divmod(at, count)
        dealt[place if turn % 2 == 0 else count - 1 - place].append(entrant)
    return [tuple(group) for group in dealt]


def plan(competition: Competition, results: Results) -> Plan:
    """Return the group matches, and the knock-out's once all groups have ended."""
    stages = [
        _group_stage(competition, number, results) for number in range(len(groups(competition)))
    ]
    matches = _by_round([match for _, stage in stages for match in stage.matches])
    if not all(stage.finished for _, stage in stages):
        return Plan(matches=matches, finished=False)
    ranked = [
        [line.entrant for line in standings(group, stage, results, lot=competition.options.lot)]
        for group, stage in stages
    ]
    final = Competition(
        id=f"{competition.id}.k",
        format=Format.SINGLE_ELIMINATION,
        entrants=_seeded(ranked, competition.options.advance),
        options=competition.options,
    )
    knockout = elimination.plan(final, results)
    last = matches[-1].round
    later = tuple(replace(match, round=last + match.round) for match in knockout.matches)
    return Plan(matches=matches + later, finished=knockout.finished, stages=knockout.stages)


def _group_stage(
    competition: Competition, number: int, results: Results
) -> tuple[tuple[str, ...], Plan]:
    group = groups(competition)[number]
    stage = Competition(
        id=f"{competition.id}.g{number + 1}",
        format=Format.ROUND_ROBIN,
        entrants=group,
        options=competition.options,
    )
    return group, fixed.plan(stage, results)


def _by_round(matches: list[PlannedMatch]) -> tuple[PlannedMatch, ...]:
    """Return the groups' matches by round, their tables numbered on through all groups."""
    ordered = sorted(matches, key=lambda match: match.round)
    tables: dict[int, int] = {}
    numbered = []
    for match in ordered:
        tables[match.round] = tables.get(match.round, 0) + 1
        numbered.append(replace(match, table=tables[match.round]))
    return tuple(numbered)


def _seeded(ranked: list[list[str]], advance: int) -> tuple[str, ...]:
    """Return who goes on: all winners, then all seconds, and so on.

    In the knock-out the first seed meets the last; entrants of one place change seeds among
    themselves where that keeps group mates apart in the first round.
    """
    count = len(ranked)
    seeds = [group[place] for place in range(advance) for group in ranked]
    group_of = {entrant: number for number, group in enumerate(ranked) for entrant in group}
    for at in reversed(range(len(seeds))):
        for other in range(at // count * count, at):
            before = _clashes(seeds, group_of)
            seeds[at], seeds[other] = seeds[other], seeds[at]
            if _clashes(seeds, group_of) >= before:
                seeds[at], seeds[other] = seeds[other], seeds[at]
    return tuple(seeds)


def _clashes(seeds: list[str], group_of: dict[str, int]) -> int:
    """Count the group mates that a bracket of two at a table would pair in its first round."""
    size = 1 << (len(seeds) - 1).bit_length()
    pairs = ((seeds[at], seeds[size - 1 - at]) for at in range(size - len(seeds), size // 2))
    return sum(group_of[a] == group_of[b] for a, b in pairs)
