from collections import Counter
from typing import Any

import pytest

from arena.formats import elimination
from arena.formats.model import Format, NextMatches, PlannedMatch
from arena.formats.schedule import next_matches

SINGLE, DOUBLE = Format.SINGLE_ELIMINATION, Format.DOUBLE_ELIMINATION


def met(matches: tuple[PlannedMatch, ...]) -> list[str]:
    """Return the matches as text: their seeds, without leading letters and zeros."""
    return ["-".join(str(int(e[1:])) for e in match.entrants) for match in matches]


def order(step: NextMatches) -> list[str]:
    """Return the entrants as ranked."""
    return [line.entrant for line in step.standings]


def losses(planned: tuple[PlannedMatch, ...], judge: Any) -> Counter[str]:
    """Count the matches each entrant lost."""
    lost = Counter[str]()
    for match in planned:
        result = judge(match)
        lost.update(e for i, e in enumerate(match.entrants) if result.points(i) == 0)
    return lost


def test_seeding_of_eight() -> None:
    """Eight seeds stand as 1-8 4-5 2-7 3-6."""
    assert elimination.seeding(8) == [1, 8, 4, 5, 2, 7, 3, 6]
    assert elimination.seeding(1) == [1]


def test_eight_play_down_to_one(playground: Any) -> None:
    """Where the better seed wins, the rounds go 1-8 4-5 2-7 3-6, 1-4 2-3, 1-2."""
    end, steps = playground.play(playground.competition(SINGLE, 8), playground.by_seed)
    assert [met(step.matches) for step in steps] == [
        ["1-8", "4-5", "2-7", "3-6"],
        ["1-4", "2-3"],
        ["1-2"],
    ]
    assert order(end)[:2] == ["e01", "e02"]
    assert set(order(end)[2:4]) == {"e03", "e04"}


@pytest.mark.parametrize("n", [2, 3, 5, 6, 7, 9, 16, 33])
def test_byes_go_to_the_top_seeds(playground: Any, n: int) -> None:
    """The first round has the lowest seeds only, as many as fill up to a power of two."""
    step = next_matches(playground.competition(SINGLE, n), {})
    first = [e for match in step.planned if match.round == 1 for e in match.entrants]
    byes = (1 << (n - 1).bit_length()) - n
    assert sorted(first) == [f"e{seed:02}" for seed in range(byes + 1, n + 1)]


def test_a_match_waits_for_its_own_entrants_only(playground: Any) -> None:
    """A second-round match is open when both of its feeders are done, whatever the others do."""
    competition = playground.competition(SINGLE, 8)
    first = next_matches(competition, {}).matches
    results = {match.id: playground.by_seed(match) for match in first[:2]}
    assert met(next_matches(competition, results).matches) == ["2-7", "3-6", "1-4"]


def test_a_tie_plays_one_more_set(playground: Any) -> None:
    """A tied match is followed by one board between the same two, which decides."""
    competition = playground.competition(SINGLE, 2)
    results = {"cup.r1.t1": playground.tied(next_matches(competition, {}).matches[0])}
    (more,) = next_matches(competition, results).matches
    assert (more.id, more.boards, met((more,))) == ("cup.r1.t1x", 1, ["1-2"])
    results[more.id] = playground.ranked(more, {"e01": 2, "e02": 1})
    assert order(next_matches(competition, results)) == ["e02", "e01"]


def test_a_second_tie_goes_to_the_better_seed(playground: Any) -> None:
    """Where the extra set ties too, the better seed goes on."""
    end, _ = playground.play(playground.competition(SINGLE, 4), playground.tied)
    assert order(end)[:2] == ["e01", "e02"]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 11, 16, 27])
@pytest.mark.parametrize("seed", range(3))
def test_two_losses_end_it(playground: Any, n: int, seed: int) -> None:
    """In double elimination everyone but the winner loses twice, the winner at most once."""

    def judge(match: PlannedMatch) -> Any:
        places = playground.at_random(seed)(match)
        return playground.by_seed(match) if places.points(0) == 0.5 else places

    end, _ = playground.play(playground.competition(DOUBLE, n), judge)
    lost = losses(end.planned, judge)
    winner, *others = order(end)
    assert {lost[entrant] for entrant in others} == {2}
    assert lost[winner] <= 1
    assert len(end.planned) == 2 * (n - 1) + lost[winner]


def test_double_elimination_of_eight(playground: Any) -> None:
    """The losers of a round meet those below in reversed order."""
    end, _ = playground.play(playground.competition(DOUBLE, 8), playground.by_seed)
    by_name = {match.id.removeprefix("cup."): met((match,))[0] for match in end.planned}
    assert by_name == {
        "w1.t1": "1-8",
        "w1.t2": "4-5",
        "w1.t3": "2-7",
        "w1.t4": "3-6",
        "w2.t1": "1-4",
        "w2.t2": "2-3",
        "w3.t1": "1-2",
        "l1.t1": "5-8",
        "l1.t2": "6-7",
        "l2.t1": "3-5",
        "l2.t2": "4-6",
        "l3.t1": "3-4",
        "l4.t1": "2-3",
        "f1": "1-2",
    }
    assert order(end)[:4] == ["e01", "e02", "e03", "e04"]


def test_the_grand_final_resets(playground: Any) -> None:
    """When the winner of the losers' bracket wins the final, a second one decides."""
    competition = playground.competition(DOUBLE, 4)

    def upset(match: PlannedMatch) -> Any:
        return playground.ranked(match, {e: -float(e[1:]) for e in match.entrants})

    def judge(match: PlannedMatch) -> Any:
        return upset(match) if match.id == "cup.f1" else playground.by_seed(match)

    end, steps = playground.play(competition, judge)
    assert [match.id for match in steps[-1].matches] == ["cup.f2"]
    assert order(end)[:2] == ["e01", "e02"]


@pytest.mark.parametrize(
    ("n", "first"),
    [
        (4, 4),
        (5, 4),
        (6, 4),
        (7, 4),
        (8, 8),
        (9, 4),
        (11, 4),
        (12, 8),
        (15, 12),
        (16, 16),
        (31, 28),
    ],
)
def test_four_at_a_table_fill_every_table(playground: Any, n: int, first: int) -> None:
    """Preliminary tables of the lowest seeds bring any number down, and all tables are full."""
    end, _ = playground.play(playground.competition(SINGLE, n, table_size=4), playground.by_seed)
    assert {len(match.entrants) for match in end.planned} == {4}
    opening = [e for match in end.planned if match.round == 1 for e in match.entrants]
    assert sorted(opening) == [f"e{seed:02}" for seed in range(n - first + 1, n + 1)]
    assert order(end)[:2] == ["e01", "e02"]


def test_two_of_four_advance(playground: Any) -> None:
    """Sixteen in serpentines: the two best of each table go on, and the best meet last."""
    end, steps = playground.play(
        playground.competition(SINGLE, 16, table_size=4), playground.by_seed
    )
    assert [met(step.matches) for step in steps] == [
        ["1-8-9-16", "4-5-12-13", "2-7-10-15", "3-6-11-14"],
        ["1-4-5-8", "2-3-6-7"],
        ["1-2-3-4"],
    ]
    assert order(end)[:4] == ["e01", "e02", "e03", "e04"]


def test_a_tied_cut_of_four_plays_one_more_set(playground: Any) -> None:
    """When second and third are equal, all four play one more board."""
    competition = playground.competition(SINGLE, 8, table_size=4)
    first, second = next_matches(competition, {}).matches
    places = dict(zip(first.entrants, (1, 2, 2, 4), strict=True))
    results = {first.id: playground.ranked(first, places), second.id: playground.by_seed(second)}
    (more,) = next_matches(competition, results).matches
    assert (more.id, more.entrants) == (f"{first.id}x", first.entrants)
    results[more.id] = playground.ranked(more, dict(zip(first.entrants, (4, 3, 2, 1), strict=True)))
    (final,) = next_matches(competition, results).matches
    assert set(final.entrants) == {first.entrants[0], first.entrants[2], *second.entrants[:2]}
