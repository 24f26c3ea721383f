"""Translation between the service's values and messages."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from arena.api.messages import message, value_of
from arena.bots.registry import BotState
from arena.v1 import bots_pb2, matches_pb2


@dataclass
class Named:
    """A value with some of a bot's fields."""

    name: str = "greedy"
    state: BotState = BotState.RETIRED


@dataclass
class Wanted:
    """A value with some of a request's fields."""

    ruleset: str
    boards: int


def test_fields_of_equal_names_are_copied() -> None:
    """Enum values go by name, moments as they are, and given values come first."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    others = {"owner": "ada", "rulesets": ["quasenbo"], "active_version": "", "version_count": 1}
    more = {"house": False, "create_time": at, "reason": None, "rejected": False}
    made = message(bots_pb2.Bot, Named(), **others, **more)
    assert (made.name, made.state, made.owner) == ("greedy", bots_pb2.BOT_STATE_RETIRED, "ada")
    assert made.create_time.ToDatetime(UTC) == at
    assert message(bots_pb2.Bot, Named(), **others, **more, name="bold").name == "bold"


def test_a_field_that_nobody_has_is_an_error() -> None:
    """A renamed attribute is never left out in silence, nor a value that the message has not."""
    with pytest.raises(AttributeError, match="owner"):
        message(bots_pb2.Bot, Named())
    with pytest.raises(ValueError, match="colour"):
        message(bots_pb2.Bot, colour="red")


def test_requests_become_values() -> None:
    """By equal names; given values come first."""
    request = matches_pb2.RequestMatchRequest(ruleset="quasenbo", boards=3)
    assert value_of(Wanted, request) == Wanted("quasenbo", 3)
    assert value_of(Wanted, request, boards=4) == Wanted("quasenbo", 4)
