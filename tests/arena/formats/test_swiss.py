from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from arena.formats.model import Format, PlannedMatch, PlayedMatch
from arena.formats.schedule import next_matches


def meetings(planned: tuple[PlannedMatch, ...]) -> Counter[frozenset[str]]:
    """Count how often each pair stands at a table."""
    return Counter(frozenset(pair) for match in planned for pair in combinations(match.entrants, 2))


def test_first_round_is_the_fold(playground: Any) -> None:
    """The upper half meets the lower half in order."""
    step = next_matches(playground.competition(Format.SWISS, 8), {})
    assert [frozenset(match.entrants) for match in step.matches] == [
        {"e01", "e05"},
        {"e02", "e06"},
        {"e03", "e07"},
        {"e04", "e08"},
    ]


def test_second_round_pairs_winners(playground: Any) -> None:
    """After the first round winners meet winners, again folded."""
    competition = playground.competition(Format.SWISS, 8)
    first = next_matches(competition, {})
    results = {match.id: playground.by_seed(match) for match in first.matches}
    second = next_matches(competition, results)
    assert [frozenset(match.entrants) for match in second.matches] == [
        {"e01", "e03"},
        {"e02", "e04"},
        {"e05", "e07"},
        {"e06", "e08"},
    ]


@pytest.mark.parametrize("n", [4, 6, 7, 8, 9, 12, 15, 20])
@pytest.mark.parametrize("seed", range(4))
def test_no_rematch_while_avoidable(playground: Any, n: int, seed: int) -> None:
    """With fewer rounds than half the field nobody meets anyone, or sits out, twice."""
    rounds = n // 2
    competition = playground.competition(Format.SWISS, n, rounds=rounds)
    end, _ = playground.play(competition, playground.at_random(seed))
    assert set(meetings(end.planned).values()) == {1}
    played = Counter(entrant for match in end.planned for entrant in match.entrants)
    assert min(played.values()) >= rounds - 1
    assert len(end.planned) == rounds * (n // 2)


def matchings(entrants: list[str]) -> Iterator[list[tuple[str, str]]]:
    """Return all ways to pair entrants off."""
    if not entrants:
        yield []
    for other in entrants[1:]:
        rest = [e for e in entrants[1:] if e != other]
        for pairs in matchings(rest):
            yield [(entrants[0], other), *pairs]


@pytest.mark.parametrize("n", [6, 8])
@pytest.mark.parametrize("seed", range(3))
def test_no_pairing_is_better(playground: Any, n: int, seed: int) -> None:
    """Of all pairings, the chosen one has the fewest rematches, and of those the least spread."""
    competition = playground.competition(Format.SWISS, n, rounds=n + 1)
    _, steps = playground.play(competition, playground.at_random(seed))
    for step in steps:
        before = tuple(match for match in step.planned if match not in step.matches)
        met, points = meetings(before), {line.entrant: line.points for line in step.standings}

        def cost(
            pairs: list[tuple[str, str]],
            met: Counter[frozenset[str]] = met,
            points: dict[str, float] = points,
        ) -> tuple[int, float]:
            repeats = sum(met[frozenset(pair)] for pair in pairs)
            return repeats, sum((points[a] - points[b]) ** 2 for a, b in pairs)

        chosen = cost([(match.entrants[0], match.entrants[1]) for match in step.matches])
        assert chosen == min(map(cost, matchings(list(competition.entrants))))


def test_rematches_come_when_all_have_met(playground: Any) -> None:
    """Two entrants over three rounds meet three times."""
    competition = playground.competition(Format.SWISS, 2, rounds=3)
    end, _ = playground.play(competition, playground.at_random(1))
    assert list(meetings(end.planned).values()) == [3]


@pytest.mark.parametrize("seed", range(4))
def test_seats_are_balanced(playground: Any, seed: int) -> None:
    """Over nine rounds nobody sits first more than two times oftener than second."""
    competition = playground.competition(Format.SWISS, 24, rounds=9)
    end, _ = playground.play(competition, playground.at_random(seed))
    lead = Counter[str]()
    for match in end.planned:
        lead.update({match.entrants[0]: 1, match.entrants[1]: -1})
    assert max(map(abs, lead.values())) <= 3


def test_first_bye_goes_to_the_lowest(playground: Any) -> None:
    """The last seed sits out first, and has the point of a win for it."""
    competition = playground.competition(Format.SWISS, 7)
    first = next_matches(competition, {})
    assert "e07" not in {entrant for match in first.matches for entrant in match.entrants}
    results = {match.id: playground.by_seed(match) for match in first.matches}
    standings = next_matches(competition, results).standings
    assert {line.entrant: line.points for line in standings}["e07"] == 1
    assert {line.entrant: line.played for line in standings}["e07"] == 0


def test_paired_entrants_are_near_in_points(playground: Any) -> None:
    """When the better seed always wins, the last round's pairs differ by a point at most."""
    competition = playground.competition(Format.SWISS, 32, rounds=5)
    _, steps = playground.play(competition, playground.by_seed)
    points = {line.entrant: line.points for line in steps[-1].standings}
    assert all(
        abs(points[match.entrants[0]] - points[match.entrants[1]]) <= 1
        for match in steps[-1].matches
    )


@pytest.mark.parametrize("n", [16, 18, 19, 21, 32])
def test_four_at_a_table_repeat_little(playground: Any, n: int) -> None:
    """Over three rounds of four, no pair meets twice in a field of sixteen or more."""
    competition = playground.competition(Format.SWISS, n, rounds=3, table_size=4)
    end, _ = playground.play(competition, playground.at_random(5))
    assert set(meetings(end.planned).values()) == {1}


@pytest.mark.parametrize("n", [9, 10, 11])
def test_four_at_a_table_share_the_byes(playground: Any, n: int) -> None:
    """Who has sat out does not again before all the others have."""
    competition = playground.competition(Format.SWISS, n, rounds=6, table_size=4)
    end, _ = playground.play(competition, playground.at_random(6))
    played = Counter(entrant for match in end.planned for entrant in match.entrants)
    assert max(played.values()) - min(played.values()) <= 1


def test_first_tables_of_four_are_folded(playground: Any) -> None:
    """At the start each table has one entrant of every quarter of the seeding."""
    step = next_matches(playground.competition(Format.SWISS, 16, table_size=4), {})
    assert set(step.matches[0].entrants) == {"e01", "e05", "e09", "e13"}


def test_seats_of_four_are_balanced(playground: Any) -> None:
    """Over eight rounds everyone sits in every seat."""
    competition = playground.competition(Format.SWISS, 16, rounds=8, table_size=4)
    end, _ = playground.play(competition, playground.at_random(7))
    sat = Counter((e, seat) for match in end.planned for seat, e in enumerate(match.entrants))
    assert len(sat) == 16 * 4
    assert max(sat.values()) <= 3


def test_rounds_that_are_paired_stay_while_an_earlier_result_is_missing(playground: Any) -> None:
    """They are planned as they stand; the round after them waits for every result."""
    competition = playground.competition(Format.SWISS, 7, rounds=4)
    results: dict[str, PlayedMatch] = {}
    for _ in range(2):
        for match in next_matches(competition, results).matches:
            results[match.id] = playground.by_seed(match)
    third = next_matches(competition, results)
    seeds = {entrant: seed for seed, entrant in enumerate(competition.entrants)}
    tables = [
        tuple(
            tuple(seeds[entrant] for entrant in match.entrants)
            for match in third.planned
            if match.round == number
        )
        for number in (1, 2, 3)
    ]
    fixed = replace(competition, paired=tuple(tables))
    without = {match: result for match, result in results.items() if match != "cup.r1.t2"}
    step = next_matches(fixed, without)
    assert step.planned == third.planned
    assert {match.id for match in step.matches} == {
        "cup.r1.t2", *(match.id for match in third.matches)
    }  # fmt: skip
    first = {entrant for match in third.planned[:3] for entrant in match.entrants}
    (sat_out,) = seeds.keys() - first
    points = {line.entrant: line.points for line in step.standings}
    before = {line.entrant: line.points for line in third.standings}
    assert points[sat_out] == before[sat_out] - 1
    for match in third.matches:
        without[match.id] = playground.by_seed(match)
    assert {match.id for match in next_matches(fixed, without).matches} == {"cup.r1.t2"}
    again = next_matches(fixed, {**without, "cup.r1.t2": results["cup.r1.t2"]})
    whole = {**results, **without}
    assert again.matches == next_matches(competition, whole).matches
    assert again.standings == next_matches(competition, whole).standings
