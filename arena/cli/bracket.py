"""Knock-outs drawn on a terminal: each match beside those that its entrants came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena.competitions.report import StandingsReport
from arena.competitions.results import CompetitionResult
from arena.formats.model import Format, PlannedMatch

KNOCK_OUTS = {Format.SINGLE_ELIMINATION, Format.DOUBLE_ELIMINATION, Format.GROUPS}


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines, and the number of the one that leads on to the right."""

    lines: list[str]
    at: int


def bracket(report: StandingsReport, results: Mapping[str, CompetitionResult]) -> list[str]:
    """Return the lines of a competition's bracket; [] before it has one.

    An entrant stands with its share of the points of the match on its right. Who lost its last
    match in the upper bracket begins anew in the lower one.

    Args:
        report: of a competition that eliminates, or ends so.
        results: by match.
    """
    groups = f"{report.competition}.g"
    matches = [match for match in report.matches if not match.id.startswith(groups)]
    decided = {match.id: match for match in matches if not match.id.endswith("x")}
    drawing = _Drawing(decided, results)
    lines: list[str] = []
    for match in decided.values():
        if not drawing.leads_on(match):
            block = drawing.block(match)
            block.lines[block.at] += f"─ {drawing.winner(match)}"
            lines += [*(line.rstrip() for line in block.lines), ""]
    return lines[:-1]


class _Drawing:
    def __init__(
        self, matches: Mapping[str, PlannedMatch], results: Mapping[str, CompetitionResult]
    ) -> None:
        self._matches = matches
        self._results = results
        self._drawn: set[str] = set()

    def leads_on(self, match: PlannedMatch) -> bool:
        """Return whether a later match stands on the right of this one."""
        return any(
            match in self._sources(later).values()
            for later in self._matches.values()
            if later is not match
        )

    def winner(self, match: PlannedMatch) -> str:
        """Return who won, "?" before that is known."""
        found = self._ordered(match)
        return found[0] if found else "?"

    def _ordered(self, match: PlannedMatch) -> list[str]:
        result = self._results.get(match.id)
        if result is None:
            return []
        extra = self._results.get(f"{match.id}x")

        def key(place: int) -> tuple[float, ...]:
            both = (result, *([] if extra is None else [extra]))
            return tuple(
                value
                for each in both
                for value in (each.match.points(place), each.match.set_score(place))
            )

        places = range(len(match.entrants))
        # Sorting is stable: between equals who is better seeded, and stands first, goes on.
        return [match.entrants[place] for place in sorted(places, key=key, reverse=True)]

    def _sources(self, match: PlannedMatch) -> dict[str, PlannedMatch]:
        """Return the match that each entrant went on from; none for who is new in this bracket."""
        sources = {}
        for entrant in match.entrants:
            before = [
                each
                for each in self._matches.values()
                if entrant in each.entrants and _order(each) < _order(match)
            ]
            last = max(before, key=_order, default=None)
            if last is not None and entrant in self._ordered(last)[: _through(last)]:
                sources[entrant] = last
        return sources

    def block(self, match: PlannedMatch) -> _Block:
        """Return a match with all that led to it."""
        sources = self._sources(match)
        feeds: list[_Block] = []
        mine: set[str] = set()
        for entrant in match.entrants:
            source = sources.get(entrant)
            if source is None or (source.id in self._drawn and source.id not in mine):
                feeds.append(_Block([self._label(match, entrant)], 0))
            elif source.id not in mine:
                mine.add(source.id)
                self._drawn.add(source.id)
                block = self.block(source)
                same = [e for e in match.entrants if sources.get(e) == source]
                block.lines[block.at] += "─ " + ", ".join(self._label(match, e) for e in same)
                feeds.append(block)
        return _joined(feeds)

    def _label(self, match: PlannedMatch, entrant: str) -> str:
        result = self._results.get(match.id)
        if result is None:
            return entrant
        place = match.entrants.index(entrant)
        if result.is_walkover:
            return f"{entrant} {'through' if result.match.set_score(place) else 'off'}"
        share = result.match.set_score(place) / (len(match.entrants) - 1) / 10**6
        return f"{entrant} {share:.0%}"


def _order(match: PlannedMatch) -> tuple[int, bool]:
    """Within a round of a double elimination, the lower bracket follows the upper one."""
    return match.round, match.id.rpartition(".")[0].rpartition(".")[2].startswith("l")


def _through(match: PlannedMatch) -> int:
    """Return how many of a match go on at most: one of two, up to three of four."""
    return 1 if len(match.entrants) == 2 else 3


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
