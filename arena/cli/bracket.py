"""Draws the bracket of a knock-out: each match beside those that its entrants came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena.v1 import competitions_pb2
from arena.v1.competitions_pb2 import CompetitionMatch

KNOCK_OUTS = {
    competitions_pb2.COMPETITION_FORMAT_SINGLE_ELIMINATION,
    competitions_pb2.COMPETITION_FORMAT_DOUBLE_ELIMINATION,
    competitions_pb2.COMPETITION_FORMAT_GROUPS,
}


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines, and the number of the one that leads on to the right."""

    lines: list[str]
    at: int


def bracket(competition: str, matches: Sequence[CompetitionMatch]) -> list[str]:
    """Return the lines of a competition's bracket; [] before it has one.

    An entrant stands with its share of the points of the match on its right. Who lost its last
    match in the upper bracket begins anew in the lower one.

    Args:
        competition: the id of one that eliminates, or ends so.
        matches: all of it that are known.
    """
    groups = f"{competition}.g"
    drawing = _Drawing(
        {each.planned_id: each for each in matches if not each.planned_id.startswith(groups)}
    )
    lines: list[str] = []
    for match in drawing.decided:
        if not drawing.leads_on(match):
            block = drawing.block(match)
            block.lines[block.at] += f"─ {drawing.winner(match)}"
            lines += [*(line.rstrip() for line in block.lines), ""]
    return lines[:-1]


class _Drawing:
    def __init__(self, matches: Mapping[str, CompetitionMatch]) -> None:
        self._matches = matches
        self.decided = [each for each in matches.values() if not each.planned_id.endswith("x")]
        self._drawn: set[str] = set()

    def leads_on(self, match: CompetitionMatch) -> bool:
        """Return whether a later match stands on the right of this one."""
        return any(
            match in self._sources(later).values() for later in self.decided if later is not match
        )

    def winner(self, match: CompetitionMatch) -> str:
        """Return who won, "?" before that is known."""
        found = self._ordered(match)
        return found[0] if found else "?"

    def _ordered(self, match: CompetitionMatch) -> list[str]:
        if not match.ended:
            return []
        extra = self._matches.get(f"{match.planned_id}x")
        both = [match, *([extra] if extra is not None and extra.ended else [])]

        def key(place: int) -> tuple[float, ...]:
            return tuple(
                value for each in both for value in (each.points[place], each.scores[place])
            )

        places = range(len(match.versions))
        # Sorting is stable: between equals who is better seeded, and stands first, goes on.
        return [match.versions[place] for place in sorted(places, key=key, reverse=True)]

    def _sources(self, match: CompetitionMatch) -> dict[str, CompetitionMatch]:
        """Return the match that each entrant went on from; none for who is new in this bracket."""
        sources = {}
        for entrant in match.versions:
            before = [
                each
                for each in self.decided
                if entrant in each.versions and _order(each) < _order(match)
            ]
            last = max(before, key=_order, default=None)
            if last is not None and entrant in self._ordered(last)[: _through(last)]:
                sources[entrant] = last
        return sources

    def block(self, match: CompetitionMatch) -> _Block:
        """Return a match with all that led to it."""
        sources = self._sources(match)
        feeds: list[_Block] = []
        mine: set[str] = set()
        for entrant in match.versions:
            source = sources.get(entrant)
            if source is None or (
                source.planned_id in self._drawn and source.planned_id not in mine
            ):
                feeds.append(_Block([self._label(match, entrant)], 0))
            elif source.planned_id not in mine:
                mine.add(source.planned_id)
                self._drawn.add(source.planned_id)
                block = self.block(source)
                same = [e for e in match.versions if sources.get(e) == source]
                block.lines[block.at] += "─ " + ", ".join(self._label(match, e) for e in same)
                feeds.append(block)
        return _joined(feeds)

    def _label(self, match: CompetitionMatch, entrant: str) -> str:
        if not match.ended:
            return entrant
        score = match.scores[list(match.versions).index(entrant)]
        if match.walkover:
            return f"{entrant} {'through' if score else 'off'}"
        return f"{entrant} {score:.0%}"


def _order(match: CompetitionMatch) -> tuple[int, bool]:
    """Within a round of a double elimination, the lower bracket follows the upper one."""
    return match.round, match.planned_id.rpartition(".")[0].rpartition(".")[2].startswith("l")


def _through(match: CompetitionMatch) -> int:
    """Return how many of a match go on at most: one of two, up to three of four."""
    return 1 if len(match.versions) == 2 else 3


def _joined(feeds: Sequence[_Block]) -> _Block:
    lines: list[str] = []
    outs: list[int] = []
    for block in feeds:
        if lines:
            lines.append("")
        outs.append(len(lines) + block.at)
        lines += block.lines
    width = max(map(len, lines)) + 1
    first, last = outs[0], outs[-1]
    middle = (first + last) // 2
    return _Block(
        [
            _with_edge(line, at, outs, width, middle=middle, first=first, last=last)
            for at, line in enumerate(lines)
        ],
        middle,
    )


def _with_edge(  # noqa: PLR0913 -- where a line stands among those that are joined
    line: str, at: int, outs: Sequence[int], width: int, *, middle: int, first: int, last: int
) -> str:
    if at not in outs:
        edge = "├" if at == middle else "│" if first < at < last else " "
        return line.ljust(width) + edge
    edge = "─" if first == last else "┐" if at == first else "┘" if at == last else "┤"
    if at == middle and first < at < last:
        edge = "┼"
    return (line + " ").ljust(width, "─") + edge
