"""Encodes log entries as JSON lines, for the archive."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from datetime import datetime, timedelta
from typing import Any

from arena.db.keys import milliseconds
from arena.queue.log_entries import Annulled, Entered, LogEntry, LoggedResult
from arena.queue.models import Forfeits, Luck
from referee.outcome import ForfeitReason, Termination


def encode(entries: Iterable[LogEntry]) -> bytes:
    """Return one JSON object a line, in UTF-8; equal entries give equal bytes."""
    return b"".join(
        json.dumps(_values(entry), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        for entry in entries
    )


def decode(text: bytes) -> Iterator[LogEntry]:
    """Decode what `encode` wrote."""
    return map(_entry, map(json.loads, text.splitlines()))


def _values(entry: LogEntry) -> dict[str, Any]:
    common = {"sequence": entry.sequence, "time": entry.time.isoformat()}
    if isinstance(entry, Entered):
        return {"kind": "entered", **common, "bot": entry.bot}
    if isinstance(entry, Annulled):
        return {
            "kind": "annulled",
            **common,
            "target": entry.target,
            "match": entry.match_id,
            "reason": entry.reason,
        }
    return {
        "kind": "result",
        **common,
        "match": entry.match_id,
        "flow": entry.flow,
        "rated": entry.rated,
        "entrants": entry.entrants,
        "pair_scores": entry.pair_scores,
        "changes": entry.changes,
        "digest": entry.digest.hex(),
        "terminations": dict(entry.terminations),
        "forfeits": [(each.entrant, each.reason, each.games) for each in entry.forfeits],
        "sets": entry.sets,
        "points": entry.points,
        "played_ms": milliseconds(entry.played),
        **({} if entry.luck is None else {"luck": astuple(entry.luck)}),
    }


def _entry(values: dict[str, Any]) -> LogEntry:
    sequence, time = values["sequence"], datetime.fromisoformat(values["time"])
    if values["kind"] == "entered":
        return Entered(sequence, time, values["bot"])
    if values["kind"] == "annulled":
        return Annulled(sequence, time, values["target"], values["match"], values["reason"])
    return LoggedResult(
        sequence=sequence,
        match_id=values["match"],
        flow=values["flow"],
        time=time,
        rated=values["rated"],
        entrants=tuple(values["entrants"]),
        pair_scores=tuple(values["pair_scores"]),
        changes=tuple(values["changes"]),
        digest=bytes.fromhex(values["digest"]),
        terminations={Termination(each): n for each, n in values["terminations"].items()},
        forfeits=tuple(
            Forfeits(entrant, ForfeitReason(reason), games)
            for entrant, reason, games in values["forfeits"]
        ),
        sets=tuple(values["sets"]),
        points=tuple(values["points"]),
        played=timedelta(milliseconds=values["played_ms"]),
        luck=Luck(*values["luck"]) if "luck" in values else None,
    )
