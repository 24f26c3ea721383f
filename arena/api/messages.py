"""From the service's values to the API's messages, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from arena.backend.matches import MatchState
from arena.backend.pages import PageRequest
from arena.bots.registry import BotState, RejectionCause, VersionState
from arena.owners.tokens import Scope, Token
from arena.queue.models import SCORE
from arena.ratings.elo import MICRO
from arena.v1 import accounts_pb2, bots_pb2, ladders_pb2, matches_pb2, operations_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.backend.bots import VersionView
    from arena.backend.ladders import LadderLine, LadderSummary
    from arena.backend.matches import Match
    from arena.backend.operations import QueueView, Stored
    from arena.bots.registry import Bot
    from arena.bots.steps import VersionStep
    from arena.db.presence import Announcement
    from arena.queue.log_entries import LoggedResult
    from arena.queue.models import DeadMatch, MatchSpec, Standing

SCOPES = {each: accounts_pb2.Scope.Value(f"SCOPE_{each.name}") for each in Scope}


class Paged(Protocol):
    """A request for a part of a list."""

    @property
    def page_size(self) -> int:
        """The most entries; 0 leaves it to the service."""

    @property
    def page_token(self) -> str:
        """Of the page before."""


OUTPUT: Final = 2000
"""Characters of a step's output that are told, at its beginning and at its end."""

ALL_OUTPUT: Final = 96 << 10
"""Bytes of all outputs of a version that are told; a message has at most 256 KiB."""

_DETAIL: Final = 500
_WORDS: Final = 16
_WORD: Final = 100

_MATCH_STATES = {
    each: matches_pb2.MatchState.Value(f"MATCH_STATE_{each.name}") for each in MatchState
}
_BOT_STATES = {each: bots_pb2.BotState.Value(f"BOT_STATE_{each.name}") for each in BotState}
_VERSION_STATES = {
    each: bots_pb2.VersionState.Value(f"VERSION_STATE_{each.name}") for each in VersionState
}

REJECTION_CAUSES: Final = {
    None: bots_pb2.REJECTION_CAUSE_UNSPECIFIED,
    RejectionCause.BOT: bots_pb2.REJECTION_CAUSE_BOT,
    RejectionCause.ARENA: bots_pb2.REJECTION_CAUSE_ARENA,
    RejectionCause.QUOTA: bots_pb2.REJECTION_CAUSE_QUOTA,
}


def timestamp(time: datetime) -> Timestamp:
    """Return a moment in UTC."""
    message = Timestamp()
    message.FromDatetime(time.astimezone(UTC))
    return message


def duration(length: timedelta) -> Duration:
    """Return a length of time."""
    message = Duration()
    message.FromTimedelta(length)
    return message


def token_message(token: Token) -> accounts_pb2.Token:
    """Return a token."""
    return accounts_pb2.Token(
        id=token.id,
        owner=token.owner,
        name=token.name,
        scopes=[SCOPES[scope] for scope in sorted(token.scopes)],
        prefix=token.prefix,
        create_time=timestamp(token.created_time),
        expire_time=timestamp(token.expire_time) if token.expire_time else None,
        revoke_time=timestamp(token.revoke_time) if token.revoke_time else None,
    )


def page_request(message: Paged) -> PageRequest:
    """Return which part of a list a message asks for."""
    return PageRequest(message.page_size, message.page_token)


def bot_message(bot: Bot, *, is_private: bool = True, is_rejected: bool = False) -> bots_pb2.Bot:
    """Return a bot; why it is suspended only to whoever may know."""
    return bots_pb2.Bot(
        name=bot.name,
        owner=bot.owner,
        rulesets=bot.rulesets,
        state=_BOT_STATES[bot.state],
        active_version=bot.active_version,
        version_count=bot.versions,
        house=bot.house,
        create_time=timestamp(bot.created_time),
        reason=bot.reason if is_private else "",
        rejected=is_rejected,
    )


def place_message(ruleset: str, standing: Standing, rated_matches: int) -> bots_pb2.Place:
    """Return where a bot stands on a ladder."""
    return bots_pb2.Place(
        ruleset=ruleset,
        place=standing.place or 0,
        rating=standing.rating / MICRO,
        rated_matches=rated_matches,
    )


def version_message(view: VersionView) -> bots_pb2.Version:
    """Return a version."""
    version = view.version
    return bots_pb2.Version(
        id=version.id,
        digest=version.digest,
        state=_VERSION_STATES[version.state],
        active=view.is_active,
        reason=version.reason,
        rejection_cause=REJECTION_CAUSES[version.cause],
        command=[word[:_WORD] for word in version.command[:_WORDS]],
        runtime=version.runtime,
        parallel_games=version.parallel_games,
        rulesets=version.rulesets,
        steps=_steps(view.steps),
        create_time=timestamp(version.created_time),
    )


def _steps(steps: Iterable[VersionStep]) -> list[bots_pb2.Step]:
    """Return the steps; the last outputs, which tell why a version failed, have precedence."""
    left, told = ALL_OUTPUT, []
    for step in reversed(list(steps)):
        output = step.output
        if len(output) > 2 * OUTPUT:
            output = f"{output[:OUTPUT]}\n[...]\n{output[-OUTPUT:]}"
        if len(output.encode()) > left:
            output = "[...]"
        left -= len(output.encode())
        told.append(
            bots_pb2.Step(
                name=step.name[:_WORD],
                ok=step.ok,
                detail=step.detail[:_DETAIL],
                output=output,
                elapsed=duration(step.elapsed),
            )
        )
    return told[::-1]


def match_message(match: Match) -> matches_pb2.Match:
    """Return a match."""
    if match.result is not None:
        return _ended_match(match.ruleset, match.result)
    assert match.spec is not None
    return _waiting_match(match.spec, match.state)


def _waiting_match(spec: MatchSpec, state: MatchState) -> matches_pb2.Match:
    """Return a match that has not ended; of its seed the commitment alone."""
    return matches_pb2.Match(
        id=spec.id,
        ruleset=spec.ruleset,
        state=_MATCH_STATES[state],
        flow=spec.flow,
        rated=spec.rated,
        entrants=[matches_pb2.Entrant(version=version) for version in spec.entrants],
        boards=spec.boards,
        time_control=spec.time_control,
        seed_commitment=spec.commitment,
        create_time=timestamp(datetime.fromtimestamp(spec.created_time_ms / 1000, UTC)),
    )


def _ended_match(ruleset: str, result: LoggedResult) -> matches_pb2.Match:
    """Return a match that has ended."""
    match = matches_pb2.Match(
        id=result.match_id,
        ruleset=ruleset,
        state=matches_pb2.MATCH_STATE_ENDED,
        flow=result.flow,
        rated=result.rated,
        entrants=[_entrant(result, number) for number in range(len(result.entrants))],
        end_time=timestamp(result.time),
        played=duration(result.played),
        game_count=result.games,
        terminations={str(each): count for each, count in result.terminations.items()},
        sequence=result.sequence,
    )
    if result.annulled is not None:
        match.annul_reason = result.annulled
    return match


def _entrant(result: LoggedResult, number: int) -> matches_pb2.Entrant:
    others = len(result.entrants) - 1
    return matches_pb2.Entrant(
        version=result.entrants[number],
        score=sum(result.scores[number]) / (SCORE * others),
        rating_change=result.changes[number] / MICRO if result.changes else 0,
        points=result.points[number] if result.points else 0,
        forfeits=[
            matches_pb2.Forfeits(reason=each.reason.value, games=each.games)
            for each in result.forfeits
            if each.entrant == number
        ],
    )


def ladder_message(ladder: LadderSummary) -> ladders_pb2.Ladder:
    """Return a ladder."""
    return ladders_pb2.Ladder(
        ruleset=ladder.ruleset, bot_count=ladder.bots, match_count=ladder.matches
    )


def ladder_entry(line: LadderLine) -> ladders_pb2.LadderEntry:
    """Return a bot's line of a ladder."""
    standing, bot, column = line.standing, line.bot, line.strength
    strength = None if column is None else column.strength
    is_known = strength is not None and strength.error is not None
    return ladders_pb2.LadderEntry(
        place=standing.place or 0,
        bot=standing.bot,
        owner=bot.owner if bot else "",
        rating=standing.rating / MICRO,
        active_version=bot.active_version if bot else "",
        rated_matches=line.rated_matches,
        strength=strength.elo if strength is not None and is_known else None,
        strength_error=strength.error if strength is not None else None,
        note=strength.note if strength is not None else "",
        match_count=column.matches if column is not None else 0,
        timeout_count=column.timeouts if column is not None else 0,
    )


def queue_message(queue: QueueView) -> operations_pb2.Queue:
    """Return what waits on a ladder."""
    counts = queue.counts
    return operations_pb2.Queue(
        ruleset=queue.ruleset,
        ready=counts.ready,
        delayed=counts.delayed,
        paused=counts.paused,
        leased=counts.leased,
        dead=counts.dead,
        done=counts.done,
        oldest=duration(queue.oldest),
        dead_matches=map(dead_match, queue.dead),
        flows=[
            operations_pb2.Flow(
                name=name,
                weight=flow.weight,
                paused=flow.paused,
                waiting=flow.waiting,
                leased=flow.leased,
                dead=flow.dead,
            )
            for name, flow in queue.flows.items()
        ],
    )


def dead_match(match: DeadMatch) -> operations_pb2.DeadMatch:
    """Return a match that was given up."""
    return operations_pb2.DeadMatch(
        match=match.spec.id,
        versions=match.spec.entrants,
        attempts=match.attempts,
        voids=match.voids,
        reason=match.reason,
        death_time=timestamp(match.time),
    )


def usage_message(stored: Stored) -> operations_pb2.DiskUsage:
    """Return how much of one kind is kept."""
    return operations_pb2.DiskUsage(
        kind=stored.kind,
        files=stored.files,
        size_bytes=stored.size_bytes,
        limit_bytes=stored.limit_bytes,
    )


def worker_message(process: Announcement) -> operations_pb2.Worker:
    """Return a process that is alive."""
    return operations_pb2.Worker(
        name=process.name,
        kind=process.kind,
        slots=process.slots,
        metrics_port=process.metrics_port,
    )
