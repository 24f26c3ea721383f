"""The log of one bot process, as the archive keeps it for the bot's owner."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from referee.sdk.turn_markers import by_turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from referee.games.replay import Replay, ReplayGame
    from referee.match.connection import ProcessRecord
    from referee.sdk.turn_markers import Turn

_STREAM = re.compile(r"--- (stdout|stderr|forfeits), (\d+) characters\n")
_FORFEIT = re.compile(r"game (\d+): (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLog:
    """The output and the facts of one bot process.

    Attributes:
        member: 0, or 1 for the second process of a team.
        facts: sentences about its start, its end and what it used.
        stdout: what it printed, shortened in the middle; ``stderr`` likewise.
        forfeits: by index of the game in the replay, the sentence about its forfeit there.
    """

    table: int
    entrant: int
    member: int = 0
    facts: tuple[str, ...] = ()
    stdout: str = ""
    stderr: str = ""
    forfeits: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, record: ProcessRecord, replay: Replay | None = None) -> Self:
        """Make the log of a process; with its forfeits when the replay is given."""
        report = record.report
        started = record.start_seconds
        return cls(
            table=record.table,
            entrant=record.entrant,
            member=record.member,
            facts=(
                "it was never ready" if started is None else f"ready after {started:.3f} s",
                f"ended: {report}{', by the referee' if report.stopped else ''}",
                (
                    f"used {report.cpu_seconds:.2f} s of processor time and "
                    f"{report.peak_memory / (1 << 20):.0f} MiB of memory"
                ),
            ),
            stdout=record.stdout,
            stderr=record.stderr,
            forfeits=_forfeits(record, replay) if replay is not None else {},
        )

    @classmethod
    def parse(cls, text: str, *, table: int, entrant: int, member: int = 0) -> Self:
        """Parse what `text` wrote; anything else is taken for stdout."""
        facts, streams = text, {"stdout": "", "stderr": "", "forfeits": ""}
        head = _STREAM.search(text)
        if head is None:
            if not text.startswith(("ready", "it was never ready")):
                facts, streams["stdout"] = "", text
        else:
            facts = text[: head.start()]
        while head is not None:
            end = head.end() + int(head[2])
            streams[head[1]] = text[head.end() : end]
            head = _STREAM.match(text, end + 1)
        return cls(
            table=table,
            entrant=entrant,
            member=member,
            facts=tuple(facts.splitlines()),
            stdout=streams["stdout"],
            stderr=streams["stderr"],
            forfeits={
                int(found[1]): found[2]
                for found in map(_FORFEIT.fullmatch, streams["forfeits"].split("\n"))
                if found is not None
            },
        )

    def text(self) -> str:
        """Return the facts, then each stream under its heading and length, forfeits last."""
        forfeits = "\n".join(f"game {game}: {why}" for game, why in self.forfeits.items())
        streams = (("stdout", self.stdout), ("stderr", self.stderr), ("forfeits", forfeits))
        return "".join(f"{fact}\n" for fact in self.facts) + "".join(
            f"--- {name}, {len(text)} characters\n{text}\n" for name, text in streams if text
        )

    def printed(self) -> dict[Turn | None, str]:
        """Return the output by turn, stdout before stderr; None for outside of any turn."""
        found: dict[Turn | None, str] = {}
        for text in (self.stdout, self.stderr):
            for turn, part in by_turn(text):
                before = found.get(turn, "")
                gap = "\n" if before and not before.endswith("\n") else ""
                found[turn] = f"{before}{gap}{part}"
        return found

    @property
    def last_words(self) -> str:
        """The last line on stderr, shortened; empty when there is none."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        return lines[-1][:200] if lines else ""


def process_key(game: ReplayGame, seat: int) -> tuple[int, int, int]:
    """Return table, entrant and member of the process in a seat."""
    return game.table, game.seats[seat], game.seats[:seat].count(game.seats[seat])


def _forfeits(record: ProcessRecord, replay: Replay) -> dict[int, str]:
    """Return the sentence of each game that the process forfeited with one."""
    key = (record.table, record.entrant, record.member)
    return {
        number: " ".join(forfeit.detail.split())
        for number, game in enumerate(replay.games)
        for forfeit in game.forfeits
        if forfeit.detail.strip() and process_key(game, forfeit.seat) == key
    }
