"""What tests of annulled matches share."""

from typing import Any

from arena.competitions import annulment as competition_annulment
from arena.competitions.records import CompetitionRecord
from arena.competitions.report import reports
from arena.competitions.results import CompetitionResult
from arena.formats.model import Format
from arena.queue.log_entries import Annulled, LoggedResult
from arena.queue.models import Lease, MatchSpec
from arena.queue.retention import whole_log
from arena.version_id import bot_of
from tests.arena.competitions.hall import Hall, outcome

EIGHT = [f"bot{number}" for number in range(8)]


async def annul(hall: Hall, match: str, *, ruleset: str = "quasenbo") -> bool:
    """Annul a match as an operator does."""
    return await competition_annulment.annul(hall.arena, match, ruleset=ruleset, reason="a test")


async def begun(hall: Hall, format_: Format, *, bots: int, **facts: Any) -> None:
    """Start a cup and queue its first matches."""
    await hall.add_bots(EIGHT[:bots])
    await hall.create(EIGHT[:bots], format_, **facts)
    await hall.tick()


async def replaced(hall: Hall) -> None:
    """Let another scheduler follow the one that is active, and work once."""
    hall.new_runner()
    await hall.lead()
    await hall.tick()


async def stood(hall: Hall) -> tuple[CompetitionRecord, dict[str, CompetitionResult]]:
    """Return the cup and its results."""
    return await hall.competitions.get("t-cup"), await hall.competitions.results("t-cup")


async def counted(hall: Hall) -> dict[str, int]:
    """Return how many matches each entrant has played, as the standings count."""
    (report,) = reports(*await stood(hall))
    return {row.standing.entrant: row.standing.played for row in report.rows}


async def queued(hall: Hall) -> dict[str, MatchSpec]:
    """Return what waits or is being played, by id."""
    texts = await hall.redis.hvals("{l:quasenbo}:spec")
    return {spec.id: spec for spec in map(MatchSpec.from_json, texts)}


async def annulments(hall: Hall, ruleset: str = "quasenbo") -> set[str]:
    """Return which matches the log says are annulled."""
    log = whole_log(hall.queues.ladder(ruleset), None)
    return {entry.match_id async for entry in log if isinstance(entry, Annulled)}


async def taken(hall: Hall, match: str) -> Lease:
    """Return the lease of a match, which is the only one that waits."""
    lease = await hall.lease()
    assert lease is not None
    assert lease.match_id == match
    return lease


def turn(hall: Hall, match: MatchSpec) -> str:
    """Let whoever lost a match beat everybody from now on; return the version."""
    first, second = match.entrants
    won = outcome(match, hall.strengths).pair_scores[0] > 500_000
    loser = second if won else first
    hall.strengths[bot_of(loser)] = 10_000.0
    return loser


async def require_each_match_counted_once(hall: Hall, ruleset: str = "quasenbo") -> None:
    """Hold an ended cup against the log: each result is of the one playing that counts."""
    record, results = await stood(hall)
    annulled = await annulments(hall, ruleset)
    logged = {
        entry.match_id: entry
        async for entry in whole_log(hall.queues.ladder(ruleset), None)
        if isinstance(entry, LoggedResult) and entry.flow == "t:cup"
    }
    played = {each: result for each, result in results.items() if not result.is_walkover}
    assert logged.keys() - record.retired_ids.keys() == {record.playing(each) for each in played}
    for planned, result in played.items():
        entry = logged[record.playing(planned)]
        assert (entry.entrants, entry.sets) == (result.entrants, result.sets)
    assert annulled <= record.retired_ids.keys()
    (report,) = reports(record, results)
    assert report.finished
    assert {match.id for match in report.matches} == results.keys()
    assert record.ranking == (tuple(row.standing.entrant for row in report.rows),)
