"""One document per thing: the commands' JSON is what the committed schema describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from arena.documents import document
from arena.v1 import bots_pb2, matches_pb2
from tests.service_kit import Service, own_arena

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "proto" / "arena" / "v1" / "documents.schema.json").read_text()
)
COMMANDS = {
    "BotsDocument": ("bots",),
    "GetBotResponse": ("bot", "show", "ada"),
    "GetVersionResponse": ("bot", "show", "ada@1"),
    "SuspendBotResponse": ("bot", "suspend", "cid", "--reason", "a test"),
    "ResumeBotResponse": ("bot", "resume", "cid"),
    "LaddersDocument": ("ladder",),
    "ListMatchesResponse": ("matches",),
    "GetQueueResponse": ("queue", "show"),
    "RetryMatchesResponse": ("queue", "retry"),
    "PurgeMatchesResponse": ("queue", "purge", "--yes"),
    "ListWorkersResponse": ("workers",),
    "OwnersDocument": ("owners",),
    "CreateTokenResponse": ("token", "create", "eve"),
    "ListTokensResponse": ("token", "list"),
    "PlanTournamentResponse": ("tournament", "plan", "quasenbo"),
    "CompetitionDocument": ("tournament", "create", "cup", "quasenbo", "--everybody", "--start"),
    "ListCompetitionsResponse": ("tournament", "list"),
    "PauseCompetitionResponse": ("tournament", "pause", "cup"),
    "GetLeagueResponse": ("league", "create", "main", "quasenbo", "--everybody"),
    "ListLeaguesResponse": ("league", "list"),
}
"""Commands in the order in which they are run, each with the definition of what it prints."""


def check(found: Any, name: str) -> None:
    """Require that a document is of a definition."""
    whole = {**SCHEMA, "$ref": f"#/$defs/{name}"}
    jsonschema.validate(found, whole, format_checker=jsonschema.FormatChecker())


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """An arena with three bots, whose API runs."""
    with own_arena(tmp_path_factory.mktemp("arena")) as service:
        service.add_bots("ada", "bob", "cid")
        service.serve()
        yield service


@pytest.mark.redis
def test_commands_print_the_documents_of_the_schema(service: Service) -> None:
    """Every field is there, no other, and each of its kind."""
    printed = {name: service.json(*words) for name, words in COMMANDS.items()}
    for name, found in printed.items():
        check(found, name)
    listed = {bot["name"]: bot for bot in printed["BotsDocument"]["bots"]}
    assert listed["ada"] == printed["GetBotResponse"]["bot"]
    assert printed["GetLeagueResponse"]["league"] in printed["ListLeaguesResponse"]["leagues"]


def test_a_document_has_words_moments_seconds_and_null() -> None:
    """What is unset is null or 0, and never left out."""
    match = matches_pb2.Match(id="ladder-1", state=matches_pb2.MATCH_STATE_PLAYING)
    match.played.FromMilliseconds(1500)
    match.create_time.FromSeconds(0)
    found = document(match)
    assert (found["state"], found["played"]) == ("playing", 1.5)
    assert found["create_time"] == "1970-01-01T00:00:00+00:00"
    assert found["end_time"] is found["annul_reason"] is None
    assert found["sequence"] == 0
    check(found, "Match")
    assert document(bots_pb2.SubmitVersionRequest(chunk=b"\x01\xff"))["chunk"] == "01ff"
