from typing import Any

import pytest

from arena.formats import groups
from arena.formats.model import Format
from arena.formats.schedule import next_matches


def test_groups_are_dealt_in_serpentines(playground: Any) -> None:
    """Nine in three groups: first left to right, then right to left."""
    competition = playground.competition(Format.GROUPS, 9, groups=3)
    assert groups.groups(competition) == [
        ("e01", "e06", "e07"),
        ("e02", "e05", "e08"),
        ("e03", "e04", "e09"),
    ]


def test_all_groups_end_before_the_knock_out(playground: Any) -> None:
    """One group match missing keeps the knock-out unknown."""
    competition = playground.competition(Format.GROUPS, 8)
    step = next_matches(competition, {})
    assert len(step.matches) == 12
    results = {match.id: playground.by_seed(match) for match in step.matches[:-1]}
    assert next_matches(competition, results).matches == step.matches[-1:]


@pytest.mark.parametrize(
    ("n", "count", "advance"), [(8, 2, 2), (12, 3, 2), (16, 4, 2), (18, 3, 4), (25, 5, 3)]
)
def test_group_mates_do_not_meet_at_once(playground: Any, n: int, count: int, advance: int) -> None:
    """Nobody meets someone of its own group in the knock-out's first round."""
    competition = playground.competition(Format.GROUPS, n, groups=count, advance=advance)
    end, _ = playground.play(competition, playground.at_random(1))
    group_of = {e: g for g, group in enumerate(groups.groups(competition)) for e in group}
    opening = [match for match in end.planned if match.id.startswith("cup.k.r1.")]
    assert opening
    for match in opening:
        assert len({group_of[e] for e in match.entrants}) == 2


def test_the_knock_out_ranks_before_the_groups(playground: Any) -> None:
    """The finalists lead the standings, and those who stayed in their groups close them."""
    competition = playground.competition(Format.GROUPS, 8)
    end, _ = playground.play(competition, playground.by_seed)
    order = [line.entrant for line in end.standings]
    assert order[:2] == ["e01", "e02"]
    assert set(order[2:4]) == {"e03", "e04"}
    assert set(order[4:]) == {"e05", "e06", "e07", "e08"}
