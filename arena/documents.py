"""Renders API messages as JSON documents, and describes the documents by a JSON Schema.

The document of a message has each of its fields under its proto name: enum values as lower-case
words without their prefix, moments in ISO 8601 and UTC, durations in seconds, bytes as hex, and
null for what is unset. The tokens of pages, which only a client needs, are left out.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.protobuf.descriptor import Descriptor, EnumDescriptor
    from google.protobuf.message import Message

JOINED: Final = {
    "BotsDocument": ("bots: Bot",),
    "LaddersDocument": ("ladders: GetLadderResponse",),
    "OwnersDocument": ("owners: Owner",),
    "CompetitionDocument": (
        "GetCompetitionResponse", "matches: CompetitionMatch", "meetings: Meeting",
    ),
    "ChallengeDocument": ("RequestMatchResponse", "request_id"),
    "LoginDocument": ("GetIdentityResponse", "address", "file"),
}  # fmt: skip
"""Documents of several answers: all fields of a message, a list of messages, or a text."""

_KNOWN: Final = {
    "Timestamp": {"type": "string", "format": "date-time"},
    "Duration": {"type": "number"},
}
_TYPES: Final = {
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_DOUBLE: "number",
    FieldDescriptor.CPPTYPE_INT32: "integer",
    FieldDescriptor.CPPTYPE_INT64: "integer",
}


def document(message: Message) -> dict[str, Any]:
    """Return the JSON document of a message."""
    return {field.name: _value(message, field) for field in _fields(message.DESCRIPTOR)}


def enum_word(enum: EnumDescriptor, number: int) -> str:
    """Return an enum's value as a lower-case word without what all its names begin with."""
    prefix = enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return str(enum.values_by_number[number].name).removeprefix(prefix).lower()


def schema(messages: Iterable[Descriptor]) -> dict[str, Any]:
    """Return the JSON Schema of the documents of messages (with those of `JOINED`)."""
    found = {each.name: each for each in sorted(messages, key=lambda each: str(each.name))}
    definitions = {name: _object(_properties(each)) for name, each in found.items()}
    for name, parts in JOINED.items():
        joined: dict[str, Any] = {}
        for part in parts:
            key, _, item = part.partition(": ")
            if item:
                joined[key] = {"type": "array", "items": {"$ref": f"#/$defs/{item}"}}
            else:
                joined |= _properties(found[key]) if key in found else {key: {"type": "string"}}
        definitions[name] = _object(joined)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The JSON documents that the arena's commands print",
        "$defs": definitions,
    }


def _fields(descriptor: Any) -> Iterator[FieldDescriptor]:
    return (field for field in descriptor.fields if field.name != "next_page_token")


def _value(message: Message, field: FieldDescriptor) -> Any:
    value = getattr(message, field.name)
    entry = _map_entry(field)
    if entry is not None:
        of = entry.fields_by_name["value"]
        return {str(key): _single(each, of) for key, each in sorted(value.items())}
    if field.is_repeated:
        return [_single(each, field) for each in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _single(value, field)


def _single(value: Any, field: FieldDescriptor) -> Any:
    if field.enum_type is not None:
        return enum_word(field.enum_type, value)
    if isinstance(value, bytes):
        return value.hex()
    if field.message_type is None:
        return value
    if isinstance(value, Timestamp):
        return value.ToDatetime(UTC).isoformat(timespec="seconds")
    return value.ToTimedelta().total_seconds() if isinstance(value, Duration) else document(value)


def _map_entry(field: FieldDescriptor) -> Descriptor | None:
    message = field.message_type
    return message if message is not None and message.GetOptions().map_entry else None


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _properties(descriptor: Descriptor) -> dict[str, Any]:
    return {field.name: _property(field) for field in _fields(descriptor)}


def _property(field: FieldDescriptor) -> dict[str, Any]:
    entry = _map_entry(field)
    if entry is not None:
        return {"type": "object", "additionalProperties": _kind(entry.fields_by_name["value"])}
    if field.is_repeated:
        return {"type": "array", "items": _kind(field)}
    if field.has_presence:
        return {"anyOf": [_kind(field), {"type": "null"}]}
    return _kind(field)


def _kind(field: FieldDescriptor) -> dict[str, Any]:
    """Return the schema of one value of a field."""
    if field.enum_type is not None:
        values = [enum_word(field.enum_type, each.number) for each in field.enum_type.values]
        return {"enum": values}
    if field.message_type is not None:
        name = field.message_type.name
        return _KNOWN.get(name, {"$ref": f"#/$defs/{name}"})
    return {"type": _TYPES.get(field.cpp_type, "string")}
