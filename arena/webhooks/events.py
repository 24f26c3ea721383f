"""Events that webhooks deliver to owners."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

MOST_EVENTS: Final = 200
"""Events of one owner that wait to be delivered; what comes beyond them is dropped."""


class EventKind(StrEnum):
    """The type of an event."""

    MATCH_FORFEITED = "match.forfeited"
    """A bot of the owner forfeited games of a match."""
    VERSION_ACCEPTED = "version.accepted"
    VERSION_REJECTED = "version.rejected"
    VERSION_SUSPENDED = "version.suspended"
    COMPETITION_ENDED = "competition.ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to an owner's bots.

    Attributes:
        id: the same whenever the same event is posted again, at most 120 characters.
        facts: texts and numbers by name.
    """

    id: str
    kind: EventKind
    owner: str
    facts: Mapping[str, str | int | tuple[str, ...]]
    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    def body(self) -> str:
        """Return the JSON body of the POST."""
        return json.dumps(
            {
                "id": self.id,
                "kind": self.kind,
                "owner": self.owner,
                "time": self.time.isoformat(timespec="seconds"),
                **self.facts,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )


def forfeit_event(  # noqa: PLR0913 -- the facts of one event
    *, match: str, ruleset: str, version: str, owner: str, reasons: Mapping[str, int], games: int
) -> Event:
    """Return the event of a bot's forfeits (games by reason) in a match of so many games."""
    return Event(
        id=f"forfeit-{match}-{version}",
        kind=EventKind.MATCH_FORFEITED,
        owner=owner,
        facts={
            "match": match,
            "ruleset": ruleset,
            "version": version,
            "reasons": tuple(reasons),
            "forfeited_games": sum(reasons.values()),
            "games": games,
        },
    )


def verdict_event(*, version: str, owner: str, reason: str) -> Event:
    """Return the event of a version that was accepted or, for a reason, rejected."""
    kind = EventKind.VERSION_REJECTED if reason else EventKind.VERSION_ACCEPTED
    facts = {"version": version, "reason": reason} if reason else {"version": version}
    return Event(id=f"verdict-{version}", kind=kind, owner=owner, facts=facts)


def suspension_event(*, version: str, owner: str, match: str, reason: str) -> Event:
    """Return the event of a version that was suspended after a match."""
    return Event(
        id=f"suspension-{version}-{match}",
        kind=EventKind.VERSION_SUSPENDED,
        owner=owner,
        facts={"version": version, "match": match, "reason": reason},
    )


def competition_event(*, competition: str, owner: str, bot: str, place: int) -> Event:
    """Return the event of a competition that ended, for the owner of one of its bots."""
    return Event(
        id=f"competition-{competition}-{bot}",
        kind=EventKind.COMPETITION_ENDED,
        owner=owner,
        facts={"competition": competition, "bot": bot, "place": place},
    )
