"""Translates the service's values into the API's messages, and requests into the service's values.

`message` copies the fields whose names agree; a function below names those that do not.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from google.protobuf.message import Message

from arena.backend.pages import Page, PageRequest
from arena.owners.tokens import Scope
from arena.queue.models import SCORE
from arena.ratings.elo import MICRO
from arena.v1 import accounts_pb2, bots_pb2, ladders_pb2, matches_pb2, operations_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from arena.backend.bots import VersionView
    from arena.backend.ladders import LadderLine
    from arena.backend.matches import Match
    from arena.backend.operations import QueueView
    from arena.bots.registry import Bot
    from arena.bots.steps import VersionStep
    from arena.owners.tokens import Token
    from arena.queue.log_entries import LoggedResult
    from arena.queue.models import DeadMatch, MatchSpec, Standing

_M = TypeVar("_M", bound=Message)
_T = TypeVar("_T")
Fields: TypeAlias = dict[str, Any]
"""The fields of a response, see `message`."""

SCOPES = {each: accounts_pb2.Scope.Value(f"SCOPE_{each.name}") for each in Scope}

OUTPUT: Final = 2000
"""Characters of a step's output that are sent, at its beginning and at its end."""

ALL_OUTPUT: Final = 96 << 10
"""Bytes of all outputs of a version that are sent; a message has at most 256 KiB."""

_DETAIL: Final = 500
_WORDS: Final = 16
_WORD: Final = 100


class Paged(Protocol):
    """A request for a page of a list."""

    page_size: int
    page_token: str


def message(kind: type[_M], *sources: object, **values: Any) -> _M:
    """Return a message.

    Args:
        kind: its type.
        sources: objects whose attributes fill the fields of the same names; when there are any, one
            of them must have each field that is not among the values.
        values: fields by name; None leaves one unset. Enum values go by their names; a moment is a
            datetime, a duration a timedelta.
    """
    wanted = dict(values)
    if sources:
        for field in kind.DESCRIPTOR.fields:
            if field.name not in wanted:
                source = next((each for each in sources if hasattr(each, field.name)), sources[-1])
                wanted[field.name] = getattr(source, field.name)
    for name, value in wanted.items():
        if isinstance(value, Enum) and (enum := kind.DESCRIPTOR.fields_by_name[name].enum_type):
            prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
            wanted[name] = f"{prefix}{value.name}"
    return kind(**wanted)


def value_of(kind: type[_T], request: Message, **values: Any) -> _T:
    """Return a dataclass whose fields are those of a request, but for the given values."""
    names = {field.name for field in fields(kind)} - values.keys()  # type: ignore[arg-type]
    return kind(**{name: getattr(request, name) for name in names}, **values)


def page_request(request: Paged) -> PageRequest:
    """Return which page a request asks for."""
    return PageRequest(request.page_size, request.page_token)


def paged(name: str, page: Page[_T], translate: Callable[[_T], object]) -> Fields:
    """Return the fields of a response that is a page of a list."""
    return {name: map(translate, page.entries), "next_page_token": page.next_token}


def token_message(token: Token) -> accounts_pb2.Token:
    """Return a token."""
    scopes = [SCOPES[scope] for scope in sorted(token.scopes)]
    return message(accounts_pb2.Token, token, scopes=scopes, create_time=token.created_time)


def bot_message(bot: Bot, *, is_private: bool = True, is_rejected: bool = False) -> bots_pb2.Bot:
    """Return a bot; why it is suspended only to whoever may know."""
    return message(
        bots_pb2.Bot,
        bot,
        version_count=bot.versions,
        create_time=bot.created_time,
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
    return message(
        bots_pb2.Version,
        version,
        active=view.is_active,
        rejection_cause=version.cause,
        command=[word[:_WORD] for word in version.command[:_WORDS]],
        steps=_steps(view.steps),
        create_time=version.created_time,
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
        name, detail = step.name[:_WORD], step.detail[:_DETAIL]
        told.append(message(bots_pb2.Step, step, name=name, detail=detail, output=output))
    return told[::-1]


def match_message(match: Match) -> matches_pb2.Match:
    """Return a match."""
    if match.result is not None:
        return _ended_match(match, match.result)
    assert match.spec is not None
    return _waiting_match(match, match.spec)


def _waiting_match(match: Match, spec: MatchSpec) -> matches_pb2.Match:
    """Return a match that has not ended; of its seed only the commitment."""
    return message(
        matches_pb2.Match,
        id=spec.id,
        ruleset=spec.ruleset,
        state=match.state,
        flow=spec.flow,
        rated=spec.rated,
        entrants=[matches_pb2.Entrant(version=version) for version in spec.entrants],
        boards=spec.boards,
        time_control=spec.time_control,
        seed_commitment=spec.commitment,
        create_time=datetime.fromtimestamp(spec.created_time_ms / 1000, UTC),
    )


def _ended_match(match: Match, result: LoggedResult) -> matches_pb2.Match:
    return message(
        matches_pb2.Match,
        id=result.match_id,
        ruleset=match.ruleset,
        state=match.state,
        flow=result.flow,
        rated=result.rated,
        entrants=[_entrant(result, number) for number in range(len(result.entrants))],
        end_time=result.time,
        played=result.played,
        game_count=result.games,
        terminations=result.terminations,
        sequence=result.sequence,
        annul_reason=result.annulled,
    )


def _entrant(result: LoggedResult, number: int) -> matches_pb2.Entrant:
    others = len(result.entrants) - 1
    return matches_pb2.Entrant(
        version=result.entrants[number],
        score=sum(result.scores[number]) / (SCORE * others),
        rating_change=result.changes[number] / MICRO if result.changes else 0,
        points=result.points[number] if result.points else 0,
        forfeits=[
            message(matches_pb2.Forfeits, each)
            for each in result.forfeits
            if each.entrant == number
        ],
    )


def ladder_entry(line: LadderLine) -> ladders_pb2.LadderEntry:
    """Return a bot's line of a ladder."""
    standing, bot, column = line.standing, line.bot, line.strength
    strength = column.strength if column else None
    return ladders_pb2.LadderEntry(
        place=standing.place or 0,
        bot=standing.bot,
        owner=bot.owner if bot else "",
        rating=standing.rating / MICRO,
        active_version=bot.active_version if bot else "",
        rated_matches=line.rated_matches,
        strength=strength.elo if strength and strength.error is not None else None,
        strength_error=strength.error if strength else None,
        note=strength.note if strength else "",
        match_count=column.matches if column else 0,
        timeout_count=column.timeouts if column else 0,
    )


def queue_message(queue: QueueView) -> operations_pb2.Queue:
    """Return what waits on a ladder."""
    return message(
        operations_pb2.Queue,
        queue,
        queue.counts,
        dead_matches=map(dead_match, queue.dead),
        dead=queue.counts.dead,
        flows=[message(operations_pb2.Flow, flow, name=name) for name, flow in queue.flows.items()],
    )


def dead_match(match: DeadMatch) -> operations_pb2.DeadMatch:
    """Return a match that was given up."""
    return message(
        operations_pb2.DeadMatch,
        match,
        match=match.spec.id,
        versions=match.spec.entrants,
        death_time=match.time,
    )
