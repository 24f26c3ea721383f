from collections import Counter
from random import Random
from typing import Any

import pytest

from arena.errors import InputError
from arena.formats.model import Competition, Format, Options, PlannedMatch, PlayedMatch
from arena.formats.schedule import next_matches

CASES = [
    (Format.ROUND_ROBIN, 7, {"cycles": 2}),
    (Format.ROUND_ROBIN, 10, {"table_size": 4}),
    (Format.SWISS, 11, {"rounds": 5}),
    (Format.SWISS, 14, {"table_size": 4}),
    (Format.SINGLE_ELIMINATION, 11, {}),
    (Format.SINGLE_ELIMINATION, 23, {"table_size": 4}),
    (Format.DOUBLE_ELIMINATION, 13, {}),
    (Format.GAUNTLET, 9, {"challengers": 3}),
    (Format.GROUPS, 11, {"groups": 3}),
    (Format.GROUPS, 18, {"table_size": 4, "groups": 2, "advance": 3}),
]
every_format = pytest.mark.parametrize(("format_", "n", "options"), CASES)


@every_format
def test_every_format_ends_with_everyone_ranked(
    playground: Any, format_: Format, n: int, options: dict[str, int]
) -> None:
    """Played to the end, nothing is open and every entrant has a rank of its own."""
    competition = playground.competition(format_, n, **options)
    end, _ = playground.play(competition, playground.at_random(1))
    assert end.matches == ()
    assert {line.entrant for line in end.standings} == set(competition.entrants)
    assert [line.rank for line in end.standings] == list(range(1, n + 1))


@every_format
def test_asking_twice_schedules_nothing_twice(
    playground: Any, format_: Format, n: int, options: dict[str, int]
) -> None:
    """While results trickle in, in any order, a planned match keeps its id and its entrants."""
    competition = playground.competition(format_, n, **options)
    judge, random = playground.at_random(2), Random(3)
    results: dict[str, PlayedMatch] = {}
    known: dict[str, PlannedMatch] = {}
    while not (step := next_matches(competition, results)).finished:
        assert step == next_matches(competition, dict(reversed(results.items())))
        planned = {match.id: match for match in step.planned}
        assert len(planned) == len(step.planned)
        assert known.items() <= planned.items()
        assert {match.id for match in step.matches} == set(planned) - set(results)
        known = planned
        for match in random.sample(step.matches, k=min(len(step.matches), 5)):
            results[match.id] = judge(match)


@every_format
def test_nobody_is_at_two_tables_of_a_round(
    playground: Any, format_: Format, n: int, options: dict[str, int]
) -> None:
    """A round seats everyone at most once, decisions of ties apart, at tables of their own."""
    competition = playground.competition(format_, n, **options)
    end, _ = playground.play(competition, playground.at_random(4))
    planned = [match for match in end.planned if not match.id.endswith("x")]
    seated = Counter((match.round, entrant) for match in planned for entrant in match.entrants)
    assert set(seated.values()) == {1}
    assert len({(match.round, match.table) for match in planned}) == len(planned)
    assert {len(match.entrants) for match in planned} == {competition.options.table_size}


@pytest.mark.parametrize(
    ("format_", "n", "options"), [case for case in CASES if case[0] is not Format.GAUNTLET]
)
def test_the_best_seed_wins_when_seeds_are_right(
    playground: Any, format_: Format, n: int, options: dict[str, int]
) -> None:
    """Where the better seed wins every match, the first seed comes first."""
    competition = playground.competition(format_, n, **options)
    end, _ = playground.play(competition, playground.by_seed)
    assert end.standings[0].entrant == "e01"


@every_format
def test_nothing_but_ties_ends_too(
    playground: Any, format_: Format, n: int, options: dict[str, int]
) -> None:
    """A competition in which every match is tied comes to an end all the same."""
    competition = playground.competition(format_, n, **options)
    end, _ = playground.play(competition, playground.tied)
    assert len(end.standings) == n


def test_a_gauntlet_meets_everyone_else_only(playground: Any) -> None:
    """Each of three challengers meets each of the six others once, never another challenger."""
    competition = playground.competition(Format.GAUNTLET, 9, challengers=3)
    end, _ = playground.play(competition, playground.by_seed)
    met = Counter(frozenset(match.entrants) for match in end.planned)
    challengers = competition.entrants[:3]
    others = competition.entrants[3:]
    assert met == Counter(frozenset({c, o}) for c in challengers for o in others)


def test_a_fixed_plan_is_open_at_once(playground: Any) -> None:
    """A round robin needs no result before its last match may be played."""
    step = next_matches(playground.competition(Format.ROUND_ROBIN, 6), {})
    assert len(step.matches) == 15
    assert [match.id for match in step.matches[:4]] == [
        "cup.r1.t1",
        "cup.r1.t2",
        "cup.r1.t3",
        "cup.r2.t1",
    ]
    assert step.matches[0].entrants == ("e01", "e06")


def test_results_of_other_matches_are_ignored(playground: Any) -> None:
    """A stray id changes nothing."""
    competition = playground.competition(Format.SWISS, 6)
    stray = {"other.r1.t1": PlayedMatch("other.r1.t1", ((0, 10**6), (0, 0)))}
    assert next_matches(competition, stray) == next_matches(competition, {})


@pytest.mark.parametrize("format_", list(Format))
def test_a_result_of_another_size_is_refused(playground: Any, format_: Format) -> None:
    """Scores of three cannot be a result between two."""
    competition = playground.competition(format_, 6)
    match = next_matches(competition, {}).matches[0]
    wrong = PlayedMatch(match.id, ((0, 10**6, 10**6), (0, 0, 10**6), (0, 0, 0)))
    with pytest.raises(InputError, match="2 entrants to score"):
        next_matches(competition, {match.id: wrong})


@pytest.mark.parametrize("scores", [((0, 1), (0, 0)), ((0, 10**6),), ((0, -1), (10**6 + 1, 0))])
def test_scores_that_do_not_add_up_are_refused(scores: tuple[tuple[int, ...], ...]) -> None:
    """What one takes, the other gives."""
    with pytest.raises(InputError, match="cup"):
        PlayedMatch("cup.r1.t1", scores)


@pytest.mark.parametrize(
    ("format_", "n", "options"),
    [
        (Format.ROUND_ROBIN, 1, {}),
        (Format.ROUND_ROBIN, 3, {"table_size": 4}),
        (Format.ROUND_ROBIN, 9, {"table_size": 3}),
        (Format.ROUND_ROBIN, 4, {"boards": 0}),
        (Format.SWISS, 4, {"rounds": 0}),
        (Format.GAUNTLET, 4, {"challengers": 4}),
        (Format.GAUNTLET, 8, {"table_size": 4}),
        (Format.DOUBLE_ELIMINATION, 8, {"table_size": 4}),
        (Format.GROUPS, 7, {"groups": 2, "table_size": 4}),
        (Format.GROUPS, 8, {"groups": 0}),
        (Format.GROUPS, 8, {"groups": 1, "advance": 1}),
    ],
)
def test_impossible_competitions_are_refused(
    format_: Format, n: int, options: dict[str, Any]
) -> None:
    """Sizes and options that cannot be played are refused when the competition is made."""
    with pytest.raises(InputError):
        Competition("cup", format_, tuple(map(str, range(n))), Options(**options))


def test_an_entrant_enters_once() -> None:
    """The same id twice is a slip."""
    with pytest.raises(InputError, match="twice"):
        Competition("cup", Format.SWISS, ("a", "b", "a"))
