"""Encodes log entries and ``done`` marks as bytes for Redis; Lua writes some of them.

A log entry has one field, `FIELD`. Its first byte is the kind:

- ``R``, a result: digest (8 bytes), seconds since 1970 (u32), microseconds (u24), number n of
  changes (u8), n changes (i32, micro-Elo), all big-endian and written by ``commit.lua``; then the
  body, which only this module reads and writes;
- ``e``, an entry: seconds (u32), the bot's name;
- ``a``, an annulment: seconds (u32), the target's sequence (u32), match id, a NUL, the reason.

A ``done`` mark is the result's sequence (u32) and the first 4 bytes of the lease's token; once
annulled also the sequence of the annulment (u32).
"""

import struct
from dataclasses import astuple, fields
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import combinations
from typing import Final

from arena.db.keys import milliseconds
from arena.queue.log_entries import Annulled, Entered, LogEntry, LoggedResult
from arena.queue.models import SCORE, Forfeits, LadderResult, Luck, MatchSpec
from referee.outcome import ForfeitReason, Termination

FIELD: Final = b"e"
DIGEST_BYTES: Final = 8
_TERMINATIONS: Final = tuple(Termination)
_REASONS: Final = tuple(ForfeitReason)
_RATED: Final = 1
_HALF_POINTS: Final = 2
"""The scores are written as half points over all games, a byte each, instead of in 3 bytes."""
_LUCK: Final = len(fields(Luck))
_SET_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def encode_body(spec: MatchSpec, result: LadderResult) -> bytes:
    """Encode a result, less what the commit script adds."""
    out = bytearray()
    games = sum(result.terminations.values())
    halves = _half_points(result.pair_scores, games)
    out.append((_RATED if spec.rated else 0) | (_HALF_POINTS if halves else 0))
    out.append(len(spec.entrants))
    for text in (spec.id, "" if spec.flow == "ladder" else spec.flow, *spec.entrants):
        _put_text(out, text)
    for termination in _TERMINATIONS:
        _put_number(out, result.terminations.get(termination, 0))
    if halves:
        out += bytes(halves)
    else:
        out += b"".join(score.to_bytes(3, "big") for score in result.pair_scores)
    _put_number(out, len(result.forfeits))
    for forfeit in result.forfeits:
        out += bytes((forfeit.entrant, _REASONS.index(forfeit.reason)))
        _put_number(out, forfeit.games)
    _put_text(out, "".join(_SET_DIGITS[number] for number in result.sets))
    _put_number(out, len(result.points))
    for point in result.points:
        _put_number(out, 2 * point if point >= 0 else -2 * point - 1)
    _put_number(out, milliseconds(result.played))
    for number in astuple(result.luck) if result.luck is not None else ():
        _put_number(out, number)
    return bytes(out)


def decode(sequence: int, record: bytes) -> LogEntry:
    """Decode a log entry."""
    kind = record[:1]
    if kind == b"R":
        return decode_result(sequence, record)
    seconds = int.from_bytes(record[1:5], "big")
    if kind == b"e":
        return Entered(sequence, _time(seconds), record[5:].decode())
    target = int.from_bytes(record[5:9], "big")
    match_id, _, reason = record[9:].decode().partition("\0")
    return Annulled(sequence, _time(seconds), target, match_id, reason)


def decode_result(sequence: int, record: bytes) -> LoggedResult:
    """Decode a log entry of kind ``R``."""
    place = 1 + DIGEST_BYTES
    seconds = int.from_bytes(record[place : place + 4], "big")
    microseconds = int.from_bytes(record[place + 4 : place + 7], "big")
    count, start = record[place + 7], place + 8
    reader = _Reader(record, start + 4 * count)
    flags = reader.byte()
    entrants = reader.byte()
    match_id, flow = reader.text(), reader.text()
    names = tuple(reader.text() for _ in range(entrants))
    counts = [(each, reader.number()) for each in _TERMINATIONS]
    terminations = {each: games for each, games in counts if games}
    games = sum(terminations.values())
    pairs = combinations(range(entrants), 2)
    if flags & _HALF_POINTS:
        pair_scores = tuple(_score(reader.byte(), games) for _ in pairs)
    else:
        pair_scores = tuple(reader.score() for _ in pairs)
    return LoggedResult(
        sequence=sequence,
        match_id=match_id,
        flow=flow or "ladder",
        time=_time(seconds) + timedelta(microseconds=microseconds),
        rated=bool(flags & _RATED),
        entrants=names,
        pair_scores=pair_scores,
        changes=struct.unpack_from(f">{count}i", record, start),
        digest=record[1 : 1 + DIGEST_BYTES],
        terminations=terminations,
        forfeits=tuple(
            Forfeits(reader.byte(), _REASONS[reader.byte()], reader.number())
            for _ in range(reader.number())
        ),
        sets=tuple(_SET_DIGITS.index(digit) for digit in reader.text()),
        points=tuple(reader.signed() for _ in range(reader.number())),
        played=timedelta(milliseconds=reader.number()),
        luck=Luck(*(reader.number() for _ in range(_LUCK))) if reader.has_more else None,
    )


def encode_annulment(target: int, match_id: str, reason: str) -> bytes:
    """Encode an annulment, less the seconds."""
    return target.to_bytes(4, "big") + match_id.encode() + b"\0" + reason.encode()


def decode_done(mark: bytes) -> int:
    """Return the sequence of a ``done`` mark's result."""
    return int.from_bytes(mark[:4], "big")


def annulled_by(mark: bytes) -> int | None:
    """Return the sequence of the annulment of a ``done`` mark's result, if there is one."""
    return int.from_bytes(mark[8:12], "big") if len(mark) == 12 else None


def _half_points(pair_scores: tuple[int, ...], games: int) -> list[int]:
    """Return the half points that the scores stand for; [] when they do not, or fit no byte."""
    halves = [round(Fraction(score * 2 * games, SCORE)) for score in pair_scores]
    exact = games and all(
        half < 256 and _score(half, games) == score
        for half, score in zip(halves, pair_scores, strict=True)
    )
    return halves if exact else []


def _score(half_points: int, games: int) -> int:
    return round(Fraction(half_points * SCORE, 2 * games))


def _time(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _put_number(out: bytearray, number: int) -> None:
    """Append a LEB128 varint."""
    while number > 0x7F:
        out.append(0x80 | (number & 0x7F))
        number >>= 7
    out.append(number)


def _put_text(out: bytearray, text: str) -> None:
    encoded = text.encode()
    _put_number(out, len(encoded))
    out += encoded


class _Reader:
    """Decodes what `encode_body` wrote, from an offset on."""

    def __init__(self, record: bytes, offset: int) -> None:
        self._record = record
        self._offset = offset

    @property
    def has_more(self) -> bool:
        return self._offset < len(self._record)

    def byte(self) -> int:
        self._offset += 1
        return self._record[self._offset - 1]

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def signed(self) -> int:
        value = self.number()
        return value >> 1 if value % 2 == 0 else -((value + 1) >> 1)

    def score(self) -> int:
        self._offset += 3
        return int.from_bytes(self._record[self._offset - 3 : self._offset], "big")

    def text(self) -> str:
        length = self.number()
        self._offset += length
        return self._record[self._offset - length : self._offset].decode()
